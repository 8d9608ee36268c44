"""Tune a reranker on one set, and measure the grid of scores around the best settings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from btr.decisions.grid import DecisionGrid
from btr.decisions.search import THRESHOLDS, SearchSpace
from btr.decisions.settings import Settings
from btr.decisions.tune import reachable, tune_settings
from btr.studies.records import CrossValidatedScore, TunedGrid, TunedSettings


@dataclass(frozen=True)
class TuningPlan:
    """What is tuned: `tops` and `thresholds` are tried, or None where `start` gives the value; `mix` tunes weights."""

    start: Settings
    tops: Sequence[int] | None
    thresholds: Sequence[float] | None
    mix: bool
    folds: int

    def space(self, grid: DecisionGrid) -> SearchSpace:
        """Return the settings to try; no number of candidates is larger than the largest of the set."""
        tops = (self.start.top,) if self.tops is None else reachable(grid, self.tops)
        thresholds = (self.start.threshold,) if self.thresholds is None else self.thresholds
        return SearchSpace(tops, thresholds, self.start, self.mix)


def tune_reranker(grid: DecisionGrid, plan: TuningPlan) -> TunedSettings:
    """Find the best settings on a set, and their cross-validated score."""
    tuning = tune_settings(grid, plan.space(grid), plan.folds)
    crossed = CrossValidatedScore(plan.folds, tuning.cross_validated.value, tuning.gain, tuning.interval, tuning.p)
    return TunedSettings(tuning.best, crossed)


def tune_grid(grid: DecisionGrid, plan: TuningPlan) -> TunedGrid:
    """Find the best settings, and measure each number of candidates with each of the paper's thresholds."""
    tuned = tune_reranker(grid, plan)
    tops = reachable(grid, [plan.start.top or grid.width] if plan.tops is None else plan.tops)
    thresholds = THRESHOLDS if plan.thresholds is None else plan.thresholds
    cells = [replace(plan.start, top=top, threshold=threshold) for top in tops for threshold in thresholds]
    choices = grid.choose(cells)
    shape = len(tops), len(thresholds)
    return TunedGrid(
        tuned.settings,
        tuned.crossed,
        list(tops),
        list(thresholds),
        grid.values(choices).reshape(shape).tolist(),
        np.any(grid.accepted(choices), axis=1).reshape(shape).tolist(),
    )
