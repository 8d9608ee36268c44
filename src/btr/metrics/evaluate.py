"""`btr evaluate` and `btr compare`: files in, scores out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from btr.corpus.candidates import read_candidates
from btr.corpus.files import PathLike, Paths, as_paths, check_same_length, read_text, zip_lines
from btr.corpus.parallel import is_json
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array, Metric, Score
from btr.metrics.edits import EditMetric
from btr.metrics.errant import Errant
from btr.metrics.gold import Gold, load_gold, one_of
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent

BREAKDOWNS = "group", "operation", "type"


def evaluate(
    hypotheses: Paths,
    *,
    metric: str = "m2",
    gold: Paths = (),
    source: PathLike | None = None,
    reference: Paths = (),
    rank: int | None = None,
    oracle: bool = False,
    by: str | Sequence[str] = (),
    groups: PathLike | None = None,
    mode: str = "correction",
    beta: float = 0.5,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> Score:
    """Score hypotheses: a text file, a candidates file at a rank, one text file a rank, or the oracle's choice."""
    if oracle and rank is not None:
        raise InputError("--oracle and --rank exclude each other: the oracle chooses the rank.")
    if metric != "gleu" and reference and not oracle:
        raise InputError(f"--reference is for gleu and for --oracle; {metric} takes its gold from --gold.")
    against = load_gold(
        metric, gold=gold, source=source, reference=reference, groups=groups, mode=mode, beta=beta, processes=processes
    )
    kinds = [by] if isinstance(by, str) else list(by)
    check_breakdown(kinds, against)
    paths = as_paths(hypotheses)
    if len(paths) > 1 and rank is None and not oracle:
        raise InputError("several hypothesis files are the ranks of one system; say which with --rank, or --oracle.")
    candidates = read_hypotheses(paths, against)
    if oracle:
        check_same_length([(against.reference_name, len(against.references)), (str(paths[0]), len(candidates))])
        chosen = [oracle_choice(*pair) for pair in zip(candidates, against.references)]
        selection: dict[str, Any] = {
            "oracle": against.reference_name,
            "candidates": {
                "gold_percent": gold_percent(candidates, against.references),
                "unique_percent": unique_percent(candidates),
            },
        }
    else:
        chosen = at_rank(candidates, rank or 1, paths[0])
        selection = {"rank": rank} if rank else {}
    counts = against.metric.counts(chosen)
    score = against.metric.score_counts(counts)
    extra = {**score.extra, **selection}
    if resamples:
        intervals = significance.confidence(against.metric, counts, resamples)
        percent = {name: [100 * value for value in interval] for name, interval in intervals.items()}
        extra["confidence"] = {"level": significance.LEVEL, "resamples": resamples, **percent}
    if kinds:
        extra["by"] = break_down(against, counts, chosen, kinds)
    return replace(score, extra=extra)


