"""Confidence intervals of scores and tests of their differences, by aggregating counts again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from btr.metrics.base import Array, Metric
from btr.metrics.results import Confidence, Difference, Interval, Significance

RESAMPLES = 1000
LEVEL = 0.95
SEED = 1
BLOCK = 1 << 22  # numbers drawn at once, to bound the memory


def _draws(size: int, resamples: int, below: int) -> Iterator[Array]:
    """Draw whole numbers from 0 to `below` - 1, a row of `size` for each resample, in blocks."""
    generator = np.random.default_rng(SEED)
    block = max(1, BLOCK // size)
    for start in range(0, resamples, block):
        yield generator.integers(0, below, (min(block, resamples - start), size))


def _interval(values: Array) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def confidence(metric: Metric, counts: Array, resamples: int = RESAMPLES) -> dict[str, Interval]:
    """Return the interval (0 to 1) in which each score lies with 95 % confidence, by resampling sentences."""
    size = len(counts)
    blocks = [metric.aggregate(counts, indices) for indices in _draws(size, resamples, size)]
    return {name: _interval(np.concatenate([block[name] for block in blocks])) for name in blocks[0]}


def confidence_percent(metric: Metric, counts: Array, resamples: int = RESAMPLES) -> Confidence:
    """Return the intervals of `confidence` as results have them, in percent."""
    intervals = confidence(metric, counts, resamples)
    return Confidence(LEVEL, resamples, {name: (100 * low, 100 * high) for name, (low, high) in intervals.items()})


def run_tests(metric: Metric, a: Array, b: Array, resamples: int = RESAMPLES) -> Significance:
    """Test the difference between two outputs in three ways."""
    return Significance(
        t_test=t_test(metric, a, b),
        bootstrap=bootstrap(metric, a, b, resamples),
        randomisation=randomisation(metric, a, b, resamples),
        resamples=resamples,
    )


def t_test(metric: Metric, a: Array, b: Array) -> Difference:
    """Run the paper's test: a paired t-test over the scores of single sentences."""
    from scipy import stats

    first, second = metric.sentence_scores(a), metric.sentence_scores(b)
    if np.array_equal(first, second) or len(first) < 2:  # the test is not defined for no variance or one sentence
        return Difference(1.0)
    return Difference(float(stats.ttest_rel(second, first).pvalue))


def bootstrap(metric: Metric, a: Array, b: Array, resamples: int = RESAMPLES) -> dict[str, Difference]:
    """Run a paired bootstrap: both outputs on the same resampled sentences.

    The p-value is two-sided: how often a resampled difference is as far from the mean of all as the observed difference
    is from 0 (Riezler and Maxwell 2005).
    """
    size = len(a)
    observed = _differences(metric, np.concatenate([a, b]), np.arange(size)[None], size)
    blocks = [_differences(metric, np.concatenate([a, b]), indices, size) for indices in _draws(size, resamples, size)]
    tests = {}
    for name, (difference,) in observed.items():
        values = np.concatenate([block[name] for block in blocks])
        as_large = int(np.count_nonzero(np.abs(values - values.mean()) >= abs(difference)))
        tests[name] = Difference((as_large + 1) / (resamples + 1), _interval(values))
    return tests


def _differences(metric: Metric, counts: Array, indices: Array, size: int) -> dict[str, Array]:
    """Return B - A for each row of indices, where the `size` rows of A's counts come first and B's after them."""
    first, second = metric.aggregate(counts, indices), metric.aggregate(counts, indices + size)
    return {name: second[name] - first[name] for name in first}


def randomisation(metric: Metric, a: Array, b: Array, resamples: int = RESAMPLES) -> dict[str, Difference]:
    """Run approximate randomisation: how often is the difference as large if outputs are swapped at random?"""
    size = len(a)
    counts, positions = np.concatenate([a, b]), np.arange(size)
    observed = _differences(metric, counts, positions[None], size)
    larger = dict.fromkeys(observed, 0)
    for coins in _draws(size, resamples, 2):
        first = metric.aggregate(counts, positions + size * coins)
        second = metric.aggregate(counts, positions + size * (1 - coins))
        for name, (difference,) in observed.items():
            larger[name] += int(np.count_nonzero(np.abs(second[name] - first[name]) >= abs(difference)))
    return {name: Difference((count + 1) / (resamples + 1)) for name, count in larger.items()}


def adjust(tests: Sequence[Significance]) -> list[Significance]:
    """Add to each p-value of several comparisons what Holm's method makes of it, given that there are several."""
    if len(tests) < 2:
        return list(tests)

    def adjusted(differences: Sequence[Difference]) -> list[Difference]:
        return [replace(test, p_holm=p) for test, p in zip(differences, holm([test.p for test in differences]))]

    def by_score(several: Sequence[Mapping[str, Difference]]) -> list[dict[str, Difference]]:
        columns = {name: adjusted([differences[name] for differences in several]) for name in several[0]}
        return [{name: column[k] for name, column in columns.items()} for k in range(len(several))]

    t_tests = adjusted([test.t_test for test in tests])
    bootstraps = by_score([test.bootstrap for test in tests])
    randomisations = by_score([test.randomisation for test in tests])
    rows = zip(t_tests, bootstraps, randomisations, tests)
    return [Significance(t, bootstrap, random, test.resamples) for t, bootstrap, random, test in rows]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the number of tests (Holm 1979): the chance of a single false alarm stays at the level."""
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = largest
    return adjusted
