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
    p_holm: float | None = None  # adjusted by Holm's method, where several outputs are compared with the first

    def to_dict(self) -> Json:
        """Return the test as JSON has it, the interval in percent."""
        result: Json = {"p": self.p} if self.p_holm is None else {"p": self.p, "p_holm": self.p_holm}
        return {**result, **({"interval": [100 * value for value in self.interval]} if self.interval else {})}


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
class Contrast:
    """How an output differs from the first one: score differences, changed sentences, and significance."""

    difference: Mapping[str, float]
    sentences: ChangedSentences
    significance: Significance

    def to_dict(self) -> Json:
        """Return the contrast as JSON has it."""
        sentences, tests = vars(self.sentences), self.significance.to_dict()
        return {"difference": dict(self.difference), "sentences": sentences, "significance": tests}


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`: outputs with their scores, and how each after the first differs from the first.

    Two outputs are also called A and B: `a`, `b`, and `difference`, `sentences` and `significance` of B - A.
    """

    files: tuple[str, ...]
    scores: tuple[Score, ...]
    contrasts: tuple[Contrast, ...]  # of the second output, the third …
    rank: int | None = None

    @property
    def a(self) -> Score:
        """The first output's score."""
        return self.scores[0]

    @property
    def b(self) -> Score:
        """The second output's score."""
        return self.scores[1]

    @property
    def difference(self) -> Mapping[str, float]:
        """B - A by score."""
        return self.contrasts[0].difference

    @property
    def sentences(self) -> ChangedSentences:
        """How many sentences differ between A and B."""
        return self.contrasts[0].sentences

    @property
    def significance(self) -> Significance:
        """The tests of B - A."""
        return self.contrasts[0].significance

    def to_dict(self) -> Json:
        """Return the comparison as JSON has it: two outputs as `a` and `b`, others as a list of `systems`."""
        rows = [
            {"file": file, "scores": score.scores, "counts": score.counts}
            for file, score in zip(self.files, self.scores)
        ]
        result: Json = {"metric": self.a.metric}
        if len(rows) == 2:
            result |= {**dict(zip("ab", rows)), **self.contrasts[0].to_dict()}
        else:
            contrasts = [contrast.to_dict() for contrast in self.contrasts]
            result["systems"] = [{**row, **contrast} for row, contrast in zip(rows, [{}, *contrasts])]
        rank = {} if self.rank is None else {"rank": self.rank}
        return {**result, **rank, "signature": self.a.signature}


@dataclass(frozen=True)
class ReportSection:
    """What one metric says of the outputs of a report."""

    comparison: Comparison
    confidence: tuple[Confidence, ...] = ()  # of each output; none without resamples

    def system(self, number: int) -> Json:
        """Return what JSON has of one output: its scores, their intervals, and how it differs from the first."""
        score = self.comparison.scores[number]
        result: Json = {"scores": score.scores, "counts": score.counts, **score.details}
        if self.confidence:
            result["confidence"] = self.confidence[number].to_dict()
        if number:
            result["against_first"] = self.comparison.contrasts[number - 1].to_dict()
        return result


@dataclass(frozen=True)
class Report:
    """The result of `report`: outputs by every metric that the files allow, and by `unchanged` on clean text."""

    files: tuple[str, ...]
    sections: Mapping[str, ReportSection]  # by metric

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric."""
        return {name: section.comparison.a.signature for name, section in self.sections.items()}

    def to_dict(self) -> Json:
        """Return the report as JSON has it: the scores of each output by metric, and the signatures."""
        systems = [
            {"file": file, "metrics": {name: section.system(k) for name, section in self.sections.items()}}
            for k, file in enumerate(self.files)
        ]
        return {"systems": systems, "signatures": self.signatures}
