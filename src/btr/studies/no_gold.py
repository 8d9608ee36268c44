"""What stands for a metric where a set has no gold: sentences can be reranked, and nothing can be scored."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from btr.errors import InputError
from btr.metrics.base import Array, Metric
from btr.metrics.inputs import MetricFiles, MetricOptions


class NoGold(Metric):
    """Knows the sources of a set, and counts nothing."""

    name = "none"
    title = "no gold"
    needs = ("source",)

    def __init__(self, sources: Sequence[str]) -> None:
        super().__init__(len(sources))
        self._sources = sources

    @classmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        """Refuse: it is no metric to choose."""
        raise scoring_error()

    @property
    def columns(self) -> Mapping[str, str]:
        """There are no scores."""
        return {}

    def signature_fields(self) -> dict[str, str | None]:
        """There is nothing that a score depends on."""
        return {}

    def source(self, number: int) -> str:
        """Return the source sentence of that number."""
        return self._sources[number]

    def count(self, number: int, hypothesis: str) -> None:
        """Count nothing."""

    def stack(self, counts: Sequence[None]) -> Array:
        """Return rows of no counts."""
        return np.zeros((len(counts), 0))

    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        """Refuse to score."""
        raise scoring_error()

    def totals(self, counts: Array) -> dict[str, int]:
        """Return no counts."""
        return {}

    def sentence_scores(self, counts: Array) -> Array:
        """Refuse to score."""
        raise scoring_error()


def scoring_error() -> InputError:
    """Return the error of an attempt to score without gold."""
    return InputError("a set without gold can't be scored.")
