"""The results of `evaluate` and `compare`, each with `to_dict()` for JSON. Scores are percentages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Interval = tuple[float, float]
Json = dict[str, Any]  # what json.dumps takes


@dataclass(frozen=True)
class Score:
    """A corpus score, the counts that it was computed from, and the signature that makes it comparable."""

    metric: str
    scores: dict[str, float]
    counts: dict[str, int]
    signature: str
    main_score: str  # the one of the scores that the metric is known by
    title: str  # the metric's name in tables
    columns: Mapping[str, str]  # the names of the scores in tables
    details: Mapping[str, float] = field(default_factory=dict)  # further figures of this metric

    @property
    def value(self) -> float:
        """The main score: F or GLEU."""
        return self.scores[self.main_score]

    def to_dict(self) -> Json:
        """Return the score as JSON has it."""
        head = {"metric": self.metric, "scores": self.scores, "counts": self.counts}
        return {**head, **self.details, "signature": self.signature}


@dataclass(frozen=True)
class Part:
    """The score of a part of the corpus: of a group, or of the edits of one operation or type."""

    scores: dict[str, float]
    counts: dict[str, int]
    sentences: int | None = None
    by: "Breakdown" = field(default_factory=dict)  # within a group

    def to_dict(self) -> Json:
        """Return the part as JSON has it."""
        size = {} if self.sentences is None else {"sentences": self.sentences}
        return {"scores": self.scores, "counts": self.counts, **size, **breakdown_to_dict(self.by)}


Breakdown = Mapping[str, Mapping[str, Part]]  # group, operation or type → label → part


def breakdown_to_dict(by: Breakdown) -> Json:
    """Return a breakdown as JSON has it."""
    return {kind: {label: part.to_dict() for label, part in parts.items()} for kind, parts in by.items()}


@dataclass(frozen=True)
class Confidence:
    """The interval of each score at a level of confidence, by the bootstrap."""

    level: float
    resamples: int
    intervals: Mapping[str, Interval]

    def to_dict(self) -> Json:
        """Return the intervals as JSON has them."""
        intervals = {name: list(interval) for name, interval in self.intervals.items()}
        return {"level": self.level, "resamples": self.resamples, **intervals}


@dataclass(frozen=True)
class Oracle:
    """What the oracle compared candidates with, and two shares of the candidates, as in the paper's Table 2."""

    references: str
    gold_percent: float  # sentences with a reference among their candidates
    unique_percent: float  # candidates that are unique

    def to_dict(self) -> Json:
        """Return the shares as JSON has them."""
        shares = {"gold_percent": self.gold_percent, "unique_percent": self.unique_percent}
        return {"oracle": self.references, "candidates": shares}


@dataclass(frozen=True, kw_only=True)
class Evaluation(Score):
    """The result of `evaluate`: a score, which candidates it is of, its intervals and its breakdowns."""

    rank: int | None = None
    oracle: Oracle | None = None
    confidence: Confidence | None = None
    by: Breakdown = field(default_factory=dict)

    def to_dict(self) -> Json:
        """Return the evaluation as JSON has it."""
        result = super().to_dict()
        signature = result.pop("signature")
        if self.oracle:
            result |= self.oracle.to_dict()
        if self.rank is not None:
            result["rank"] = self.rank
        if self.confidence:
            result["confidence"] = self.confidence.to_dict()
        if self.by:
            result["by"] = breakdown_to_dict(self.by)
        return {**result, "signature": signature}


@dataclass(frozen=True)
class Difference:
    """The p-value of a difference between two outputs; from the bootstrap also an interval of the difference."""

    p: float
    interval: Interval | None = None  # of scores from 0 to 1

    def to_dict(self) -> Json:
        """Return the test as JSON has it, the interval in percent."""
        return {"p": self.p, **({"interval": [100 * value for value in self.interval]} if self.interval else {})}


@dataclass(frozen=True)
class Significance:
    """Three tests of the difference between two outputs: of sentence scores (t-test) and of each corpus score."""

    t_test: Difference
    bootstrap: Mapping[str, Difference]
    randomisation: Mapping[str, Difference]
    resamples: int

    def to_dict(self) -> Json:
        """Return the tests as JSON has them."""
        return {
            "t_test": self.t_test.to_dict(),
            "bootstrap": {name: test.to_dict() for name, test in self.bootstrap.items()},
            "randomisation": {name: test.to_dict() for name, test in self.randomisation.items()},
            "resamples": self.resamples,
        }


@dataclass(frozen=True)
class ChangedSentences:
    """How many sentences differ between two outputs, and how many are better and worse in the second."""

    changed: int
    better: int
    worse: int
    all: int


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`: two outputs A and B with their scores, and the significance of the difference B - A."""

    files: tuple[str, str]
    a: Score
    b: Score
    sentences: ChangedSentences
    significance: Significance
    rank: int | None = None

    @property
    def difference(self) -> dict[str, float]:
        """B - A by score."""
        return {name: self.b.scores[name] - value for name, value in self.a.scores.items()}

    def to_dict(self) -> Json:
        """Return the comparison as JSON has it."""
        sides = zip(("a", "b"), self.files, (self.a, self.b))
        return {
            "metric": self.a.metric,
            **{side: {"file": file, "scores": score.scores, "counts": score.counts} for side, file, score in sides},
            "difference": self.difference,
            "sentences": vars(self.sentences),
            "significance": self.significance.to_dict(),
            **({} if self.rank is None else {"rank": self.rank}),
            "signature": self.a.signature,
        }
