"""Precision, recall and F over edits, with several annotators: what M2 and ERRANT share."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from btr.corpus.m2 import Sentence
from btr.errors import InputError
from btr.metrics.base import Array, Counts, Metric

BETA = 0.5  # recall counts half as much as precision
MAX_BETA = 1000
NAMES = "correct", "proposed", "gold"
NO_ANNOTATOR = -1  # in the array of counts, where another sentence has more annotators


def f_score(correct: Array, proposed: Array, gold: Array, beta: float) -> tuple[Array, Array, Array]:
    """Return precision (1 if nothing was proposed), recall (1 if the gold has no edit) and F (0 if both are 0)."""
    precision = np.divide(correct, proposed, out=np.ones(np.shape(correct)), where=proposed > 0)
    recall = np.divide(correct, gold, out=np.ones(np.shape(correct)), where=gold > 0)
    square = beta * beta
    both = square * precision + recall
    f = np.divide((1 + square) * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return precision, recall, f


class EditMetric(Metric):
    """Precision, recall and F, from counts of (correct, proposed, gold) edits for each annotator.

    With several annotators the corpus is gone through in order, and each sentence is scored with the annotator with
    whom the score so far is best: a rule of the official scorers, which makes the score depend on the order.
    """

    needs = ("gold",)
    options: ClassVar[tuple[str, ...]] = ("beta",)

    def __init__(
        self, sentences: Sequence[Sentence], files: str | None, beta: float | None, processes: int | None
    ) -> None:
        super().__init__(len(sentences), processes)
        self.sentences = sentences
        self.files = files
        self.beta = BETA if beta is None else beta
        if not 0 < self.beta <= MAX_BETA:
            raise InputError(f"beta must be larger than 0 and at most {MAX_BETA}, not {self.beta:g}.")

    @property
    def columns(self) -> Mapping[str, str]:
        return {"precision": "precision", "recall": "recall", f"f{self.beta:g}": f"F{self.beta:g}"}

    def source(self, number: int) -> str:
        return self.sentences[number].source

    def stack(self, counts: Sequence[Counts]) -> Array:
        stacked = np.full((len(counts), max(map(len, counts)), 3), NO_ANNOTATOR, dtype=np.int64)
        for row, by_annotator in zip(stacked, counts):
            row[: len(by_annotator)] = by_annotator
        return stacked

    @abstractmethod
    def preference(self, totals: Array, counts: Array) -> list[Array]:
        """Return what decides between annotators, most important first, larger is better.

        `counts` are a sentence's with each annotator, `totals` those of the corpus so far with these added.
        """

    def choose_annotators(self, counts: Array, indices: Array) -> tuple[Array, Array]:
        """Go through each corpus; return its totals, and the annotator chosen for each sentence."""
        batch, size = indices.shape
        totals = np.zeros((batch, 3), dtype=np.int64)
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

    def scores_of(self, correct: Array, proposed: Array, gold: Array) -> dict[str, Array]:
        """Return precision, recall and F by name."""
        return dict(zip(self.columns, f_score(correct, proposed, gold, self.beta)))

    def totals(self, counts: Array) -> dict[str, int]:
        totals, _ = self.choose_annotators(counts, np.arange(len(counts))[None])
        return dict(zip(NAMES, map(int, totals[0])))

    def sentence_scores(self, counts: Array) -> Array:
        """Return each sentence's F with the annotator with whom it agrees best."""
        correct, proposed, gold = np.moveaxis(counts, -1, 0)
        f = f_score(correct, proposed, gold, self.beta)[2]
        best: Array = np.where(correct == NO_ANNOTATOR, -1, f).max(1)
        return best
