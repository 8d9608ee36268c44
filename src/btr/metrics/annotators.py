"""Metrics over edits with several annotators: each sentence is scored with the annotator who suits the score best."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from btr.corpus.m2 import Sentence
from btr.metrics.base import Array, Counts, Metric

NO_ANNOTATOR = -1  # in the array of counts, where another sentence has more annotators


class AnnotatorMetric(Metric):
    """A metric whose counts are whole numbers by name (`count_names`) for each annotator.

    With several annotators the corpus is gone through in order, and each sentence is scored with the annotator with
    whom the score so far is best: a rule of the official scorers, which makes the score depend on the order.
    """

    needs = ("gold",)
    count_names: ClassVar[tuple[str, ...]]

    def __init__(self, sentences: Sequence[Sentence], files: str | None, processes: int | None) -> None:
        super().__init__(len(sentences), processes)
        self.sentences = sentences
        self.files = files

    def source(self, number: int) -> str:
        return self.sentences[number].source

    def stack(self, counts: Sequence[Counts]) -> Array:
        shape = len(counts), max(map(len, counts)), len(self.count_names)
        stacked = np.full(shape, NO_ANNOTATOR, dtype=np.int64)
        for row, by_annotator in zip(stacked, counts):
            row[: len(by_annotator)] = by_annotator
        return stacked

    @abstractmethod
    def preference(self, totals: Array, counts: Array) -> list[Array]:
        """Return what decides between annotators, most important first, larger is better.

        `counts` are a sentence's with each annotator, `totals` those of the corpus so far with these added.
        """

    @abstractmethod
    def scores_of(self, *totals: Array) -> dict[str, Array]:
        """Return the scores by name, from the totals in the order of `count_names`."""

    def choose_annotators(self, counts: Array, indices: Array) -> tuple[Array, Array]:
        """Go through each corpus; return its totals, and the annotator chosen for each sentence."""
        batch, size = indices.shape
        totals = np.zeros((batch, len(self.count_names)), dtype=np.int64)
        chosen = np.zeros((batch, size), dtype=np.int64)
        if counts.shape[1] == 1:
            for row, index in zip(totals, indices):
                row[:] = counts[index, 0].sum(0)
            return totals, chosen
        every = np.arange(batch)
        for position in range(size):
            sentence = counts[indices[:, position]]
            best = np.zeros(batch, dtype=np.int64)
            if (sentence != sentence[:, :1]).any():
                keys = self.preference(totals[:, None] + sentence, sentence)
                for annotator in range(1, sentence.shape[1]):
                    exists = sentence[:, annotator, 0] != NO_ANNOTATOR
                    better = np.zeros(batch, dtype=bool)
                    equal = np.ones(batch, dtype=bool)
                    for key in keys:
                        better |= equal & (key[:, annotator] > key[every, best])
                        equal &= key[:, annotator] == key[every, best]
                    best = np.where(exists & better, annotator, best)
            totals += sentence[every, best]
            chosen[:, position] = best
        return totals, chosen

    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        totals, _ = self.choose_annotators(counts, indices)
        return self.scores_of(*totals.T)

    def totals(self, counts: Array) -> dict[str, int]:
        totals, _ = self.choose_annotators(counts, np.arange(len(counts))[None])
        return dict(zip(self.count_names, map(int, totals[0])))

    def sentence_scores(self, counts: Array) -> Array:
        """Return each sentence's main score with the annotator with whom it agrees best."""
        by_name = np.moveaxis(counts, -1, 0)
        scores = self.scores_of(*np.maximum(by_name, 0))[self.main_score]
        best: Array = np.where(by_name[0] == NO_ANNOTATOR, -1, scores).max(1)
        return best
