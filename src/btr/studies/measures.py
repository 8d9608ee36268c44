"""Measure a base model and a reranker on one set: all numbers of the study's tables and figures."""

from collections.abc import Iterable, Sequence

import numpy as np

from btr.corpus.scores import Scored
from btr.metrics import significance
from btr.metrics.base import Array, Metric
from btr.metrics.errant import Errant
from btr.metrics.evaluate import break_down
from btr.metrics.gold import Gold
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent
from btr.rerankers.rerank import compare_rows
from btr.rerankers.table import THRESHOLDS, Setting, Table
from btr.studies.records import (
    BaseMeasures,
    ComparedScores,
    Comparison,
    ErrorComparisons,
    ErrorScores,
    Interval,
    LevelScores,
    MetricScores,
    RerankerMeasures,
    SystemScores,
    ThresholdPoint,
    VerdictMeasures,
)

MAX_TYPES = 5  # types of errors in Table 23
ALL_LEVELS = "all"


def measure_base(gold: Gold, candidates: Sequence[Sequence[str]]) -> BaseMeasures:
    """Score the base model's first candidates, and the best of all candidates."""
    metric = gold.metric
    texts = [row[0] for row in candidates]
    counts = metric.counts(texts)
    oracle = metric.counts([oracle_choice(*pair) for pair in zip(candidates, gold.references, strict=True)])
    return BaseMeasures(
        base=score_with_intervals(metric, counts),
        oracle=score_with_intervals(metric, oracle),
        candidates=max(map(len, candidates)),
        gold_percent=gold_percent(candidates, gold.references),
        unique_percent=unique_percent(candidates),
        errors=score_errors(gold, counts, texts),
        sentences=len(candidates),
        signature=metric.signature(),
    )


def score_with_intervals(metric: Metric, counts: Array) -> SystemScores:
    """Return corpus scores and their 95 % intervals, in percent."""
    intervals = significance.confidence(metric, counts)
    return SystemScores(
        metric.score_counts(counts).scores, {name: percent(interval) for name, interval in intervals.items()}
    )


def compare_with_base(metric: Metric, counts: Array, base: Array) -> ComparedScores:
    """Return scores, and the 95 % intervals and p-values of their differences to a base by a paired bootstrap."""
    own = score_with_intervals(metric, counts)
    tests = significance.bootstrap(metric, base, counts)
    return ComparedScores(
        own.scores,
        own.intervals,
        {name: percent(test.interval or ()) for name, test in tests.items()},
        {name: test.p for name, test in tests.items()},
    )


def percent(interval: Sequence[float]) -> Interval:
    """Return an interval in percent."""
    low, high = interval
    return 100 * low, 100 * high


def compare(metric: Metric, base: Array, suggested: Array) -> Comparison:
    """Compare two outputs over the same sentences."""
    found = compare_rows(metric, base, suggested)
    return Comparison(**{**found, "interval": tuple(found["interval"])})


def score_errors(gold: Gold, counts: Array, texts: Sequence[str]) -> ErrorScores | None:
    """Return scores by operation, type and level; None if the metric does not know operations."""
    if not isinstance(gold.metric, Errant):
        return None
    kinds = ["operation", *(["type"] if gold.metric.has_types() else []), *(["group"] if gold.groups else [])]
    by = break_down(gold, counts, texts, kinds)
    return ErrorScores(
        scores_only(by["operation"]),
        scores_only(by["type"]) if "type" in by else None,
        {
            level: LevelScores(found["scores"], scores_only(found["operation"]))
            for level, found in by.get("group", {}).items()
        },
    )


def scores_only(by: dict[str, dict[str, MetricScores]]) -> dict[str, MetricScores]:
    """Return the scores of a breakdown, without counts."""
    return {label: row["scores"] for label, row in by.items()}


