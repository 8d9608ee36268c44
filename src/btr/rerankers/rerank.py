"""`btr rerank`: scores and a threshold in, the chosen candidates out."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from btr.corpus.files import PathLike, write_lines
from btr.corpus.scores import Scored, read_scores
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array, Metric
from btr.metrics.gold import load_gold
from btr.rerankers.base import Decision, Reranked, Rule
from btr.rerankers.ensemble import AVERAGES, combine, name_combination
from btr.rerankers.table import check_rows
from btr.resume import check_output


def rerank(
    scores: Sequence[PathLike],
    output: PathLike | None = None,
    *,
    threshold: float = 0.0,
    top: int | None = None,
    average: str = "log",
    weights: Sequence[float] = (),
    at_least: bool = False,
    drop_runaways: bool = False,
    metric: str = "m2",
    gold: Sequence[PathLike] = (),
    source: PathLike | None = None,
    reference: Sequence[PathLike] = (),
) -> dict[str, Any]:
    """Choose a candidate for each source; with gold, also score the base model and the reranker within each decision.

    Several files of scores are one ensemble: those of one kind of reranker are averaged, different kinds are added; or
    with weights, one for each file, all are added by their weights.
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"the threshold must be between 0 and 1, not {threshold:g}.")
    if average not in AVERAGES:
        raise InputError(f"average must be one of {', '.join(AVERAGES)}, not {average!r}.")
    if weights and (len(weights) != len(scores) or not all(math.isfinite(weight) for weight in weights)):
        raise InputError(f"there are {len(weights)} weights and {len(scores)} scores files; give each file one.")
    if output is not None:
        check_output(output, scores)
    rule = Rule(threshold, top, at_least, drop_runaways)
    signature, rows = read_ensemble(scores, average, rule, weights)
    against = None
    if gold or reference or source is not None or metric != "m2":
        against = load_gold(metric, gold=gold, source=source, reference=reference).metric
    decided = [(row, rule.decide(row.source, row.candidates, row.means)) for row in rows]
    texts = [row.candidates[reranked.choice] for row, reranked in decided]
    if not decided:
        raise InputError(f"{scores[0]}: has a header and no scores; was it cut short?")
    counts = Counter(reranked.decision for _, reranked in decided)
    result: dict[str, Any] = {
        "sentences": len(decided),
        "shares": {decision.value: 100 * counts[decision] / max(1, len(decided)) for decision in Decision},
        "unscored": sum(is_unscored(row, rule) for row, _ in decided),
        "threshold": threshold,
        "top": top,
    }
    if against is not None:
        result["evaluation"] = evaluate_decisions(against, decided, texts)
    if output is not None:
        write_lines(output, texts)
    result["decisions"] = [{"text": text, **asdict(reranked)} for text, (_, reranked) in zip(texts, decided)]
    options = {"top": top, "at_least": at_least, "drop_runaways": drop_runaways}
    told = "".join(f"|{name}:{value}" for name, value in options.items() if value)
    result["signature"] = f"{signature}|threshold:{threshold:g}{told}"
    return result


def read_ensemble(
    paths: Sequence[PathLike], average: str, rule: Rule, weights: Sequence[float] = ()
) -> tuple[str, Iterator[Scored]]:
    """The scores of several files together, row by row."""
    headers, streams = zip(*map(read_scores, paths))
    signature = "+".join(header.signature for header in headers) + name_combination(len(paths), average, weights)

    def rows() -> Iterator[Scored]:
        for number, together in enumerate(zip_longest(*streams), 2):
            for path, row in zip(paths, together):
                if row is None:
                    raise InputError(f"{path}: ends before line {number:,}, which its companion files still have.")
            yield combine(together, [header.reranker for header in headers], average, rule, weights)

    return signature, rows()


def is_unscored(row: Scored, rule: Rule) -> bool:
    """Whether a candidate that takes part could not be scored, so that the base model's choice stays."""
    return any(row.means[number] is None for number in rule.takes_part(row.source, row.candidates))


def evaluate_decisions(
    metric: Metric, decided: Sequence[tuple[Scored, Reranked]], texts: Sequence[str]
) -> dict[str, Any]:
    """The paper's Table 6: the base model's choice and the reranker's suggestion, where it was accepted, and so on."""
    check_rows(metric, [[row for row, _ in decided]])
    base = metric.counts([row.candidates[0] for row, _ in decided])
    suggested = metric.counts([row.candidates[reranked.suggestion] for row, reranked in decided])
    result: dict[str, Any] = {
        "base": metric.score_counts(base).scores,
        "reranked": metric.score(texts).scores,
        "by_decision": {},
        "signature": metric.signature(),
    }
    for decision in Decision:
        rows = [number for number, (_, reranked) in enumerate(decided) if reranked.decision == decision]
        if rows:
            result["by_decision"][decision.value] = compare_rows(metric, base[rows], suggested[rows])
    return result


def compare_rows(metric: Metric, base: Array, suggested: Array) -> dict[str, Any]:
    """Two scores over the same sentences, with the 95 % interval and the p-values of their difference."""
    first, second = metric.score_counts(base), metric.score_counts(suggested)
    name = list(first.scores)[-1]
    test = significance.bootstrap(metric, base, suggested)[name]
    return {
        "sentences": len(base),
        "base": first.scores[name],
        "suggested": second.scores[name],
        "interval": [100 * value for value in test.interval or ()],
        "p_t_test": significance.t_test(metric, base, suggested).p,
        "p_bootstrap": test.p,
    }
