"""The decision: from scores and settings to the chosen text.

f(y|x) is a softmax over the candidates that compete (equation 9 of the paper). The candidate with the highest f is the
reranker's suggestion. It replaces the base candidate only if f rises by more than the threshold λ (equation 10).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from btr.corpus.candidates import PROPOSED, Candidates, is_runaway, tokens_of
from btr.corpus.scores import Scored, Scores
from btr.decisions.settings import Settings
from btr.records import Record

MAX_EXPONENT = 700.0  # exp(-x) underflows beyond this


class Verdict(StrEnum):
    """What becomes of the reranker's suggestion."""

    ACCEPT = "accept"
    REJECT = "reject"  # its probability is not enough above the base candidate's
    EQUAL = "equal"  # it is the base candidate


@dataclass(frozen=True, slots=True)
class Choice(Record):
    """The chosen text, the candidate's index (0 is the base candidate), and what became of the suggestion."""

    text: str
    index: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Decision(Choice):
    """A choice, and the numbers behind it."""

    suggestion: int  # index of the candidate that the reranker prefers
    probabilities: tuple[float, ...]  # f(y|x) of each candidate; 0 for one that does not compete
    margin: float  # probability of the suggestion minus that of the base candidate

    @property
    def probability(self) -> float:
        """Return f(y|x) of the chosen candidate."""
        return self.probabilities[self.index]


def is_usable(candidates: Candidates, index: int) -> bool:
    """Return whether a candidate is complete, and not far longer than the source."""
    runaway = is_runaway(candidates.source, candidates.texts[index])
    return not runaway and not candidates.is_flagged(index, "runaway", "unfinished")


def eligible(candidates: Candidates, settings: Settings) -> list[int]:
    """Return the indices of the candidates that `top`, `gap` and `drop_runaways` let through; the first always is one.

    Without log-probabilities there is no gap to measure, and all stay. `top` and `gap` are about what the base model
    wrote: a candidate that a reranker proposed stays.
    """
    log_probs = candidates.log_probs
    lowest = -math.inf
    if settings.gap is not None and log_probs is not None and log_probs[0] is not None:
        lowest = log_probs[0] - settings.gap
    top = len(candidates.texts) if settings.top is None else settings.top
    indices = [0]
    for index in range(1, len(candidates.texts)):
        value = log_probs[index] if log_probs is not None else None
        is_near = lowest == -math.inf or (value is not None and value >= lowest)
        is_let_through = (index < top and is_near) or candidates.is_flagged(index, PROPOSED)
        if is_let_through and (not settings.drop_runaways or is_usable(candidates, index)):
            indices.append(index)
    return indices


def competing(candidates: Candidates, settings: Settings) -> list[int]:
    """Return the indices of the candidates that f is spread over: eligible, not empty, and the first of duplicates."""
    first: dict[tuple[str, ...], int] = {}
    for index in eligible(candidates, settings):
        if tokens := tokens_of(candidates.texts[index]):
            first.setdefault(tokens, index)
    return list(first.values())


def decide(scored: Scored, kinds: Sequence[str], settings: Settings) -> Decision:
    """Choose among scored candidates; `kinds` are those of the rerankers that gave the scores.

    If a candidate that competes could not be scored, the base candidate stays.
    """
    candidates = scored.candidates
    indices = competing(candidates, settings)
    combined = combine(scored.scores, kinds, indices, settings)
    scores = [combined[index] for index in indices]
    # The base candidate alone needs no score: its probability is 1.
    values = [0.0] if indices == [0] else [score for score in scores if score is not None]
    probabilities = [0.0] * len(candidates.texts)
    suggestion, margin = 0, 0.0
    if values and len(values) == len(indices):
        shares = {tokens_of(candidates.texts[index]): share for index, share in zip(indices, softmax(values))}
        for index in eligible(candidates, settings):
            probabilities[index] = shares.get(tokens_of(candidates.texts[index]), 0.0)
        suggestion = indices[values.index(max(values))]  # the first of equals
        margin = probabilities[suggestion] - probabilities[0]
    choice = conclude(candidates, settings, suggestion, margin)
    return Decision(choice.text, choice.index, choice.verdict, suggestion, tuple(probabilities), margin)


def conclude(candidates: Candidates, settings: Settings, suggestion: int, margin: float) -> Choice:
    """Accept or reject a suggestion. If the base candidate stays and is itself a runaway, the source stands for it."""
    verdict = Verdict.EQUAL if not suggestion else Verdict.ACCEPT if settings.accepts(margin) else Verdict.REJECT
    index = suggestion if verdict is Verdict.ACCEPT else 0
    text = candidates.texts[index]
    if settings.drop_runaways and not is_usable(candidates, index):
        text = candidates.source
    return Choice(text, index, verdict)


def combine(every: Sequence[Scores], kinds: Sequence[str], indices: Sequence[int], settings: Settings) -> Scores:
    """Return one score per candidate: models of a kind are averaged, and kinds added by their weights."""
    if len(every) == 1 and settings.weight(kinds[0]) == 1:
        return every[0]
    totals: list[float | None] = [0.0] * len(every[0])
    for kind in dict.fromkeys(kinds):
        weight = settings.weight(kind)
        if weight:
            averaged = average([scores for scores, other in zip(every, kinds) if other == kind], settings, indices)
            for index, value in enumerate(averaged):
                total = totals[index]
                totals[index] = None if value is None or total is None else total + weight * value
    return tuple(totals)


def average(every: Sequence[Scores], settings: Settings, indices: Sequence[int]) -> Scores:
    """Average the scores of several models of one kind: as logarithms, as probabilities, or as f."""
    if len(every) == 1:
        return every[0]
    columns: list[list[float] | None] = []
    for column in zip(*every):
        values = [value for value in column if value is not None]
        columns.append(values if len(values) == len(column) else None)
    if settings.average == "log":
        return tuple(sum(values) / len(values) if values else None for values in columns)
    if settings.average == "f":  # each model's scores become log f: less the logarithm of the sum over its candidates
        complete = [values for index, values in enumerate(columns) if values and index in indices]
        totals = [log_sum(list(values)) for values in zip(*complete)]
        columns = [[v - total for v, total in zip(values, totals)] if values else None for values in columns]
    return tuple(log_sum(values) - math.log(len(values)) if values else None for values in columns)


def softmax(scores: Sequence[float]) -> list[float]:
    """Return shares that grow with the scores and add up to 1. Each is above 0: that would mean "does not compete"."""
    highest = max(scores)
    powers = [math.exp(max(score - highest, -MAX_EXPONENT)) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def log_sum(values: Sequence[float]) -> float:
    """Return the logarithm of the sum of exponentials."""
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
