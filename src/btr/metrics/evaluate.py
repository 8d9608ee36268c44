"""The verb `evaluate`: files in, scores out."""

from collections.abc import Sequence

from btr.corpus.files import PathLike, Paths, as_paths, check_same_length
from btr.errors import InputError
from btr.metrics import METRICS, significance
from btr.metrics.base import Array
from btr.metrics.gold import Gold, default_metric, load_gold
from btr.metrics.hypotheses import at_rank, read_hypotheses
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent
from btr.metrics.results import Breakdown, Evaluation, Oracle, Part

BREAKDOWNS = "group", "operation", "type"


def evaluate(
    hypotheses: Paths,
    *,
    metric: str | None = None,
    test_set: str | None = None,
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
    """Score hypotheses: a text file, the candidates of one rank, or the oracle's choice among candidates.

    The gold is that of a named test set (`list_sets` has them), or the files that are given. The metric is the set's
    unless it is named, and M2 without a set.
    """
    metric = metric or default_metric(test_set)
    if oracle and rank is not None:
        raise InputError("--oracle and --rank exclude each other: the oracle chooses the rank.")
    if as_paths(reference) and not oracle and "reference" not in METRICS[metric].needs:
        raise InputError(f"--reference is for gleu and for --oracle; {metric} takes its gold from --gold.")
    against = load_gold(
        metric,
        test_set=test_set,
        gold=gold,
        source=source,
        reference=reference,
        groups=groups,
        mode=mode,
        beta=beta,
        processes=processes,
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
    confidence = significance.confidence_percent(against.metric, counts, resamples) if resamples else None
    return Evaluation(
        **vars(against.metric.score_counts(counts)),
        rank=rank,
        oracle=shares,
        confidence=confidence,
        by=break_down(against, counts, texts, kinds),
    )


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
