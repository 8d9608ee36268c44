"""Precision, recall and F over edits, with several annotators: what M2 and ERRANT share."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from btr.corpus.m2 import Sentence
from btr.errors import InputError
from btr.metrics.annotators import AnnotatorMetric
from btr.metrics.base import Array

BETA = 0.5  # recall counts half as much as precision
MAX_BETA = 1000
NAMES = "correct", "proposed", "gold"


def f_score(correct: Array, proposed: Array, gold: Array, beta: float) -> tuple[Array, Array, Array]:
    """Return precision (1 if nothing was proposed), recall (1 if the gold has no edit) and F (0 if both are 0)."""
    precision = np.divide(correct, proposed, out=np.ones(np.shape(correct)), where=proposed > 0)
    recall = np.divide(correct, gold, out=np.ones(np.shape(correct)), where=gold > 0)
    square = beta * beta
    both = square * precision + recall
    f = np.divide((1 + square) * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return precision, recall, f


class EditMetric(AnnotatorMetric):
    """Precision, recall and F, from counts of (correct, proposed, gold) edits for each annotator."""

    options: ClassVar[tuple[str, ...]] = ("beta",)
    count_names = NAMES

    def __init__(
        self, sentences: Sequence[Sentence], files: str | None, beta: float | None, processes: int | None
    ) -> None:
        super().__init__(sentences, files, processes)
        self.beta = BETA if beta is None else beta
        if not 0 < self.beta <= MAX_BETA:
            raise InputError(f"beta must be larger than 0 and at most {MAX_BETA}, not {self.beta:g}.")

    @property
    def columns(self) -> Mapping[str, str]:
        return {"precision": "precision", "recall": "recall", f"f{self.beta:g}": f"F{self.beta:g}"}

    def scores_of(self, *totals: Array) -> dict[str, Array]:
        """Return precision, recall and F by name."""
        correct, proposed, gold = totals
        return dict(zip(self.columns, f_score(correct, proposed, gold, self.beta)))
