"""Several rerankers as one: models of the same kind are averaged, different kinds are added."""

import math
from collections.abc import Sequence

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.errors import InputError
from btr.rerankers.base import Reranker, Rule

AVERAGES = "log", "probability", "f"  # the space in which models of one kind are averaged


class Ensemble(Reranker):
    """The paper's ensembles: four seeds of one kind, averaged; and R2L, added to the base model's L2R.

    With weights, one for each reranker, it is a log-linear mixture: the weighted sum of all scores.
    """

    def __init__(self, rerankers: Sequence[Reranker], average: str = "log", weights: Sequence[float] = ()) -> None:
        self.rerankers = rerankers
        self.average, self.weights = average, weights
        self.needs_log_probs = any(reranker.needs_log_probs for reranker in rerankers)
        self.kind = "+".join(dict.fromkeys(reranker.kind for reranker in rerankers))
        self.signature = "+".join(reranker.signature for reranker in rerankers)
        self.signature += name_combination(len(rerankers), average, weights)

    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        kinds = [reranker.kind for reranker in self.rerankers]
        every = [reranker.score_many(rows) for reranker in self.rerankers]
        return [combine(together, kinds, self.average, weights=self.weights) for together in zip(*every)]


def name_combination(count: int, average: str, weights: Sequence[float]) -> str:
    """What a signature says of how several rerankers became one."""
    if weights:
        return f"|weights:{','.join(f'{weight:g}' for weight in weights)}"
    return f"|average:{average}" if count > 1 else ""


def combine(
    rows: Sequence[Scored],
    kinds: Sequence[str],
    average: str = "log",
    rule: Rule | None = None,
    weights: Sequence[float] = (),
) -> Scored:
    """One row of scores from those of several rerankers for the same candidates; with weights, their weighted sum."""
    first = rows[0]
    if any((row.source, row.candidates) != (first.source, first.candidates) for row in rows):
        why = "; vote adds some of its own, so use it by itself" if "vote" in kinds else ""
        raise InputError(f"the rerankers did not score the same candidates of {first.source[:40]!r}{why}.")
    if weights:
        return Scored(first.source, first.candidates, weigh([row.means for row in rows], weights), first.lengths)
    if len(rows) == 1:
        return first
    taking = (rule or Rule()).takes_part(first.source, first.candidates)
    means: list[float | None] = [0.0] * len(first.candidates)
    for kind in dict.fromkeys(kinds):
        own = [row.means for row, other in zip(rows, kinds) if other == kind]
        for number, value in enumerate(average_means(own, average, taking)):
            known = means[number]
            means[number] = None if value is None or known is None else known + value
    return Scored(first.source, first.candidates, tuple(means), first.lengths)


def weigh(means: Sequence[Sequence[float | None]], weights: Sequence[float]) -> tuple[float | None, ...]:
    """The weighted sum of several rerankers' scores of each candidate."""
    used = [(weight, own) for weight, own in zip(weights, means, strict=True) if weight]
    sums: list[float | None] = [0.0] * len(means[0])
    for weight, own in used:
        sums = [None if known is None or new is None else known + weight * new for known, new in zip(sums, own)]
    return tuple(sums)


def average_means(means: Sequence[Sequence[float | None]], space: str, taking: Sequence[int]) -> list[float | None]:
    """Average models' scores: the logarithms, the probabilities, or f over the candidates that take part."""
    columns: list[list[float] | None] = []
    for column in zip(*means):
        values = [value for value in column if value is not None]
        columns.append(values if len(values) == len(column) else None)
    if space == "log":
        return [sum(values) / len(values) if values else None for values in columns]
    if space == "f":  # less each model's own logarithm of the sum over the candidates
        known = [values for number, values in enumerate(columns) if values and number in taking]
        totals = [log_sum(list(values)) for values in zip(*known)]
        columns = [[v - total for v, total in zip(values, totals)] if values else None for values in columns]
    return [log_sum(values) - math.log(len(values)) if values else None for values in columns]


def log_sum(values: Sequence[float]) -> float:
    """The logarithm of the sum of exponentials."""
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
