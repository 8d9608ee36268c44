"""Precision, recall and F over edits, with several annotators: what M2 and ERRANT share."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from btr.metrics.base import Array, Metric

NO_ANNOTATOR = -1  # in the table of counts, where another sentence has more annotators


def f_score(correct: Array, proposed: Array, gold: Array, beta: float) -> tuple[Array, Array, Array]:
    """Precision (1 if nothing was proposed), recall (1 if nothing was to be found) and F (0 if both are 0)."""
    precision = np.divide(correct, proposed, out=np.ones(np.shape(correct)), where=proposed > 0)
    recall = np.divide(correct, gold, out=np.ones(np.shape(correct)), where=gold > 0)
    square = beta * beta
    both = square * precision + recall
    f = np.divide((1 + square) * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return precision, recall, f


class EditMetric(Metric):
    """Counts are (correct, proposed, gold) for each annotator.

    With several annotators the fold goes through the corpus in order, and takes for each sentence the annotator with
    whom the score so far is best: a rule of the official scorers, which makes the score depend on the order.
    """

    beta: float

    def stack(self, measured: Sequence[Any]) -> Array:
        annotators = max(map(len, measured))
        counts = np.full((len(measured), annotators, 3), NO_ANNOTATOR, dtype=np.int64)
        for row, by_annotator in zip(counts, measured):
            row[: len(by_annotator)] = by_annotator
        return counts

    @abstractmethod
    def preference(self, totals: Array, own: Array) -> list[Array]:
        """What is compared to choose an annotator, most important first, larger is better."""

    def choose_annotators(self, counts: Array, indices: Array) -> tuple[Array, Array]:
        """Running through the corpus: the totals in the end, and the annotator chosen for each sentence."""
        batch, size = indices.shape
        totals = np.zeros((batch, 3), dtype=np.int64)
        chosen = np.zeros((batch, size), dtype=np.int64)
        if counts.shape[1] == 1:
            for row, pick in zip(totals, indices):
                row[:] = counts[pick, 0].sum(0)
            return totals, chosen
        every = np.arange(batch)
        for position in range(size):
            own = counts[indices[:, position]]
            best = np.zeros(batch, dtype=np.int64)
            if (own != own[:, :1]).any():
                keys = self.preference(totals[:, None] + own, own)
                for annotator in range(1, own.shape[1]):
                    better = own[:, annotator, 0] != NO_ANNOTATOR
                    ahead = np.zeros(batch, dtype=bool)
                    level = np.ones(batch, dtype=bool)
                    for key in keys:
                        ahead |= level & (key[:, annotator] > key[every, best])
                        level &= key[:, annotator] == key[every, best]
                    best = np.where(better & ahead, annotator, best)
            totals += own[every, best]
            chosen[:, position] = best
        return totals, chosen

    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        totals, _ = self.choose_annotators(counts, indices)
        return self.name_scores(*totals.T)

    def name_scores(self, correct: Array, proposed: Array, gold: Array) -> dict[str, Array]:
        """Precision, recall and F by name."""
        names = "precision", "recall", f"f{self.beta:g}"
        return dict(zip(names, f_score(correct, proposed, gold, self.beta)))

    def totals(self, counts: Array) -> dict[str, int]:
        totals, _ = self.choose_annotators(counts, np.arange(len(counts))[None])
        return dict(zip(("correct", "proposed", "gold"), map(int, totals[0])))

    def sentence_scores(self, counts: Array) -> Array:
        """Each sentence's F with the annotator whom it agrees with best."""
        correct, proposed, gold = np.moveaxis(counts, -1, 0)
        f = f_score(correct, proposed, gold, self.beta)[2]
        best: Array = np.where(correct == NO_ANNOTATOR, -1, f).max(1)
        return best
