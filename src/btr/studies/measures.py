"""Measure a base model and a reranker on one set: all numbers of the study's tables and figures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from btr.corpus.scores import Scored
from btr.decisions.grid import DecisionGrid
from btr.decisions.rerank import BaseVersusSuggested, compare_counts
from btr.decisions.search import THRESHOLDS
from btr.decisions.settings import Settings
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array, Metric
from btr.metrics.evaluate import break_down
from btr.metrics.gold import Gold
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent
from btr.metrics.results import Interval, Part
from btr.studies.plan import check_seeds
from btr.studies.records import (
    BaseMeasures,
    ComparedScores,
    ErrorComparisons,
    ErrorScores,
    LevelScores,
    RerankerMeasures,
    SystemScores,
    ThresholdPoint,
    UngradedMeasures,
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
        columns=metric.columns,
        candidates=max(map(len, candidates)),
        gold_percent=gold_percent(candidates, gold.references),
        unique_percent=unique_percent(candidates),
        errors=score_errors(gold, counts, texts),
        sentences=len(candidates),
        signature=metric.signature(),
    )


def score_with_intervals(metric: Metric, counts: Array) -> SystemScores:
    """Return corpus scores and their 95 % intervals, in percent."""
    intervals = {name: percent(interval) for name, interval in significance.confidence(metric, counts).items()}
    return SystemScores(metric.score_counts(counts).scores, intervals, metric.main_score)


def compare_with_base(metric: Metric, counts: Array, base: Array) -> ComparedScores:
    """Return scores, and the interval and p-value of the difference to a base by a paired bootstrap."""
    system = score_with_intervals(metric, counts)
    test = significance.bootstrap(metric, base, counts)[metric.main_score]
    before = metric.score_counts(base).value
    return ComparedScores(**vars(system), difference=percent(test.interval or (0.0, 0.0)), p=test.p, base=before)


def percent(interval: Interval) -> Interval:
    """Return an interval in percent."""
    low, high = interval
    return 100 * low, 100 * high


def score_errors(gold: Gold, counts: Array, texts: Sequence[str]) -> ErrorScores | None:
    """Return scores by operation, type and level; None if the metric does not know operations."""
    metric = gold.metric
    if not can_break_down(metric, "operation"):
        return None
    kinds = ["operation", *(["type"] if can_break_down(metric, "type") else []), *(["group"] if gold.groups else [])]
    by = break_down(gold, counts, texts, kinds)

    def main_scores(parts: Mapping[str, Part]) -> dict[str, float]:
        return {label: part.scores[metric.main_score] for label, part in parts.items()}

    levels = by.get("group", {})
    return ErrorScores(
        main_scores(by["operation"]),
        main_scores(by["type"]) if "type" in by else None,
        {
            level: LevelScores(part.scores[metric.main_score], main_scores(part.by["operation"]))
            for level, part in levels.items()
        },
    )


def can_break_down(metric: Metric, by: str) -> bool:
    """Return whether a metric can give scores by operation or type with this gold."""
    try:
        metric.check_breakdown(by)
    except InputError:
        return False
    return True


def compare_errors(gold: Gold, grid: DecisionGrid, choices: Array) -> ErrorComparisons | None:
    """Compare a reranker with the base model at each level and over all, and for the most frequent types of errors."""
    metric, base_choices = gold.metric, np.zeros_like(choices)
    if not can_break_down(metric, "operation"):
        return None
    base, counts = grid.counts_of(base_choices), grid.counts_of(choices)
    labels = np.array(gold.groups or [])
    members = {label: labels == label for label in sorted(set(gold.groups or []))}
    members[ALL_LEVELS] = np.ones(metric.size, dtype=bool)
    by_level = {label: compare_counts(metric, base[rows], counts[rows]) for label, rows in members.items()}
    by_type = dict[str, BaseVersusSuggested]()
    if can_break_down(metric, "type"):
        every, base_texts = range(metric.size), grid.texts(base_choices)
        before, after = (metric.counts_by(texts, every, "type") for texts in (base_texts, grid.texts(choices)))
        types = frequent_types(metric.parts(base_texts, every, "type"))
        by_type = {kind: compare_counts(metric, before[kind], after[kind]) for kind in types if kind in after}
    return ErrorComparisons(by_level, by_type)


def frequent_types(types: Iterable[str]) -> list[str]:
    """Return the most frequent types of errors, as in the paper's Table 23, from types in order of frequency."""
    return [kind for kind in types if kind not in ("OTHER", "UNK")][:MAX_TYPES]


