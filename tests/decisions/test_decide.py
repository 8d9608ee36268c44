import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.corpus.candidates import is_runaway
from btr.rerankers.base import Decision, Reranked, Rule, softmax


def decide(means, candidates="abc", source="s", **rule):
    return Rule(**rule).decide(source, candidates, means)


def test_by_hand():
    # exp: 1, 2, 1 → f = 1/4, 1/2, 1/4; margin 1/4
    means = [0.0, math.log(2), 0.0]
    reranked = decide(means, threshold=0.2)
    assert reranked.f == pytest.approx((0.25, 0.5, 0.25))
    assert (reranked.choice, reranked.suggestion, reranked.decision) == (1, 1, Decision.ACCEPT)
    assert reranked.margin == pytest.approx(0.25)
    rejected = decide(means, threshold=0.3)
    assert (rejected.choice, rejected.suggestion, rejected.decision) == (0, 1, Decision.REJECT)


def test_more_than_or_at_least():
    """At a margin of exactly the threshold, the paper's rule rejects and its experiments' accepts."""
    margin = softmax([0.0, 1.0])[1] - softmax([0.0, 1.0])[0]
    assert decide([0.0, 1.0], "ab", threshold=margin).decision == Decision.REJECT
    assert decide([0.0, 1.0], "ab", threshold=margin, at_least=True).decision == Decision.ACCEPT


def test_the_first_of_equals_wins():
    assert decide([-1.0, -1.0, -1.0]) == Reranked(0, 0, (1 / 3,) * 3, 0.0, Decision.EQUAL)
    assert decide([-2.0, -1.0, -1.0]).choice == 1


def test_duplicates_and_empty_candidates_take_no_mass():
    reranked = decide([-1.0, -1.0, -9.0, -1.0], ["x", "x", "", "y"])
    assert reranked.f == pytest.approx((0.5, 0.5, 0.0, 0.5))
    assert reranked.decision == Decision.EQUAL


def test_an_empty_base_is_left_behind():
    reranked = decide([-1.0, -2.0], ["", "y"])
    assert (reranked.choice, reranked.margin, reranked.decision) == (1, 1.0, Decision.ACCEPT)


def test_what_could_not_be_scored_keeps_the_base():
    assert decide([-1.0, -0.5, None]).decision == Decision.EQUAL
    assert decide([-1.0, -0.5, None], top=2).decision == Decision.ACCEPT
    assert decide([None], ["a"]).choice == 0
    assert decide([], []).choice == 0


def test_top_and_runaways():
    assert decide([-3.0, -2.0, -1.0]).choice == 2
    assert decide([-3.0, -2.0, -1.0], top=2).choice == 1
    runaway = "w " * 13
    assert is_runaway("s", runaway)
    assert not is_runaway("s", "w " * 12)
    assert decide([-3.0, -2.0, -1.0], ["a", "b", runaway]).choice == 2
    assert decide([-3.0, -2.0, -1.0], ["a", "b", runaway], drop_runaways=True).choice == 1
    assert decide([-1.0, -2.0], [runaway, "b"], drop_runaways=True).choice == 0  # the base stays, whatever it is


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.floats(-20, 0)), min_size=1, max_size=6),
    st.floats(0, 1),
)
def test_properties(rows, threshold):
    texts, means = zip(*rows, strict=True)
    means = [dict(zip(reversed(texts), reversed(means)))[text] for text in texts]  # equal texts score alike
    reranked = decide(means, texts, threshold=threshold)
    unique = dict(zip(texts, reranked.f, strict=True))
    assert sum(unique.values()) == pytest.approx(1 if any(texts) else 0)
    assert (reranked.decision == Decision.ACCEPT) == (reranked.choice != 0)
    assert reranked.margin >= 0
    if reranked.decision != Decision.EQUAL:
        assert (reranked.margin > threshold) == (reranked.decision == Decision.ACCEPT)