def compare_errors(gold: Gold, table: Table, choices: Array) -> ErrorComparisons | None:
    """Compare a reranker with the base model at each level and over all, and for the most frequent types of errors."""
    metric, base_choices = gold.metric, np.zeros_like(choices)
    if not isinstance(metric, Errant):
        return None
    base, counts = table.counts_of(base_choices), table.counts_of(choices)
    labels = np.array(gold.groups or [])
    members = {label: labels == label for label in sorted(set(gold.groups or []))}
    members[ALL_LEVELS] = np.ones(metric.size, dtype=bool)
    by_level = {label: compare(metric, base[rows], counts[rows]) for label, rows in members.items()}
    by_type = dict[str, Comparison]()
    if metric.has_types():
        rows = range(metric.size)
        before, after = (metric.counts_by(table.texts(made), rows, "type") for made in (base_choices, choices))
        types = frequent_types(metric.breakdown(table.texts(base_choices), rows, "type"))
        by_type = {kind: compare(metric, before[kind], after[kind]) for kind in types if kind in after}
    return ErrorComparisons(by_level, by_type)


def frequent_types(types: Iterable[str]) -> list[str]:
    """Return the most frequent types of errors, as in the paper's Table 23, from types in order of frequency."""
    return [kind for kind in types if kind not in ("OTHER", "UNK")][:MAX_TYPES]


def measure_reranker(
    gold: Gold, rows: Sequence[Scored], signature: str, setting: Setting, seeds: Sequence[Sequence[Scored]] = ()
) -> RerankerMeasures:
    """Measure a reranker with its settings and without its threshold, its verdicts, and other thresholds."""
    metric = gold.metric
    table = Table(metric, [rows])
    plain = Setting(setting.top, 0.0)
    tuned, suggested = table.choose([Setting(setting.top, setting.threshold), plain])
    base, counts, suggestion = (table.counts_of(choices) for choices in (np.zeros_like(tuned), tuned, suggested))
    probabilities = table.shares(setting.top)
    probabilities = probabilities[~np.isnan(probabilities).any(1)]  # without sentences that could not be scored
    return RerankerMeasures(
        tuned=compare_with_base(metric, counts, base),
        without_threshold=compare_with_base(metric, suggestion, base),
        verdicts=measure_verdicts(metric, base, suggestion, tuned, suggested),
        by_threshold=[at_threshold(table, base, suggestion, plain, threshold) for threshold in THRESHOLDS],
        mean_probabilities=np.sort(probabilities, 1)[:, ::-1].mean(0).tolist() if len(probabilities) else [],
        errors=score_errors(gold, counts, table.texts(tuned)),
        error_comparisons=compare_errors(gold, table, tuned),
        seeds=[seed_scores(metric, seed, setting) for seed in seeds],
        reranker_signature=signature,
    )


def measure_verdicts(
    metric: Metric, base: Array, suggestion: Array, tuned: Array, suggested: Array
) -> dict[str, VerdictMeasures]:
    """Return the paper's Table 6: how many suggestions are accepted, rejected and equal, and both scores over each."""
    cases = {"accept": tuned > 0, "reject": (tuned == 0) & (suggested > 0), "equal": suggested == 0}
    return {
        verdict: VerdictMeasures(
            100 * float(rows.mean()), compare(metric, base[rows], suggestion[rows]) if rows.any() else None
        )
        for verdict, rows in cases.items()
    }


def at_threshold(table: Table, base: Array, suggestion: Array, plain: Setting, threshold: float) -> ThresholdPoint:
    """Measure one threshold, for figures 8 to 14."""
    choices = table.choose([plain._replace(threshold=threshold)])[0]
    accepted = choices > 0
    before, after = (
        table.metric.score_counts(counts[accepted]).scores if accepted.any() else None for counts in (base, suggestion)
    )
    return ThresholdPoint(
        threshold, 100 * float(accepted.mean()), whole=table.score(choices).scores, before=before, after=after
    )


def seed_scores(metric: Metric, rows: Sequence[Scored], setting: Setting) -> MetricScores:
    """Score one seed with the settings of all seeds together."""
    table = Table(metric, [rows])
    return table.score(table.choose([Setting(setting.top, setting.threshold)])[0]).scores
