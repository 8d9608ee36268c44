"""Masks and spans, worked out by hand and in the long run."""

import numpy as np
import pytest

from btr.training.masking import corrupt_spans, draw_positions, hide_spans, mask, split

MASK, END = 99, 1
SENTINELS = [90, 89, 88, 87]


def generator(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("length", "count"), [(1, 1), (3, 1), (10, 2), (20, 3), (100, 15)])
def test_a_share_of_the_tokens_at_least_one(length, count):
    positions = draw_positions(length, 0.15, generator())
    assert len(positions) == count
    assert positions == sorted(set(positions))
    assert all(0 <= position < length for position in positions)


def test_all_tokens_are_drawn_alike():
    """The last one (the end) as often as the first."""
    counts = np.zeros(10)
    for seed in range(4000):
        counts[draw_positions(10, 0.15, generator(seed))] += 1
    assert counts / 4000 == pytest.approx(0.2, abs=0.03)


def test_focus_draws_near_the_differences():
    near = [3, 4]
    always = [draw_positions(20, 0.15, generator(seed), near, 1.0) for seed in range(50)]
    assert all({3, 4} <= set(positions) and len(positions) == 3 for positions in always)
    never = [draw_positions(20, 0.15, generator(seed), near, 0.0) for seed in range(50)]
    assert never == [draw_positions(20, 0.15, generator(seed)) for seed in range(50)]


def test_eight_in_ten_masked_one_replaced_one_kept():
    tokens = [5] * 30_000
    hidden = np.array(mask(tokens, range(len(tokens)), generator(), MASK, [6, 7]))
    assert (hidden == MASK).mean() == pytest.approx(0.8, abs=0.01)
    assert (hidden == 5).mean() == pytest.approx(0.1, abs=0.01)
    assert np.isin(hidden, [6, 7]).mean() == pytest.approx(0.1, abs=0.01)
    assert (hidden == 6).mean() == pytest.approx(0.05, abs=0.01)


def test_what_is_not_masked_stays():
    hidden = mask([5, 6, 7, 8, END], [1, 4], generator(), MASK, [50])
    assert [hidden[0], hidden[2], hidden[3]] == [5, 7, 8]


def test_spans_are_taken_out_and_named():
    """Every token is in the source or in the target, in order, with the same sentinels on both sides."""
    for style in ("independent", "mean-3"):
        for seed in range(50):
            tokens = list(range(10, 40))
            source, target = corrupt_spans(tokens, 0.15, generator(seed), SENTINELS, END, style)
            assert source[-1] == target[-1] == END
            spans, name = {}, None
            for token in target[:-1]:
                if token in SENTINELS:
                    name = token
                    spans[name] = []
                else:
                    spans[name].append(token)
            back = [t for token in source[:-1] for t in (spans.get(token, []) if token in SENTINELS else [token])]
            assert back == tokens
            used = [token for token in source if token in SENTINELS]
            closing = style == "mean-3" and len(used) < len(SENTINELS)
            assert [t for t in target if t in SENTINELS] == SENTINELS[: len(used) + closing]


def test_spans_by_hand():
    class Fixed:
        def random(self, length):
            return np.array([0.9, 0.1, 0.1, 0.9, 0.1])

    source, target = corrupt_spans([11, 12, 13, 14, 15], 0.15, Fixed(), SENTINELS, END, "independent")
    assert source == [11, 90, 14, 89, END]
    assert target == [90, 12, 13, 89, 15, END]


def test_t5s_spans_are_three_long():
    hidden = [hide_spans(100, 0.15, generator(seed)) for seed in range(200)]
    assert {sum(row) for row in hidden} == {15}
    spans = [sum(a and not b for a, b in zip(row, [False, *row])) for row in hidden]
    assert np.mean(spans) == pytest.approx(5, abs=0.2)
    assert not any(row[0] for row in hidden)


def test_a_number_in_parts():
    for seed in range(30):
        parts = split(10, 4, generator(seed))
        assert sum(parts) == 10
        assert min(parts) >= 1
    assert split(2, 3, generator()) == [1, 1, 0]