def compare(
    first: PathLike,
    second: PathLike,
    *,
    metric: str = "m2",
    gold: Paths = (),
    source: PathLike | None = None,
    reference: Paths = (),
    rank: int | None = None,
    mode: str = "correction",
    beta: float = 0.5,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> dict[str, Any]:
    """Two outputs side by side: scores, differences (second minus first) and their significance."""
    against = load_gold(
        metric, gold=gold, source=source, reference=reference, mode=mode, beta=beta, processes=processes
    )
    outputs = [at_rank(read_hypotheses([path], against), rank or 1, path) for path in (first, second)]
    a, b = map(against.metric.counts, outputs)
    score_a, score_b = map(against.metric.score_counts, (a, b))
    own_a, own_b = map(against.metric.sentence_scores, (a, b))
    return {
        "metric": metric,
        "a": {"file": str(first), "scores": score_a.scores, "counts": score_a.counts},
        "b": {"file": str(second), "scores": score_b.scores, "counts": score_b.counts},
        "difference": {name: score_b.scores[name] - value for name, value in score_a.scores.items()},
        "sentences": {
            "changed": sum(x != y for x, y in zip(*outputs)),
            "better": int(np.count_nonzero(own_b > own_a)),
            "worse": int(np.count_nonzero(own_b < own_a)),
            "all": len(a),
        },
        "significance": significance_of(against.metric, a, b, resamples),
        **({"rank": rank} if rank else {}),
        "signature": score_a.signature,
    }


def significance_of(metric: Metric, a: Array, b: Array, resamples: int) -> dict[str, Any]:
    """All three tests, as JSON has them."""
    return {
        "t_test": {"p": significance.t_test(metric, a, b).p},
        "bootstrap": {
            name: {"p": test.p, "interval": [100 * value for value in test.interval or ()]}
            for name, test in significance.bootstrap(metric, a, b, resamples).items()
        },
        "randomisation": {
            name: {"p": test.p} for name, test in significance.randomisation(metric, a, b, resamples).items()
        },
        "resamples": resamples,
    }


def read_hypotheses(paths: Sequence[PathLike], against: Gold) -> list[tuple[str, ...]]:
    """The candidates of each sentence: a candidates file, or plain text with one file a rank."""
    if len(paths) > 1:
        rows = list(zip_lines(paths))
    else:
        lines = read_text(paths[0])
        if not is_json(lines[0]):
            rows = [(line,) for line in lines]
        else:
            candidates = list(read_candidates(paths[0], lines))
            check_same_length([(against.name, against.metric.size), (str(paths[0]), len(candidates))])
            for number, row in enumerate(candidates):
                if row.source.split() != against.metric.source(number).split():
                    raise InputError(f"{paths[0]}, line {number + 1}: its source is not the one of {against.name}.")
            rows = [row.texts for row in candidates]
    check_same_length([(against.name, against.metric.size), (str(paths[0]), len(rows))])
    return rows


def at_rank(rows: Sequence[Sequence[str]], rank: int, path: PathLike) -> list[str]:
    """The candidates at a rank, from 1."""
    for number, row in enumerate(rows, 1):
        if rank > len(row):
            raise InputError(f"{path}, line {number}: has no candidate of rank {rank}, but {len(row)} in all.")
    return [row[rank - 1] for row in rows]


def check_breakdown(by: Sequence[str], against: Gold) -> None:
    """Refuse a breakdown that the metric or the gold can't give, before anything is counted."""
    for kind in by:
        one_of("--by", kind, BREAKDOWNS)
        if kind == "group" and against.groups is None:
            raise InputError("--by group needs groups: several --gold files, or --groups with one label a sentence.")
        if kind != "group" and not isinstance(against.metric, Errant):
            raise InputError(f"--by {kind} needs --metric errant: {against.metric.name} has no types of edits.")
        if kind == "type" and isinstance(against.metric, Errant) and not against.metric.has_types():
            raise InputError(f"--by type needs ERRANT's types in the gold, but {against.name} has others.")


def break_down(against: Gold, counts: Array, hypotheses: Sequence[str], by: Sequence[str]) -> dict[str, Any]:
    """Scores by operation and type; by group, and within each group again by the others."""
    result: dict[str, Any] = {}
    others = [kind for kind in by if kind != "group"]
    for kind in others:
        result[kind] = _typed(against.metric, hypotheses, range(len(hypotheses)), kind)
    if "group" in by and against.groups:
        result["group"] = {}
        for label in sorted(set(against.groups)):
            rows = [number for number, group in enumerate(against.groups) if group == label]
            score = against.metric.score_counts(counts[rows])
            result["group"][label] = {"scores": score.scores, "counts": score.counts, "sentences": len(rows)}
            for kind in others:
                result["group"][label][kind] = _typed(against.metric, hypotheses, rows, kind)
    return result


def _typed(metric: Metric, hypotheses: Sequence[str], rows: Sequence[int], kind: str) -> dict[str, Any]:
    assert isinstance(metric, Errant)
    return {
        label: {
            "scores": {name: 100 * float(value) for name, value in _named(metric, counts).items()},
            "counts": dict(zip(("correct", "proposed", "gold"), counts)),
        }
        for label, counts in metric.breakdown(hypotheses, rows, kind).items()
    }


def _named(metric: EditMetric, counts: tuple[int, int, int]) -> dict[str, Array]:
    return metric.name_scores(*(np.array(count) for count in counts))
