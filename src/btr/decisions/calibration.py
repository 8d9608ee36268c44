"""How far confidences can be believed: reliability, expected calibration error, and how well they rank."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from btr.metrics.base import Array
from btr.records import Record

BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin(Record):
    """The edits whose confidence lies in one tenth of the scale: their mean confidence, and the share that is right."""

    low: float
    high: float
    edits: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Calibration(Record):
    """The reliability diagram of confidences, the expected calibration error, and the area under the ROC curve."""

    bins: tuple[ReliabilityBin, ...]
    error: float  # the mean distance of confidence and share of right edits, over the edits
    auc: float | None  # None if all edits are right, or none


def calibrate(confidences: Sequence[float] | Array, labels: Sequence[bool] | Array) -> Calibration:
    """Compare the confidences of edits with whether they are right."""
    values, right = np.asarray(confidences, dtype=float), np.asarray(labels, dtype=bool)
    numbers = np.minimum((values * BINS).astype(int), BINS - 1)
    bins = []
    for number in range(BINS):
        inside = numbers == number
        if inside.any():
            mean, share = float(values[inside].mean()), float(right[inside].mean())
            bins.append(ReliabilityBin(number / BINS, (number + 1) / BINS, int(inside.sum()), mean, share))
    error = sum(each.edits * abs(each.confidence - each.right) for each in bins) / max(1, len(values))
    return Calibration(tuple(bins), error, area_under_curve(values, right))


def area_under_curve(values: Array, right: Array) -> float | None:
    """Return how often a right edit has a higher confidence than a wrong one; a tie counts half."""
    from scipy.stats import rankdata

    count = int(right.sum())
    if not 0 < count < len(right):
        return None
    ranks = rankdata(values)[right].sum()
    return float((ranks - count * (count + 1) / 2) / (count * (len(right) - count)))
