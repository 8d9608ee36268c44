"""What settings give: candidates are measured once; any number of them, threshold and mixture is then arithmetic.

A setting says how many candidates take part (the paper's a_pred), by how much f must rise (λ) and, where several
rerankers are mixed, what weight each one's scores have.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from btr.corpus.scores import Scored
from btr.errors import InputError
from btr.metrics.base import Array, Metric, Score
from btr.rerankers.base import Rule

THRESHOLDS = tuple(k / 10 for k in range(11))  # the paper's; at 1 the base model's choice always stays
FINE = tuple(k / 20 for k in range(21))
WEIGHTS = 0.0, *(2.0**k for k in range(-5, 5))  # that a reranker may have in a mixture
ROUNDS = 4  # through all weights, at most


class Setting(NamedTuple):
    """How scores become choices."""

    top: int | None
    threshold: float
    weights: tuple[float, ...] = (1.0,)


class Crossed(NamedTuple):
    """A score none of whose sentences had a part in choosing the setting that it was reranked with."""

    score: Score
    settings: list[Setting]  # for each fold
    choices: Array  # candidate's number, for each sentence


class Table:
    """The candidates of a set: their counts, and what one or several rerankers say of them.

    Of a rule, all but its threshold and number of candidates holds for every setting.
    """

    def __init__(self, metric: Metric, rerankers: Sequence[Sequence[Scored]], rule: Rule | None = None) -> None:
        self.metric = metric
        self.rule = rule or Rule()
        self.rows = rerankers[0]
        check_rows(metric, rerankers)
        width = max(len(row.candidates) for row in self.rows)
        shape = len(self.rows), width
        pairs = [(n, text) for n, row in enumerate(self.rows) for text in row.candidates]
        self.counts = metric.stack(metric.count_pairs(pairs))
        starts = np.cumsum([0, *(len(row.candidates) for row in self.rows)])[:-1]
        self.places = starts[:, None] + np.zeros(shape, dtype=np.int64)  # of each candidate's counts
        self.taking = np.zeros(shape, dtype=bool)
        self.scores = np.zeros((len(rerankers), *shape))
        for n, row in enumerate(self.rows):
            size = len(row.candidates)
            self.places[n, :size] += np.arange(size)
            self.taking[n, self.rule.takes_part(row.source, row.candidates)] = True
            self.scores[:, n, :size] = [[np.nan if m is None else m for m in own[n].means] for own in rerankers]

    def shares(self, top: int | None, weights: Sequence[float] = (1.0,)) -> Array:
        """f(y|x) of each candidate; none (NaN) where one that takes part could not be scored."""
        used = [k for k, weight in enumerate(weights) if weight]
        mixed = np.tensordot(np.array(weights)[used], self.scores[used, :, :top], 1)
        mixed = np.where(self.taking[:, :top], mixed, -np.inf)
        highest = mixed.max(1, keepdims=True)
        powers = np.exp(mixed - np.where(np.isneginf(highest), 0, highest))
        shares: Array = powers / np.maximum(powers.sum(1, keepdims=True), np.finfo(float).tiny)
        return shares

    def choose(self, settings: Iterable[Setting]) -> Array:
        """The number of the candidate that each setting chooses for each sentence."""
        chosen, known = [], dict[tuple[int | None, tuple[float, ...]], tuple[Array, Array]]()
        for top, threshold, weights in settings:
            if (top, weights) not in known:
                shares = self.shares(top, weights)
                best = shares.argmax(1)
                known[top, weights] = best, shares[np.arange(len(best)), best] - shares[:, 0]
            best, margins = known[top, weights]
            accepted = margins >= threshold if self.rule.at_least else margins > threshold  # NaN is neither
            chosen.append(np.where(accepted, best, 0))
        return np.array(chosen)

    def values(self, choices: Array, sentences: Array | None = None) -> Array:
        """The metric of each row of choices, in percent, over all sentences or some."""
        numbers = np.arange(len(self.rows)) if sentences is None else sentences
        folded = self.metric.aggregate(self.counts, self.places[numbers, choices[:, numbers]])
        values: Array = 100 * list(folded.values())[-1]
        return values

    def score(self, choices: Array) -> Score:
        """The score of one choice a sentence."""
        return self.metric.score_counts(self.counts_of(choices))

    def counts_of(self, choices: Array) -> Array:
        """The counts of one choice a sentence."""
        counts: Array = self.counts[self.places[np.arange(len(self.rows)), choices]]
        return counts

    def texts(self, choices: Array) -> list[str]:
        """The candidates chosen."""
        return [self.text(n, choice) for n, choice in enumerate(choices)]

    def text(self, number: int, choice: int) -> str:
        """A candidate of a sentence."""
        return self.rows[number].candidates[choice]


def check_rows(metric: Metric, rerankers: Sequence[Sequence[Scored]]) -> None:
    """All must be about the same candidates, and their sources those of the gold."""
    rows = rerankers[0]
    if len(rows) != metric.size:
        raise InputError(f"the gold has {metric.size:,} sentences, but the scores have {len(rows):,}.")
    for number, row in enumerate(rows):
        if row.source.split() != metric.source(number).split():
            raise InputError(
                f"sentence {number + 1} of the scores has another source than the gold; are both in order?"
            )
    for own in rerankers[1:]:
        if [(row.source, row.candidates) for row in own] != [(row.source, row.candidates) for row in rows]:
            raise InputError("the rerankers did not score the same candidates.")


def tune(
    table: Table,
    tops: Sequence[int | None] = (None,),
    thresholds: Sequence[float] = FINE,
    sentences: Array | None = None,
) -> Setting:
    """The best setting on all sentences or some; of equals the most careful.

    Weights are found by coordinate ascent: from the first reranker alone, each one's weight in turn takes the best
    of its possible values, until none changes.
    """

    def best(candidates: Sequence[tuple[float, ...]]) -> tuple[float, float, Setting]:
        settings = [Setting(*setting) for setting in product(tops, thresholds, candidates)]
        values = table.values(table.choose(settings), sentences)
        return max(
            ((value, setting.threshold, setting) for value, setting in zip(values, settings)), key=lambda v: v[:2]
        )

    weights = (1.0, *[0.0] * (len(table.scores) - 1))
    found = best([weights])
    for _ in range(ROUNDS if len(weights) > 1 else 0):
        before = found[2]
        for k in range(len(weights)):
            own = found[2].weights
            tried = [(*own[:k], weight, *own[k + 1 :]) for weight in WEIGHTS]
            found = max(found, best([weights for weights in tried if any(weights)]), key=lambda v: v[:2])
        if found[2] == before:
            break
    return found[2]


def cross_validate(
    table: Table, tops: Sequence[int | None] = (None,), thresholds: Sequence[float] = FINE, folds: int = 10
) -> Crossed:
    """Rerank each fold with what is best on the others; every tenth sentence is of one fold."""
    if not 2 <= folds <= len(table.rows):
        raise InputError(f"there are {len(table.rows):,} sentences; they can't be dealt into {folds} folds.")
    numbers = np.arange(len(table.rows))
    choices = np.zeros(len(numbers), dtype=np.int64)
    settings = []
    for fold in range(folds):
        settings.append(tune(table, tops, thresholds, numbers[numbers % folds != fold]))
        choices[fold::folds] = table.choose(settings[-1:])[0, fold::folds]
    return Crossed(table.score(choices), settings, choices)
