"""The verbs `evaluate` and `compare`: files in, scores out."""

from collections.abc import Sequence

import numpy as np

from btr.corpus.candidates import read_candidates
from btr.corpus.files import PathLike, Paths, as_paths, check_same_length, read_text, zip_lines
from btr.corpus.parallel import is_json_lines
from btr.errors import InputError
from btr.metrics import METRICS, significance
from btr.metrics.base import Array
from btr.metrics.gold import Gold, load_gold
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent
from btr.metrics.results import Breakdown, ChangedSentences, Comparison, Confidence, Evaluation, Oracle, Part

BREAKDOWNS = "group", "operation", "type"


def evaluate(
    hypotheses: Paths,
    *,
    metric: str = "m2",
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
    rank: int | None = None,
    oracle: bool = False,
    by: str | Sequence[str] = (),
    groups: PathLike | None = None,
    mode: str | None = None,
    beta: float | None = None,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> Evaluation:
    """Score hypotheses: a text file, the candidates of one rank, or the oracle's choice among candidates."""
    if oracle and rank is not None:
        raise InputError("--oracle and --rank exclude each other: the oracle chooses the rank.")
    if as_paths(reference) and not oracle and "reference" not in METRICS[metric].needs:
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
        texts, shares = choose_by_oracle(candidates, against, str(paths[0]))
    else:
        texts, shares = at_rank(candidates, rank or 1, paths[0]), None
    against.metric.check_lengths(texts, str(paths[0]))
    counts = against.metric.counts(texts)
    confidence = None
    if resamples:
        intervals = significance.confidence(against.metric, counts, resamples)
        percent = {name: (100 * low, 100 * high) for name, (low, high) in intervals.items()}
        confidence = Confidence(significance.LEVEL, resamples, percent)
    return Evaluation(
        **vars(against.metric.score_counts(counts)),
        rank=rank,
        oracle=shares,
        confidence=confidence,
        by=break_down(against, counts, texts, kinds),
    )


def compare(
    first: PathLike,
    second: PathLike,
    *,
    metric: str = "m2",
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
    rank: int | None = None,
    mode: str | None = None,
    beta: float | None = None,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> Comparison:
    """Compare two outputs: their scores, the differences (second minus first) and their significance."""
    against = load_gold(
        metric, gold=gold, source=source, reference=reference, mode=mode, beta=beta, processes=processes
    )
    texts_a, texts_b = (at_rank(read_hypotheses([path], against), rank or 1, path) for path in (first, second))
    for path, texts in ((first, texts_a), (second, texts_b)):
        against.metric.check_lengths(texts, str(path))
    a, b = against.metric.counts(texts_a), against.metric.counts(texts_b)
    sentences_a, sentences_b = against.metric.sentence_scores(a), against.metric.sentence_scores(b)
    return Comparison(
        files=(str(first), str(second)),
        a=against.metric.score_counts(a),
        b=against.metric.score_counts(b),
        sentences=ChangedSentences(
            changed=sum(x.split() != y.split() for x, y in zip(texts_a, texts_b)),
            better=int(np.count_nonzero(sentences_b > sentences_a)),
            worse=int(np.count_nonzero(sentences_b < sentences_a)),
            all=len(a),
        ),
        significance=significance.run_tests(against.metric, a, b, resamples),
        rank=rank,
    )


def read_hypotheses(paths: Sequence[PathLike], against: Gold) -> list[tuple[str, ...]]:
    """Read the candidates of each sentence: from a candidates file, or from plain text with one file per rank."""
    if len(paths) > 1:
        refuse_candidates(paths)
        rows = list(zip_lines(paths))
    else:
        lines = read_text(paths[0])
        if not is_json_lines(paths[0], lines[0]):
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


def refuse_candidates(paths: Sequence[PathLike]) -> None:
    """Refuse candidates files among several: only text files are the ranks of one system."""
    for path in paths:
        if is_json_lines(path, ""):
            raise InputError(f"{path}: has all ranks of a system; name it alone, or name one text file per rank.")


def at_rank(rows: Sequence[Sequence[str]], rank: int, path: PathLike) -> list[str]:
    """Return each sentence's candidate of a rank, counted from 1."""
    for number, row in enumerate(rows, 1):
        if rank > len(row):
            raise InputError(f"{path}, line {number}: has no candidate of rank {rank}, but {len(row)} in all.")
    return [row[rank - 1] for row in rows]


def choose_by_oracle(candidates: Sequence[Sequence[str]], against: Gold, name: str) -> tuple[list[str], Oracle]:
    """Return the oracle's choice for each sentence, and how many candidates are correct and unique."""
    if not against.references:
        raise InputError(f"--oracle with {against.metric.name} needs at least one --reference.")
    check_same_length([(against.reference_name, len(against.references)), (name, len(candidates))])
    shares = gold_percent(candidates, against.references), unique_percent(candidates)
    return list(map(oracle_choice, candidates, against.references)), Oracle(against.reference_name, *shares)


def check_breakdown(by: Sequence[str], against: Gold) -> None:
    """Refuse a breakdown that the metric or the gold can't give, before anything is counted."""
    for kind in by:
        if kind == "group":
            if against.groups is None:
                raise InputError(
                    "--by group needs groups: several --gold files, or --groups with one label per sentence."
                )
        elif kind in BREAKDOWNS:
            against.metric.check_breakdown(kind)
        else:
            raise InputError(f"--by must be one of {', '.join(BREAKDOWNS)}, not {kind!r}.")


def break_down(against: Gold, counts: Array, hypotheses: Sequence[str], by: Sequence[str]) -> Breakdown:
    """Score parts of the corpus: by operation and type; by group, and within each group again by the others."""
    others = [kind for kind in by if kind != "group"]
    result = {kind: against.metric.parts(hypotheses, range(len(hypotheses)), kind) for kind in others}
    if "group" in by and against.groups:
        result["group"] = {}
        for label in sorted(set(against.groups)):
            rows = [number for number, group in enumerate(against.groups) if group == label]
            score = against.metric.score_counts(counts[rows])
            within = {kind: against.metric.parts(hypotheses, rows, kind) for kind in others}
            result["group"][label] = Part(score.scores, score.counts, len(rows), within)
    return result
