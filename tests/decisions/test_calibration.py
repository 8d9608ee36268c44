"""Calibration and ranking of confidences, counted by hand."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.decisions.calibration import calibrate


def test_expected_calibration_error_by_hand():
    """.11 and .19 are one bin, mean .15, half of it right; .95 and 1 are one, mean .975, all right; .5 is alone."""
    result = calibrate([0.11, 0.95, 0.19, 0.5, 1.0], [True, True, False, False, True])
    assert [(each.low, each.high, each.edits) for each in result.bins] == [(0.1, 0.2, 2), (0.5, 0.6, 1), (0.9, 1.0, 2)]
    assert [each.confidence for each in result.bins] == pytest.approx([0.15, 0.5, 0.975])
    assert [each.right for each in result.bins] == [0.5, 0.0, 1.0]
    assert result.error == pytest.approx((2 * 0.35 + 1 * 0.5 + 2 * 0.025) / 5)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), st.booleans()), max_size=12))
def test_auc_is_the_share_of_pairs_in_the_right_order(rows):
    right = [value for value, is_right in rows if is_right]
    wrong = [value for value, is_right in rows if not is_right]
    pairs = [(a > b) + 0.5 * (a == b) for a, b in itertools.product(right, wrong)]
    result = calibrate([value for value, _ in rows], [is_right for _, is_right in rows])
    assert result.auc == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_honest_confidences_have_no_error():
    luck = random.Random(0)
    values = [luck.random() for _ in range(20_000)]
    assert calibrate(values, [luck.random() < value for value in values]).error < 0.02


def test_no_edits():
    assert calibrate([], []).to_dict() == {"bins": [], "error": 0.0}