def measure_reranker(
    gold: Gold, grid: DecisionGrid, signature: str, settings: Settings, seeds: Sequence[DecisionGrid] = ()
) -> RerankerMeasures:
    """Measure a reranker with its settings and without its threshold, its verdicts, and other thresholds."""
    metric = gold.metric
    plain = replace(settings, threshold=0.0)
    tuned, suggested = grid.choose([settings, plain])
    base = grid.counts_of(np.zeros_like(tuned))
    return RerankerMeasures(
        tuned=compare_with_base(metric, grid.counts_of(tuned), base),
        without_threshold=compare_with_base(metric, grid.counts_of(suggested), base),
        verdicts=measure_verdicts(grid, tuned, suggested),
        by_threshold=[at_threshold(grid, suggested, replace(plain, threshold=value)) for value in THRESHOLDS],
        mean_probabilities=probabilities_by_rank(grid, settings),
        errors=score_errors(gold, grid.counts_of(tuned), grid.texts(tuned)),
        error_comparisons=compare_errors(gold, grid, tuned),
        seeds=[seed.score(seed.choose([settings])[0]).value for seed in seeds],
        reranker_signature=signature,
    )


def probabilities_by_rank(grid: DecisionGrid, settings: Settings) -> list[float]:
    """Return the mean of f(y|x) at each rank, over the sentences that could be scored."""
    probabilities = grid.probabilities(settings)
    probabilities = probabilities[~np.isnan(probabilities).any(1)]
    by_rank = np.sort(probabilities, 1)[:, ::-1][:, : grid.competing(settings).sum(1).max()]
    means: list[float] = by_rank.mean(0).tolist() if len(by_rank) else []
    return means


def measure_ungraded(grid: DecisionGrid, signature: str, settings: Settings) -> UngradedMeasures:
    """Measure what needs no gold, for figures 11 and 12; `settings` choose the outputs."""
    choices = grid.choose([replace(settings, threshold=value) for value in THRESHOLDS])
    shares = 100 * grid.accepted(choices).mean(axis=1)
    points = [ThresholdPoint(value, float(share), {}, None, None) for value, share in zip(THRESHOLDS, shares)]
    outputs = grid.texts(grid.choose([settings])[0])
    first = [row.candidates.texts[0] for row in grid.rows]
    ranks = probabilities_by_rank(grid, settings)
    return UngradedMeasures(points, ranks, len(grid.rows), signature, outputs, first)


def measure_verdicts(grid: DecisionGrid, tuned: Array, suggested: Array) -> dict[str, VerdictMeasures]:
    """Return the paper's Table 6: how many suggestions are accepted, rejected and equal, and both scores over each."""
    is_accepted, is_suggested = grid.accepted(tuned), grid.accepted(suggested)
    base = grid.counts_of(np.zeros_like(suggested))
    suggestion = grid.counts_of(np.where(is_suggested, suggested, 0))
    cases = {"accept": is_accepted, "reject": is_suggested & ~is_accepted, "equal": ~is_suggested}
    return {
        verdict: VerdictMeasures(
            100 * float(rows.mean()), compare_counts(grid.metric, base[rows], suggestion[rows]) if rows.any() else None
        )
        for verdict, rows in cases.items()
    }


def at_threshold(grid: DecisionGrid, suggested: Array, settings: Settings) -> ThresholdPoint:
    """Measure one threshold, for figures 8 to 14."""
    choices = grid.choose([settings])[0]
    accepted = grid.accepted(choices)
    before, after = (
        grid.metric.score_counts(grid.counts_of(indices)[accepted]).scores if accepted.any() else None
        for indices in (np.zeros_like(suggested), suggested)
    )
    whole = grid.score(choices).scores
    return ThresholdPoint(settings.threshold, 100 * float(accepted.mean()), whole, before, after)


def split_seeds(grid: DecisionGrid) -> list[DecisionGrid]:
    """Return one reranker per seed: one model of each kind; a kind with a single model has it in every seed."""
    counts = Counter(grid.kinds)
    seeds = max(counts.values())
    if seeds == 1:
        return []
    try:
        check_seeds(grid.kinds)
    except ValueError as error:
        raise InputError(f"a reranker {error}.") from None
    by_kind = [[k for k, other in enumerate(grid.kinds) if other == kind] for kind in counts]
    grids = []
    for seed in range(seeds):
        models = [group[seed % len(group)] for group in by_kind]
        rows = [Scored(row.candidates, tuple(row.scores[k] for k in models)) for row in grid.rows]
        grids.append(DecisionGrid(grid.metric, rows, tuple(counts)))
    return grids
