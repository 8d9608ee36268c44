"""What all metrics share: counts per sentence and hypothesis, once; and a corpus score as a fold over them.

Whatever asks for many scores of the same hypotheses (a grid over thresholds, a bootstrap, a breakdown) counts nothing
again: it folds other rows of the same table.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btr import __version__
from btr.pool import parallel_map

Array = NDArray[Any]


def signature(metric: str, **options: str) -> str:
    """What must agree for two scores to be compared, e.g. `m2|gold:test.m2#3f2a9c01|beta:0.5|unchanged:2|btr:0.1.0`."""
    return "|".join([metric, *(f"{name}:{value}" for name, value in options.items() if value), f"btr:{__version__}"])


@dataclass(frozen=True)
class Score:
    """A corpus score in percent, what it was computed from, and what makes it comparable."""

    metric: str
    scores: dict[str, float]
    counts: dict[str, int]
    signature: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The one number that the metric is known by: F or GLEU, the last of the scores."""
        return list(self.scores.values())[-1]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        head = {"metric": self.metric, "scores": self.scores, "counts": self.counts}
        return {**head, **self.extra, "signature": self.signature}


class Metric(ABC):
    """A metric over a fixed gold corpus."""

    name: str
    min_per_process = 100  # how many sentences are worth a process of their own

    def __init__(self, size: int, processes: int | None = None) -> None:
        self.size = size
        self.processes = processes
        self._known: dict[tuple[int, str], Any] = {}

    @abstractmethod
    def signature(self) -> str:
        """Metric, gold file and its hash, options, versions: what two scores must share to be compared."""

    @abstractmethod
    def source(self, number: int) -> str:
        """The source sentence of that number."""

    @abstractmethod
    def count(self, pair: tuple[int, str]) -> Any:
        """The counts of one hypothesis for the sentence of that number."""

    @abstractmethod
    def stack(self, measured: Sequence[Any]) -> Array:
        """Counts as rows of one array."""

    @abstractmethod
    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        """Corpus scores (0 to 1), one for each row of `indices`, which names a row of `counts` for each sentence."""

    @abstractmethod
    def totals(self, counts: Array) -> dict[str, int]:
        """The counts summed over a corpus, by name."""

    @abstractmethod
    def sentence_scores(self, counts: Array) -> Array:
        """Each sentence's own score, for tests of significance."""

    def count_pairs(self, pairs: Sequence[tuple[int, str]]) -> list[Any]:
        """The counts of (sentence number, hypothesis) pairs, each computed once, on all cores."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        what = f"Counting ({self.name})"
        counted = parallel_map(
            self.count, new, processes=self.processes, min_per_process=self.min_per_process, what=what
        )
        self._known.update(zip(new, counted))
        return [self._known[pair] for pair in pairs]

    def counts(self, hypotheses: Sequence[str]) -> Array:
        """The counts of one hypothesis a sentence."""
        return self.stack(self.count_pairs(list(enumerate(hypotheses))))

    def score(self, hypotheses: Sequence[str]) -> Score:
        """The corpus score of one hypothesis a sentence."""
        return self.score_counts(self.counts(hypotheses))

    def score_counts(self, counts: Array) -> Score:
        """The corpus score of rows of counts, in the order of the corpus."""
        scores = self.aggregate(counts, np.arange(len(counts))[None])
        percent = {name: 100 * float(values[0]) for name, values in scores.items()}
        return Score(self.name, percent, self.totals(counts), self.signature())
