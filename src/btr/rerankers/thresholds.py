"""What each threshold gives, from scores: a cheap question, since every candidate is measured once."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from btr.corpus.scores import Scored
from btr.metrics.base import Array, Metric, Score
from btr.rerankers.base import Rule

THRESHOLDS = tuple(k / 10 for k in range(10))  # the paper's grid for validation
FINE = tuple(k / 20 for k in range(21))  # at 1 the base model's choice always stays


class Crossed(NamedTuple):
    """A score none of whose sentences had a part in choosing the settings it was reranked with."""

    score: Score
    settings: list[tuple[int, float]]  # candidates and threshold, for each fold


def choose_all(rows: Sequence[Scored], threshold: float, top: int | None = None) -> list[str]:
    """The candidate that a threshold chooses, for each source."""
    rule = Rule(threshold, top)
    return [row.candidates[rule.decide(row.source, row.candidates, row.means).choice] for row in rows]


def try_thresholds(
    metric: Metric, rows: Sequence[Scored], thresholds: Sequence[float] = THRESHOLDS, top: int | None = None
) -> dict[float, Score]:
    """The score of the corpus at each threshold."""
    return {threshold: metric.score(choose_all(rows, threshold, top)) for threshold in thresholds}


def cross_validate(
    metric: Metric,
    rows: Sequence[Scored],
    tops: Sequence[int] = (5,),
    thresholds: Sequence[float] = FINE,
    folds: int = 10,
) -> Crossed:
    """Rerank each fold with what is best on the others; every tenth sentence is a fold."""
    settings = list(product(tops, thresholds))
    counts: list[Array] = [metric.counts(choose_all(rows, threshold, top)) for top, threshold in settings]
    numbers = np.arange(len(rows))
    result = counts[0].copy()
    chosen = []
    for fold in range(folds):
        others = numbers[numbers % folds != fold][None]
        values = [float(list(metric.fold(own, others).values())[-1][0]) for own in counts]
        best = max(range(len(settings)), key=lambda k: (values[k], settings[k][1]))  # of equals, the more careful
        chosen.append(settings[best])
        result[fold::folds] = counts[best][fold::folds]
    return Crossed(metric.score_counts(result), chosen)
