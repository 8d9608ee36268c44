"""What all metrics share: each hypothesis is counted once, and corpus scores are aggregated from the counts.

Whatever needs many scores of the same hypotheses (a grid over thresholds, a bootstrap, a breakdown) counts nothing
again: it aggregates other rows of the same array of counts.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from btr import __version__
from btr.errors import InputError
from btr.metrics.inputs import MetricFiles, MetricOptions
from btr.metrics.lengths import too_long
from btr.metrics.results import Part, Score
from btr.pool import parallel_map

Array = NDArray[Any]
Counts = Any  # what a metric counts of one hypothesis; each metric has a type for it


class Metric(ABC):
    """A metric over a fixed corpus. What stands here is all that the package knows about a metric."""

    name: ClassVar[str]  # in METRICS, in signatures and in JSON
    title: ClassVar[str]  # in tables
    needs: ClassVar[tuple[str, ...]]  # kinds of files: gold, source, reference; the first has the corpus's sentences
    options: ClassVar[tuple[str, ...]] = ()  # those of MetricOptions that the metric has
    breakdowns: ClassVar[tuple[str, ...]] = ()  # what `parts` can break a score down by
    test_set: str | None = None  # the name of the set that the corpus is, for signatures
    min_per_process = 100  # sentences below which a further process costs more than it saves

    def __init__(self, size: int, processes: int | None = None) -> None:
        self.size = size
        self.processes = processes
        self._cache: dict[tuple[int, str], Counts] = {}

    @classmethod
    @abstractmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        """Build the metric from the files that it needs."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str]:
        """The names of the scores in JSON, and in tables."""

    @property
    def main_score(self) -> str:
        """The name of the score that the metric is known by; the last one unless a metric says otherwise."""
        return list(self.columns)[-1]

    @abstractmethod
    def signature_fields(self) -> dict[str, str | None]:
        """Files with their hashes, options, versions: what two scores must share to be compared."""

    @abstractmethod
    def source(self, number: int) -> str:
        """Return the source sentence of that number."""

    @abstractmethod
    def count(self, number: int, hypothesis: str) -> Counts:
        """Count one hypothesis for the sentence of that number."""

    @abstractmethod
    def stack(self, counts: Sequence[Counts]) -> Array:
        """Put the counts of several hypotheses into one array, a row for each."""

    @abstractmethod
    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        """Return corpus scores (0 to 1) by name, one for each row of `indices`.

        A row of `indices` is one corpus: for each of its sentences the index of a row of `counts`.
        """

    @abstractmethod
    def totals(self, counts: Array) -> dict[str, int]:
        """Sum the counts over a corpus, by name."""

    @abstractmethod
    def sentence_scores(self, counts: Array) -> Array:
        """Score each sentence by itself, for tests of significance."""

    def too_long(self, number: int, hypothesis: str) -> str | None:
        """Say why a hypothesis for the sentence of that number can't be counted in bounded time; None if it can."""
        return too_long(self.source(number), hypothesis)

    def check_lengths(self, hypotheses: Sequence[str], where: str) -> None:
        """Refuse texts that are too long, before anything is counted; `where` names the file of the hypotheses."""
        for number, hypothesis in enumerate(hypotheses):
            if reason := self.too_long(number, hypothesis):
                raise InputError(f"{where}, line {number + 1}: {reason}")

    def check_breakdown(self, by: str) -> None:
        """Refuse a breakdown that the metric cannot give."""
        if by not in self.breakdowns:
            raise InputError(f"--by {by} needs --metric errant: {self.name} has no types of edits.")

    def parts(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, Part]:
        """Break the score of some sentences down, by one of `breakdowns`; gives a part for each label."""
        raise NotImplementedError

    def counts_by(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, Array]:
        """Return the counts of some sentences by label of a breakdown, for tests of differences."""
        raise NotImplementedError

    def signature(self) -> str:
        """Return what must agree for two scores to be compared.

        For example `m2|gold:test.m2#3f2a9c01|beta:0.5|unchanged:2|btr:0.2.0`; with a named set `m2|set:conll14|…`.
        """
        fields = {"set": self.test_set, **self.signature_fields(), "btr": __version__}
        return "|".join([self.name, *(f"{name}:{value}" for name, value in fields.items() if value)])

    def count_pairs(self, pairs: Sequence[tuple[int, str]]) -> list[Counts]:
        """Count (sentence number, hypothesis) pairs, each one once, on all cores."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._cache]
        for number, hypothesis in new:
            if reason := self.too_long(number, hypothesis):
                raise InputError(f"sentence {number + 1}: {reason}")
        counted = parallel_map(
            self._count_pair,
            new,
            processes=self.processes,
            min_per_process=self.min_per_process,
            what=f"Counting ({self.name})",
        )
        self._cache.update(zip(new, counted))
        return [self._cache[pair] for pair in pairs]

    def _count_pair(self, pair: tuple[int, str]) -> Counts:
        return self.count(*pair)

    def counts(self, hypotheses: Sequence[str]) -> Array:
        """Count one hypothesis per sentence."""
        return self.stack(self.count_pairs(list(enumerate(hypotheses))))

    def score(self, hypotheses: Sequence[str]) -> Score:
        """Score one hypothesis per sentence."""
        return self.score_counts(self.counts(hypotheses))

    def score_counts(self, counts: Array) -> Score:
        """Score rows of counts, in the order of the corpus."""
        scores = self.aggregate(counts, np.arange(len(counts))[None])
        percent = {name: 100 * float(values[0]) for name, values in scores.items()}
        return Score(
            metric=self.name,
            scores=percent,
            counts=self.totals(counts),
            signature=self.signature(),
            main_score=self.main_score,
            title=self.title,
            columns=self.columns,
            details=self.details(counts),
        )

    def details(self, counts: Array) -> dict[str, float]:
        """Return further figures that the result shows, by JSON key."""
        return {}
