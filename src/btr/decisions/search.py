"""The best settings on a set, and the score to hope for elsewhere: cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from btr.decisions.grid import DecisionGrid
from btr.decisions.settings import Settings
from btr.errors import InputError
from btr.metrics.base import Array
from btr.metrics.results import Score
from btr.wording import count_of

THRESHOLDS = tuple(k / 10 for k in range(11))  # the paper's; at 1 the base candidate always stays
WEIGHTS = 0.0, *(2.0**k for k in range(-5, 5))  # that a kind of reranker may have in a mixture
ROUNDS = 4  # of coordinate ascent through all weights, at most


@dataclass(frozen=True)
class SearchSpace:
    """The settings that are tried: numbers of candidates, thresholds, and whether weights are searched too.

    All other settings stay as `start` has them.
    """

    tops: Sequence[int | None] = (None,)
    thresholds: Sequence[float] = THRESHOLDS
    start: Settings = field(default_factory=Settings)
    mix: bool = False

    def settings(self, weights: Sequence[dict[str, float]] | None = None) -> list[Settings]:
        """Return every combination of number and threshold, with each of these weights."""
        choices = weights if weights is not None else [dict(self.start.weights)]
        return [
            replace(self.start, top=top, threshold=threshold, weights=chosen)
            for top, threshold, chosen in product(self.tops, self.thresholds, choices)
        ]


@dataclass(frozen=True)
class CrossValidated:
    """A score none of whose sentences had a part in choosing the settings that decided it."""

    score: Score
    settings: tuple[Settings, ...]  # one per fold
    choices: Array  # index of the chosen candidate, one per sentence


def best_settings(grid: DecisionGrid, space: SearchSpace, sentences: Array | None = None) -> Settings:
    """Return the best settings on all sentences or some; of equals the one with the highest threshold.

    Weights are searched by coordinate ascent: from the first kind of reranker alone, the weight of each kind in turn
    takes the best of its possible values, until none changes.
    """

    def best(every: Sequence[Settings]) -> tuple[float, Settings]:
        values = grid.values(grid.choose(every), sentences)
        return max(zip(map(float, values), every), key=rank)

    if not space.mix:
        return best(space.settings())[1]
    kinds = grid.distinct_kinds
    leader = best(space.settings([{kind: float(kind == kinds[0]) for kind in kinds}]))
    for _ in range(ROUNDS):
        before = leader[1]
        for kind in kinds:
            trials = [{**leader[1].weights, kind: weight} for weight in WEIGHTS]
            leader = max(leader, best(space.settings([trial for trial in trials if any(trial.values())])), key=rank)
        if leader[1] == before:
            break
    return leader[1]


def rank(pair: tuple[float, Settings]) -> tuple[float, float]:
    """Order pairs of a score and settings: the higher score first, then the more careful threshold."""
    return pair[0], pair[1].threshold


def cross_validate(grid: DecisionGrid, space: SearchSpace, folds: int = 10) -> CrossValidated:
    """Decide each fold with the settings that are best on the others; of ten folds, each has every tenth sentence."""
    if not 2 <= folds <= len(grid.rows):
        raise InputError(f"{count_of(len(grid.rows), 'sentence')} can't be dealt into {folds} folds.")
    numbers = np.arange(len(grid.rows))
    choices = np.zeros(len(numbers), dtype=np.int64)
    settings = []
    for fold in range(folds):
        settings.append(best_settings(grid, space, numbers[numbers % folds != fold]))
        choices[fold::folds] = grid.choose(settings[-1:])[0, fold::folds]
    return CrossValidated(grid.score(choices), tuple(settings), choices)
