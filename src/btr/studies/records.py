"""What a study measures, as typed records: the cache stores them as JSON, tables and figures read them."""

from collections.abc import Mapping
from dataclasses import dataclass

MetricScores = Mapping[str, float]  # in percent, by name; the metric is known by the last one
Interval = tuple[float, float]  # 95 %


def main_score(scores: MetricScores) -> float:
    """Return the one number that a metric is known by."""
    return list(scores.values())[-1]


@dataclass(frozen=True)
class SystemScores:
    """The corpus scores of one output, with their intervals."""

    scores: MetricScores
    intervals: Mapping[str, Interval]


@dataclass(frozen=True)
class ComparedScores(SystemScores):
    """The scores of a reranker's output, with intervals and p-values of the differences to the base model's."""

    differences: Mapping[str, Interval]
    p: Mapping[str, float]


@dataclass(frozen=True)
class Comparison:
    """The base model's and the reranker's main score over the same sentences, and tests of their difference."""

    sentences: int
    base: float
    suggested: float
    interval: Interval
    p_t_test: float
    p_bootstrap: float


@dataclass(frozen=True)
class LevelScores:
    """The scores over the sentences of one level, and those by operation."""

    scores: MetricScores
    by_operation: Mapping[str, MetricScores]


@dataclass(frozen=True)
class ErrorScores:
    """Scores by operation, by type of error and by level of the writers; types and levels as far as known."""

    by_operation: Mapping[str, MetricScores]
    by_type: Mapping[str, MetricScores] | None
    by_level: Mapping[str, LevelScores]


@dataclass(frozen=True)
class ErrorComparisons:
    """A reranker beside the base model at each level (and `all`), and for the most frequent types of errors."""

    by_level: Mapping[str, Comparison]
    by_type: Mapping[str, Comparison]


@dataclass(frozen=True)
class BaseMeasures:
    """The scores of a base model's first candidates, and how good all its candidates could be."""

    base: SystemScores
    oracle: SystemScores
    candidates: int  # the most that a sentence has
    gold_percent: float  # of the sentences whose candidates include a reference
    unique_percent: float  # of the candidates
    errors: ErrorScores | None
    sentences: int
    signature: str


@dataclass(frozen=True)
class VerdictMeasures:
    """The share of the sentences with one verdict, and the scores over them, if there are any."""

    percent: float
    comparison: Comparison | None


@dataclass(frozen=True)
class ThresholdPoint:
    """What one threshold does (figures 8 to 14); `before` and `after` are over the accepted suggestions."""

    threshold: float
    accepted_percent: float
    whole: MetricScores
    before: MetricScores | None
    after: MetricScores | None


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
    seeds: list[MetricScores]  # one per seed, if there are several
    reranker_signature: str


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


@dataclass(frozen=True)
class BestSettings:
    """The best settings on a set, and the scores that they give there."""

    top: int
    threshold: float
    weights: tuple[float, ...]
    scores: MetricScores


@dataclass(frozen=True)
class CrossValidated:
    """Scores over sentences that had no part in the choice of their settings, and the difference to the base model."""

    folds: int
    scores: MetricScores
    difference: float
    interval: Interval
    p: float


@dataclass(frozen=True)
class Tuned:
    """The best settings of a reranker, and the score that settings chosen in the same way have on held-out folds."""

    best: BestSettings
    crossed: CrossValidated


@dataclass(frozen=True)
class TunedGrid(Tuned):
    """Scores by number of candidates (rows) and threshold (columns), and where any suggestion is accepted."""

    tops: list[int]
    grid: list[list[float]]
    changed: list[list[bool]]
