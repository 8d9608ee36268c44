import numpy as np
import pytest
from scipy import stats

from btr.corpus.m2 import Edit, Sentence
from btr.metrics import significance
from btr.metrics.gleu import GLEU
from btr.metrics.m2 import M2

GOLD = Sentence("a b c", {0: (Edit(1, 2, "X", ("x",)),)})
RIGHT, WRONG, SAME = "a x c", "a y c", "a b c"


@pytest.fixture
def metric():
    return M2([GOLD] * 40)


def test_better_is_significant(metric):
    a, b = metric.counts([WRONG] * 20 + [SAME] * 20), metric.counts([RIGHT] * 20 + [SAME] * 20)
    assert significance.t_test(metric, a, b).p < 0.001
    bootstrap, randomisation = significance.bootstrap(metric, a, b)["f0.5"], significance.randomisation(metric, a, b)
    assert bootstrap.p < 0.01
    assert bootstrap.interval[0] > 0
    assert randomisation["f0.5"].p == pytest.approx(1 / 1001)


def test_equal_is_not(metric):
    counts = metric.counts([RIGHT] * 10 + [WRONG] * 30)
    assert significance.t_test(metric, counts, counts).p == 1
    assert significance.bootstrap(metric, counts, counts)["f0.5"].p == 1
    assert significance.randomisation(metric, counts, counts)["f0.5"].p == 1


def test_chance_is_not(metric):
    """Each is better on one half: whatever test, the difference is chance."""
    a, b = metric.counts([RIGHT, WRONG] * 20), metric.counts([WRONG, RIGHT] * 20)
    for test in (significance.bootstrap, significance.randomisation):
        assert test(metric, a, b)["f0.5"].p > 0.9


def test_t_test_is_scipys(metric):
    a, b = metric.counts([RIGHT] * 10 + [WRONG] * 30), metric.counts([RIGHT] * 15 + [WRONG] * 25)
    expected = stats.ttest_rel([1] * 15 + [0] * 25, [1] * 10 + [0] * 30).pvalue
    assert significance.t_test(metric, a, b).p == pytest.approx(expected)


def test_interval_holds_the_score_and_is_repeatable(metric):
    counts = metric.counts([RIGHT] * 20 + [WRONG] * 20)
    first, second = (significance.confidence(metric, counts) for _ in range(2))
    assert first == second
    low, high = first["precision"]
    assert low < 0.5 < high
    # A mean of 40 coin flips has a standard deviation of 0.079.
    assert high - low == pytest.approx(2 * 1.96 * 0.079, rel=0.15)


def test_blocks_do_not_matter(metric, monkeypatch):
    counts = metric.counts([RIGHT] * 20 + [WRONG] * 20)
    whole = significance.confidence(metric, counts, 50)
    monkeypatch.setattr(significance, "BLOCK", 1)
    assert significance.confidence(metric, counts, 50) == whole


def test_gleu_too():
    metric = GLEU(["a b c d e"] * 6, [["a x c d e", "a y c d e"]] * 6)
    a, b = metric.counts(["a b c d e"] * 6), metric.counts(["a x c d e"] * 5 + ["a b c d e"])
    assert significance.bootstrap(metric, a, b, 100)["gleu"].p < 0.1
    assert significance.t_test(metric, a, b).p < 0.01
    assert np.isfinite(significance.randomisation(metric, a, b, 100)["gleu"].p)
