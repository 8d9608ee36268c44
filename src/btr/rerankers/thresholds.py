"""What each threshold gives, from scores: a cheap question, since every candidate is measured once."""

from collections.abc import Sequence

from btr.corpus.scores import Scored
from btr.metrics.base import Metric, Score
from btr.rerankers.base import Rule

THRESHOLDS = tuple(k / 10 for k in range(10))  # the paper's grid for validation


def try_thresholds(
    metric: Metric, rows: Sequence[Scored], thresholds: Sequence[float] = THRESHOLDS, top: int | None = None
) -> dict[float, Score]:
    """The score of the corpus at each threshold."""
    scores = {}
    for threshold in thresholds:
        rule = Rule(threshold, top)
        chosen = [row.candidates[rule.decide(row.source, row.candidates, row.means).choice] for row in rows]
        scores[threshold] = metric.score(chosen)
    return scores
