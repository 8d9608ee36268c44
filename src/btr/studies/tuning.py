"""Tune a reranker on one set, and measure the grid of scores around the best settings.

Candidates are one list, of which the first few compete; or one list for each number of candidates, each written with a
beam of as many, as in the paper. A list is known by its number of candidates; None stands for the only list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from btr.decisions.grid import DecisionGrid
from btr.decisions.search import THRESHOLDS, SearchSpace, best_settings, rank
from btr.decisions.settings import Settings
from btr.decisions.tune import reachable, tune_settings
from btr.errors import InputError
from btr.metrics.base import Array
from btr.metrics.significance import bootstrap
from btr.studies.records import CrossValidatedScore, TunedGrid, TunedSettings
from btr.wording import count_of

Lists = Mapping[int | None, DecisionGrid]


@dataclass(frozen=True)
class TuningPlan:
    """What is tuned: `tops` and `thresholds` are tried, or None where `start` gives the value; `mix` tunes weights."""

    start: Settings
    tops: Sequence[int] | None
    thresholds: Sequence[float] | None
    mix: bool
    folds: int

    def space(self, size: int | None, grid: DecisionGrid) -> SearchSpace:
        """Return the settings to try on a list; no number of candidates is larger than the largest of the set."""
        if self.tops is None:
            tops: Sequence[int | None] = (self.start.top,)
        else:
            tops = (size,) if size else reachable(grid, self.tops)
        thresholds = (self.start.threshold,) if self.thresholds is None else self.thresholds
        return SearchSpace(tops, thresholds, self.start, self.mix)

    def rows(self, size: int | None, grid: DecisionGrid) -> list[int]:
        """Return the numbers of candidates that are rows of a grid."""
        if self.tops is None:
            return list(reachable(grid, [self.start.top or grid.width]))
        return [size] if size else list(reachable(grid, self.tops))


def tune_reranker(lists: Lists, plan: TuningPlan) -> TunedSettings:
    """Find the best settings on a set, and their cross-validated score."""
    (size, grid), *others = lists.items()
    if others:
        return tune_lists(lists, plan)
    tuning = tune_settings(grid, plan.space(size, grid), plan.folds)
    crossed = CrossValidatedScore(plan.folds, tuning.cross_validated.value, tuning.gain, tuning.interval, tuning.p)
    return TunedSettings(replace(tuning.best, candidates=size or tuning.best.candidates), crossed)


def tune_lists(lists: Lists, plan: TuningPlan) -> TunedSettings:
    """Tune over several lists of candidates; the gain is over the first candidates of the list that is best on all."""
    first = next(iter(lists.values()))
    metric, numbers = first.metric, np.arange(len(first.rows))
    if not 2 <= plan.folds <= len(numbers):
        raise InputError(f"{count_of(len(numbers), 'sentence')} can't be dealt into {plan.folds} folds.")
    texts = [""] * len(numbers)
    for fold in range(plan.folds):
        size, settings = best_of_lists(lists, plan, numbers[numbers % plan.folds != fold])
        texts[fold :: plan.folds] = lists[size].texts(lists[size].choose([settings])[0])[fold :: plan.folds]
    size, best = best_of_lists(lists, plan)
    best = replace(best, candidates=size or best.candidates, rerankers=first.distinct_kinds)
    base = lists[size].counts_of(np.zeros(len(numbers), dtype=np.int64))
    counts = metric.counts(texts)
    score, test = metric.score_counts(counts).value, bootstrap(metric, base, counts)[metric.main_score]
    low, high = test.interval or (0.0, 0.0)
    gain = score - metric.score_counts(base).value
    return TunedSettings(best, CrossValidatedScore(plan.folds, score, gain, (100 * low, 100 * high), test.p))


def best_of_lists(lists: Lists, plan: TuningPlan, sentences: Array | None = None) -> tuple[int | None, Settings]:
    """Return the list whose best settings are best, on all sentences or some, and the settings."""
    best = {size: best_settings(grid, plan.space(size, grid), sentences) for size, grid in lists.items()}
    values = {size: float(lists[size].values(lists[size].choose([best[size]]), sentences)[0]) for size in lists}
    size = max(lists, key=lambda size: rank((values[size], best[size])))
    return size, best[size]


def tune_grid(lists: Lists, plan: TuningPlan) -> TunedGrid:
    """Find the best settings, and measure each number of candidates with each of the paper's thresholds."""
    tuned = tune_reranker(lists, plan)
    thresholds = THRESHOLDS if plan.thresholds is None else plan.thresholds
    tops, sizes, values, changed = list[int](), list[int | None](), list[list[float]](), list[list[bool]]()
    for size, grid in lists.items():
        for top in plan.rows(size, grid):
            choices = grid.choose([replace(plan.start, top=top, threshold=threshold) for threshold in thresholds])
            tops.append(top)
            sizes.append(size)
            values.append(grid.values(choices).tolist())
            changed.append(np.any(grid.accepted(choices), axis=1).tolist())
    return TunedGrid(tuned.settings, tuned.crossed, tops, sizes, list(thresholds), values, changed)
