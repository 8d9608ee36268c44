"""What a study measures, as typed records: the cache stores them as JSON, tables and figures read them.

Scores are in percent, and intervals have a confidence of 95 %. Where a record has a single score, it is the metric's
main score.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from btr.decisions.rerank import BaseVersusSuggested
from btr.decisions.settings import Settings
from btr.metrics.results import Interval


@dataclass(frozen=True)
class SystemScores:
    """All scores of one output, with their intervals; `main` names the main score."""

    scores: Mapping[str, float]
    intervals: Mapping[str, Interval]
    main: str

    @property
    def value(self) -> float:
        """The main score."""
        return self.scores[self.main]


@dataclass(frozen=True)
class ComparedScores(SystemScores):
    """The scores of a reranker's output, with the interval and p-value of the main score's difference to the base.

    `base` is the main score of the first of the same candidates: another number of them may have another first.
    """

    difference: Interval
    p: float
    base: float


@dataclass(frozen=True)
class LevelScores:
    """The score over the sentences of one level, and the scores by operation."""

    score: float
    by_operation: Mapping[str, float]


@dataclass(frozen=True)
class ErrorScores:
    """Scores by operation, by type of error and by level of the writers; types and levels as far as known."""

    by_operation: Mapping[str, float]
    by_type: Mapping[str, float] | None
    by_level: Mapping[str, LevelScores]


@dataclass(frozen=True)
class ErrorComparisons:
    """A reranker beside the base model at each level (and `all`), and for the most frequent types of errors."""

    by_level: Mapping[str, BaseVersusSuggested]
    by_type: Mapping[str, BaseVersusSuggested]


@dataclass(frozen=True)
class BaseMeasures:
    """The scores of a base model's first candidates, and how good all its candidates could be."""

    base: SystemScores
    oracle: SystemScores
    columns: Mapping[str, str]  # the names of the scores in tables
    candidates: int  # the most that a sentence has
    gold_percent: float  # of the sentences whose candidates include a reference
    unique_percent: float  # of the candidates
    errors: ErrorScores | None
    sentences: int
    signature: str

    @property
    def main_column(self) -> str:
        """The name of the main score in tables."""
        return self.columns[self.base.main]


@dataclass(frozen=True)
class VerdictMeasures:
    """The share of the sentences with one verdict, and the scores over them, if there are any."""

    percent: float
    comparison: BaseVersusSuggested | None


@dataclass(frozen=True)
class ThresholdPoint:
    """What one threshold does (figures 8 to 14); `before` and `after` are over the accepted suggestions."""

    threshold: float
    accepted_percent: float
    whole: Mapping[str, float]
    before: Mapping[str, float] | None
    after: Mapping[str, float] | None


@dataclass(frozen=True)
class RerankerMeasures:
    """What a reranker gives on one set, with its settings and without its threshold."""

    tuned: ComparedScores
    without_threshold: ComparedScores
    verdicts: Mapping[str, VerdictMeasures]
    by_threshold: list[ThresholdPoint]
    mean_probabilities: list[float]  # f(y|x) by rank, over the sentences that could be scored
    errors: ErrorScores | None
    error_comparisons: ErrorComparisons | None
    seeds: list[float]  # one score per seed, if there are several
    reranker_signature: str


@dataclass(frozen=True)
class UngradedMeasures:
    """What a reranker does that needs no gold: what each threshold accepts, and its probabilities by rank."""

    by_threshold: list[ThresholdPoint]  # without scores
    mean_probabilities: list[float]
    sentences: int
    reranker_signature: str
    outputs: list[str]  # with its settings
    base_outputs: list[str]  # the first candidates


@dataclass(frozen=True)
class CrossValidatedScore:
    """The score over sentences that had no part in the choice of their settings, and its difference to the base."""

    folds: int
    score: float
    difference: float
    interval: Interval
    p: float


@dataclass(frozen=True)
class TunedSettings:
    """The best settings of a reranker, and the score that settings chosen in the same way have on held-out folds."""

    settings: Settings
    crossed: CrossValidatedScore


@dataclass(frozen=True)
class TunedGrid(TunedSettings):
    """Scores by number of candidates (rows) and threshold (columns), and where any suggestion is accepted.

    `sizes` are the lists that the rows' candidates come from; None where smaller numbers are cut out of one list.
    """

    tops: list[int]
    sizes: list[int | None]
    thresholds: list[float]
    grid: list[list[float]]
    changed: list[list[bool]]

    def cell_settings(self, row: int, threshold: float) -> Settings:
        """Return the settings of a cell."""
        size = self.sizes[row] or self.settings.candidates
        return replace(self.settings, top=self.tops[row], candidates=size, threshold=threshold)


@dataclass(frozen=True)
class Losses:
    """The mean loss at each position over targets of similar length."""

    curve: list[float]
    targets: int
    signature: str


@dataclass(frozen=True)
class ExampleCandidate:
    """A candidate of an example, and the names of the rerankers that choose it."""

    text: str
    chosen_by: list[str]


@dataclass(frozen=True)
class Example:
    """A sentence that the main reranker changed; `gain` is the change of its score, from -1 to 1."""

    source: str
    reference: str | None
    gain: float
    candidates: list[ExampleCandidate]
