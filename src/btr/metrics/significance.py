"""How sure a score is, and whether two differ: all from counts that are there already."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from btr.metrics.base import Array, Metric

RESAMPLES = 1000
LEVEL = 0.95
SEED = 1
BLOCK = 1 << 22  # numbers drawn at once, to bound the memory


class Difference(NamedTuple):
    """B - A by one test: the p-value, and for the bootstrap an interval of the difference (0 to 1)."""

    p: float
    interval: tuple[float, float] | None = None


def _draws(size: int, resamples: int, below: int) -> Iterator[Array]:
    """Random whole numbers, a row of `size` for each resample, in blocks."""
    generator = np.random.default_rng(SEED)
    block = max(1, BLOCK // size)
    for start in range(0, resamples, block):
        yield generator.integers(0, below, (min(block, resamples - start), size))


def _interval(values: Array) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def confidence(metric: Metric, counts: Array, resamples: int = RESAMPLES) -> dict[str, tuple[float, float]]:
    """The interval in which each score lies with 95 % confidence, by resampling sentences (0 to 1)."""
    size = len(counts)
    folds = [metric.aggregate(counts, indices) for indices in _draws(size, resamples, size)]
    return {name: _interval(np.concatenate([fold[name] for fold in folds])) for name in folds[0]}


def t_test(metric: Metric, a: Array, b: Array) -> Difference:
    """The paper's test: a paired t-test over the sentences' own scores."""
    from scipy import stats

    first, second = metric.sentence_scores(a), metric.sentence_scores(b)
    if np.array_equal(first, second):
        return Difference(1.0)
    if len(first) < 2:
        return Difference(1.0)  # one sentence shows nothing
    return Difference(float(stats.ttest_rel(second, first).pvalue))


def bootstrap(metric: Metric, a: Array, b: Array, resamples: int = RESAMPLES) -> dict[str, Difference]:
    """Paired bootstrap: both systems on the same resampled sentences.

    The p-value is two-sided: how often the difference strays from its mean by as much as it is (Riezler and Maxwell).
    """
    size = len(a)
    observed = _differences(metric, np.concatenate([a, b]), np.arange(size)[None], size)
    blocks = [_differences(metric, np.concatenate([a, b]), indices, size) for indices in _draws(size, resamples, size)]
    tests = {}
    for name, (difference,) in observed.items():
        values = np.concatenate([block[name] for block in blocks])
        strays = np.count_nonzero(np.abs(values - values.mean()) >= abs(difference))
        tests[name] = Difference((strays + 1) / (resamples + 1), _interval(values))
    return tests


def _differences(metric: Metric, counts: Array, indices: Array, size: int) -> dict[str, Array]:
    """B - A, where A's counts come first and B's after them."""
    first, second = metric.aggregate(counts, indices), metric.aggregate(counts, indices + size)
    return {name: second[name] - first[name] for name in first}


def randomisation(metric: Metric, a: Array, b: Array, resamples: int = RESAMPLES) -> dict[str, Difference]:
    """Approximate randomisation: how often swapping the two outputs at random makes a difference as large."""
    size = len(a)
    counts, places = np.concatenate([a, b]), np.arange(size)
    observed = _differences(metric, counts, places[None], size)
    larger = dict.fromkeys(observed, 0)
    for coins in _draws(size, resamples, 2):
        first = metric.aggregate(counts, places + size * coins)
        second = metric.aggregate(counts, places + size * (1 - coins))
        for name, (difference,) in observed.items():
            larger[name] += int(np.count_nonzero(np.abs(second[name] - first[name]) >= abs(difference)))
    return {name: Difference((count + 1) / (resamples + 1)) for name, count in larger.items()}
