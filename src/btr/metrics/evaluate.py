"""`btr evaluate` and `btr compare`: files in, scores out."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from btr.corpus.candidates import read_candidates
from btr.corpus.files import PathLike, read_text, same_length, zip_lines
from btr.corpus.m2 import Sentence, read_m2
from btr.corpus.parallel import read_references
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array, Metric, Score, name_file
from btr.metrics.edits import EditMetric
from btr.metrics.errant import MODES, Errant
from btr.metrics.gleu import GLEU
from btr.metrics.m2 import M2
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent

METRICS = "m2", "errant", "gleu"
BREAKDOWNS = "group", "operation", "type"


@dataclass(frozen=True)
class Gold:
    """What hypotheses are scored against: a metric, the label of each sentence's group, and references if known."""

    metric: Metric
    groups: Sequence[str] | None
    references: Sequence[Sequence[str]]
    reference_name: str


def evaluate(
    hypotheses: PathLike | Sequence[PathLike],
    *,
    metric: str = "m2",
    gold: Sequence[PathLike] = (),
    source: PathLike | None = None,
    references: Sequence[PathLike] = (),
    rank: int | None = None,
    oracle: bool = False,
    by: Sequence[str] = (),
    groups: PathLike | None = None,
    mode: str = "correction",
    beta: float = 0.5,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> Score:
    """Score hypotheses: a text file, a candidates file at a rank, one text file a rank, or the oracle's choice."""
    against = load_gold(metric, gold, source, references, groups, mode, beta, processes)
    check_breakdown(by, against)
    paths = [hypotheses] if isinstance(hypotheses, str | os.PathLike) else list(hypotheses)
    candidates = read_hypotheses(paths)
    same_length([(str(paths[0]), len(candidates)), (against.metric.name + "'s gold", against.metric.size)])
    extra: dict[str, Any] = {}
    if oracle:
        same_length([("the oracle's reference", len(against.references)), (str(paths[0]), len(candidates))])
        chosen = [oracle_choice(*pair) for pair in zip(candidates, against.references)]
        suffix = f"|oracle:{against.reference_name}"
        extra["candidates"] = {
            "gold_percent": gold_percent(candidates, against.references),
            "unique_percent": unique_percent(candidates),
        }
    else:
        chosen = [at_rank(row, rank or 1, f"{paths[0]}, line {n}") for n, row in enumerate(candidates, 1)]
        suffix = f"|rank:{rank}" if rank else ""
    counts = against.metric.counts(chosen)
    score = against.metric.score_counts(counts)
    if resamples:
        intervals = significance.confidence(against.metric, counts, resamples)
        extra["confidence"] = {
            "level": significance.LEVEL,
            "resamples": resamples,
            **{name: [100 * value for value in interval] for name, interval in intervals.items()},
        }
    if by:
        extra["by"] = break_down(against, counts, chosen, by)
    return replace(score, signature=score.signature + suffix, extra={**score.extra, **extra})


def compare(
    first: PathLike,
    second: PathLike,
    *,
    metric: str = "m2",
    gold: Sequence[PathLike] = (),
    source: PathLike | None = None,
    references: Sequence[PathLike] = (),
    rank: int | None = None,
    mode: str = "correction",
    beta: float = 0.5,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> dict[str, Any]:
    """Two outputs side by side: scores, differences (second minus first) and their significance."""
    against = load_gold(metric, gold, source, references, None, mode, beta, processes)
    outputs = []
    for path in (first, second):
        candidates = read_hypotheses([path])
        same_length([(str(path), len(candidates)), (against.metric.name + "'s gold", against.metric.size)])
        outputs.append([at_rank(row, rank or 1, f"{path}, line {n}") for n, row in enumerate(candidates, 1)])
    a, b = map(against.metric.counts, outputs)
    score_a, score_b = map(against.metric.score_counts, (a, b))
    own_a, own_b = map(against.metric.sentence_scores, (a, b))
    bootstrap = significance.bootstrap(against.metric, a, b, resamples)
    randomisation = significance.randomisation(against.metric, a, b, resamples)
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
        "significance": {
            "t_test": {"p": significance.t_test(against.metric, a, b).p},
            "bootstrap": {
                name: {"p": test.p, "interval": [100 * value for value in test.interval or ()]}
                for name, test in bootstrap.items()
            },
            "randomisation": {name: {"p": test.p} for name, test in randomisation.items()},
            "resamples": resamples,
        },
        "signature": score_a.signature + (f"|rank:{rank}" if rank else ""),
    }


def load_gold(
    metric: str,
    gold: Sequence[PathLike],
    source: PathLike | None,
    references: Sequence[PathLike],
    groups: PathLike | None,
    mode: str,
    beta: float,
    processes: int | None,
) -> Gold:
    """Read what hypotheses are scored against, and make the metric."""
    choose("metric", metric, METRICS)
    choose("mode", mode, MODES)
    if not beta > 0:
        raise InputError(f"beta must be larger than 0, not {beta:g}.")
    names = "+".join(map(name_file, references))
    texts = [read_references(path) for path in references]
    same_length([(str(path), len(text)) for path, text in zip(references, texts)])
    merged = [tuple(ref for row in rows for ref in row) for rows in zip(*texts)]
    if metric == "gleu":
        if source is None or not texts:
            raise InputError("GLEU needs --source and at least one --reference.")
        files = f"{name_file(source)}+{names}"
        sources = read_text(source)
        same_length([(str(source), len(sources)), (str(references[0]), len(merged))])
        measure: Metric = GLEU(sources, merged, files, processes)
        return Gold(measure, read_groups(groups, len(sources)), merged, names)
    if not gold:
        raise InputError(f"{metric} needs --gold, an M2 file.")
    name = "+".join(map(name_file, gold))
    parts = [list(read_m2(path)) for path in gold]
    sentences = [sentence for part in parts for sentence in part]
    labels: Sequence[str] | None = read_groups(groups, len(sentences))
    if labels is None and len(parts) > 1:
        labels = [label for label, part in zip(short_names(gold), parts) for _ in part]
    if metric == "m2":
        measure = M2(sentences, name, beta, processes)
    else:
        measure = Errant(sentences, name, mode, beta, processes)
    return Gold(measure, labels, merged or list(map(all_corrections, sentences)), names or "gold")


def all_corrections(sentence: Sentence) -> tuple[str, ...]:
    """Each annotator's corrected sentence."""
    return tuple(dict.fromkeys(sentence.corrected(annotator) for annotator in sentence.annotations or (0,)))


def choose(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")


def read_groups(path: PathLike | None, size: int) -> list[str] | None:
    """Labels, one a sentence."""
    if path is None:
        return None
    labels = read_text(path)
    same_length([(str(path), len(labels)), ("the gold", size)])
    return labels


def short_names(paths: Sequence[PathLike]) -> list[str]:
    """Files' names up to the first dot, if those tell them apart (A.dev.gold.bea19.m2 is A)."""
    short = [Path(path).name.split(".")[0] for path in paths]
    return short if len(set(short)) == len(short) else [Path(path).name for path in paths]


def read_hypotheses(paths: Sequence[PathLike]) -> list[tuple[str, ...]]:
    """The candidates of each sentence: a candidates file, or plain text with one file a rank."""
    if len(paths) > 1:
        return list(zip_lines(paths))
    lines = read_text(paths[0])
    if not lines[0].startswith('{"'):
        return [(line,) for line in lines]
    return [row.candidates for row in read_candidates(paths[0], lines)]


def at_rank(candidates: Sequence[str], rank: int, where: str) -> str:
    """The candidate at a rank, from 1."""
    if not 1 <= rank <= len(candidates):
        raise InputError(f"{where}: there is no candidate of rank {rank}; the ranks are 1 to {len(candidates)}.")
    return candidates[rank - 1]


def check_breakdown(by: Sequence[str], against: Gold) -> None:
    """Refuse a breakdown that the metric or the gold can't give, before anything is counted."""
    for kind in by:
        choose("--by", kind, BREAKDOWNS)
        if kind == "group" and against.groups is None:
            raise InputError("--by group needs groups: several --gold files, or --groups with one label a sentence.")
        if kind != "group" and not isinstance(against.metric, Errant):
            raise InputError(f"--by {kind} needs --metric errant: {against.metric.name} has no types of edits.")


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
