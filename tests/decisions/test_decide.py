"""From scores and settings to a text, by hand."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates, is_runaway
from btr.corpus.scores import Scored
from btr.decisions import Decision, Settings, Verdict, competing
from btr.decisions import decide as decide_scored
from btr.decisions.decide import average, combine, softmax
from btr.decisions.settings import PAPER_SETTINGS, find_profile
from btr.errors import InputError

RUNAWAY = "w " * 13


def decide(scores, texts="abc", source="s", log_probs=None, flags=None, **options):
    candidates = Candidates(source, tuple(texts), log_probs, flags or {})
    return decide_scored(Scored(candidates, (tuple(scores),)), ("btr",), Settings(**options))


def test_by_hand():
    # exp: 1, 2, 1 → f = 1/4, 1/2, 1/4; margin 1/4
    scores = [0.0, math.log(2), 0.0]
    decision = decide(scores, threshold=0.2)
    assert decision.probabilities == pytest.approx((0.25, 0.5, 0.25))
    assert (decision.text, decision.index, decision.suggestion, decision.verdict) == ("b", 1, 1, Verdict.ACCEPT)
    assert decision.margin == pytest.approx(0.25)
    assert decision.probability == decision.probabilities[1]
    rejected = decide(scores, threshold=0.3)
    assert (rejected.text, rejected.index, rejected.suggestion, rejected.verdict) == ("a", 0, 1, Verdict.REJECT)
    assert rejected.probability == rejected.probabilities[0]


def test_as_json():
    assert decide([0.0, math.log(3)], "ab").to_dict() == {
        "text": "b",
        "index": 1,
        "suggestion": 1,
        "probabilities": pytest.approx([0.25, 0.75]),
        "margin": pytest.approx(0.5),
        "verdict": "accept",
    }


def test_more_than_or_at_least():
    """At a margin of exactly the threshold, the paper's rule rejects and its experiments' accepts."""
    margin = softmax([0.0, 1.0])[1] - softmax([0.0, 1.0])[0]
    assert decide([0.0, 1.0], "ab", threshold=margin).verdict == Verdict.REJECT
    assert decide([0.0, 1.0], "ab", threshold=margin, at_least=True).verdict == Verdict.ACCEPT


def test_the_first_of_equals_wins():
    assert decide([-1.0, -1.0, -1.0]) == Decision("a", 0, Verdict.EQUAL, 0, (1 / 3,) * 3, 0.0)
    assert decide([-2.0, -1.0, -1.0]).index == 1


def test_duplicates_and_empty_candidates_take_no_mass():
    decision = decide([-1.0, -1.0, -9.0, -1.0], ["x", "x", "", "y"])
    assert decision.probabilities == pytest.approx((0.5, 0.5, 0.0, 0.5))
    assert decision.verdict == Verdict.EQUAL


def test_candidates_that_differ_only_in_spaces_share_one_mass():
    """A model sees the same tokens. The first of them competes, and is the one to be chosen."""
    texts = ["he go", "he went", " he  went", "he\u00a0went", "he goes"]
    candidates = Candidates("he go", tuple(texts))
    assert competing(candidates, Settings()) == [0, 1, 4]
    decision = decide([0.0, math.log(2), math.log(2), math.log(2), 0.0], texts, threshold=0.2)
    assert decision.probabilities == pytest.approx((0.25, 0.5, 0.5, 0.5, 0.25))
    assert (decision.text, decision.index, decision.verdict) == ("he went", 1, Verdict.ACCEPT)
    assert decide([-1.0, -1.0], ["a b", "a  b "]) == Decision("a b", 0, Verdict.EQUAL, 0, (1.0, 1.0), 0.0)


def test_an_empty_base_is_replaced():
    decision = decide([-1.0, -2.0], ["", "y"])
    assert (decision.index, decision.margin, decision.verdict) == (1, 1.0, Verdict.ACCEPT)


def test_a_candidate_without_a_score_keeps_the_base():
    assert decide([-1.0, -0.5, None]).verdict == Verdict.EQUAL
    assert decide([-1.0, -0.5, None]).probabilities == (0.0, 0.0, 0.0)
    assert decide([-1.0, -0.5, None], top=2).verdict == Verdict.ACCEPT
    assert decide([None], ["a"]).index == 0
    assert decide([None], [""]).index == 0


def test_a_base_candidate_that_competes_alone_is_certain():
    assert decide([None, -1.0], ["a", "b"], top=1).probabilities == (1.0, 0.0)


def test_top_and_runaways():
    assert decide([-3.0, -2.0, -1.0]).index == 2
    assert decide([-3.0, -2.0, -1.0], top=2).index == 1
    assert is_runaway("s", RUNAWAY)
    assert not is_runaway("s", "w " * 12)
    assert decide([-3.0, -2.0, -1.0], ["a", "b", RUNAWAY]).index == 2
    assert decide([-3.0, -2.0, -1.0], ["a", "b", RUNAWAY], drop_runaways=True).index == 1
    assert decide([-1.0, -2.0], [RUNAWAY, "b"], drop_runaways=True).index == 0  # the base competes, whatever it is


def test_a_runaway_that_stays_as_the_base_is_replaced_by_the_source():
    decision = decide([-1.0, -2.0], [RUNAWAY, "b"], drop_runaways=True)
    assert (decision.text, decision.index) == ("s", 0)
    assert decide([-1.0, -2.0], [RUNAWAY, "b"]).text == RUNAWAY
    assert decide([-2.0, -1.0], [RUNAWAY, "b"], drop_runaways=True).text == "b"


def test_flags_of_the_base_model_count_as_runaways():
    for flag, index in (("unfinished", 1), ("runaway", 1), ("duplicate", 2)):
        decision = decide([-3.0, -2.0, -1.0], flags={flag: (2,)}, drop_runaways=True)
        assert decision.index == index
    assert decide([-3.0, -2.0, -1.0], flags={"unfinished": (2,)}).index == 2  # only if they are dropped


@pytest.mark.parametrize(
    ("gap", "log_probs", "expected"),
    [
        (None, (-1.0, -2.0, -1.5), [0, 1, 2]),
        (0.5, (-1.0, -2.0, -1.5), [0, 2]),  # exactly the gap still competes
        (0.4, (-1.0, -2.0, -1.5), [0]),
        (0.4, (-1.0, -0.5, None), [0, 1]),  # one that the base model could not read is out
        (0.4, None, [0, 1, 2]),  # nothing to measure
        (0.4, (None, -2.0, -9.0), [0, 1, 2]),
    ],
)
def test_the_gap(gap, log_probs, expected):
    candidates = Candidates("s", ("a", "b", "c"), log_probs)
    assert competing(candidates, Settings(gap=gap)) == expected
    decision = decide([-3.0, -2.0, -1.0], log_probs=log_probs, gap=gap)
    assert decision.index == expected[-1]
    assert [k for k, probability in enumerate(decision.probabilities) if probability] == expected


def test_number_and_gap_are_not_for_what_a_reranker_proposed():
    candidates = Candidates("s", ("a", "b", "c"), (-1.0, -2.0, None), {"proposed": (2,)})
    assert competing(candidates, Settings(top=1, gap=0.1)) == [0, 2]
    assert competing(replace(candidates, flags={}), Settings(top=1, gap=0.1)) == [0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.floats(-20, 0)), min_size=1, max_size=6),
    st.floats(0, 1),
)
def test_properties(rows, threshold):
    texts, scores = zip(*rows, strict=True)
    scores = [dict(zip(reversed(texts), reversed(scores)))[text] for text in texts]  # equal texts score alike
    decision = decide(scores, texts, threshold=threshold)
    unique = dict(zip(texts, decision.probabilities, strict=True))
    assert sum(unique.values()) == pytest.approx(1 if any(texts) else 0)
    assert (decision.verdict == Verdict.ACCEPT) == (decision.index != 0)
    assert decision.text == texts[decision.index]
    assert decision.margin >= 0
    if decision.verdict != Verdict.EQUAL:
        assert (decision.margin > threshold) == (decision.verdict == Verdict.ACCEPT)


def test_averages():
    scores = [(-1.0, -2.0, None), (-3.0, -2.0, -1.0)]
    assert average(scores, Settings(), [0, 1]) == (-2, -2, None)
    expected = math.log((math.exp(-1) + math.exp(-3)) / 2)
    by_probability = average(scores, Settings(average="probability"), [0, 1])
    assert by_probability == (pytest.approx(expected), pytest.approx(-2), None)
    high, low = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))
    by_f = Settings(average="f")
    both = average(scores, by_f, [0, 1])
    assert both[:2] == pytest.approx([math.log((high + low) / 2)] * 2)
    assert both[2] is None
    assert average([(-800.0, -900.0)] * 2, by_f, [0, 1])[1] == pytest.approx(-100)
    twice = average([(-1.0, -1.0, -2.0), (-3.0, -3.0, -2.0)], by_f, [0, 2])  # a duplicate does not compete
    assert [twice[0], twice[2]] == pytest.approx(both[:2])


def test_seeds_are_averaged_and_kinds_are_added():
    every = [(-1.0, -2.0), (-3.0, -4.0), (-10.0, -1.0)]
    assert combine(every, ["r2l", "r2l", "l2r"], [0, 1], Settings()) == (-12.0, -4.0)
    assert combine([(-1.0, None), (-3.0, -4.0)], ["r2l", "l2r"], [0, 1], Settings()) == (-4.0, None)


def test_weights_are_by_kind():
    """Seeds of a kind are averaged before its weight counts, and a weight reaches no other kind."""
    every = [(-1.0, -2.0), (-3.0, -4.0), (-10.0, -1.0)]
    kinds = ["contrast", "contrast", "base"]
    assert combine(every, kinds, [0, 1], Settings(weights={"contrast": 2.0})) == (2 * -2.0 - 10.0, 2 * -3.0 - 1.0)
    assert combine(every, kinds, [0, 1], Settings(weights={"base": 3.0})) == (-2.0 - 30.0, -3.0 - 3.0)
    assert combine(every[:1], kinds[:1], [0, 1], Settings(weights={"contrast": 2.0})) == (-2.0, -4.0)


def test_a_weight_of_0_leaves_a_kind_out():
    """Also where that kind could not score a candidate."""
    settings = Settings(weights={"contrast": 0.0})
    assert combine([(None, -2.0), (-10.0, -1.0)], ["contrast", "base"], [0, 1], settings) == (-10.0, -1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": -0.1}, "the threshold is a difference of probabilities, from 0 to 1, not -0.1"),
        ({"threshold": 1.1}, "from 0 to 1, not 1.1"),
        ({"threshold": float("nan")}, "threshold can't be nan"),
        ({"threshold": "0.4"}, "threshold can't be '0.4'"),
        ({"top": 0}, "must be 1 or more"),
        ({"top": True}, "top can't be True"),
        ({"candidates": 0}, "must be 1 or more"),
        ({"gap": -1.0}, "the gap is a difference of log-probabilities, 0 or more, not -1"),
        ({"average": "mean"}, "average must be one of log, probability, f, not 'mean'"),
        ({"weights": {"btr": float("inf")}}, "the weights must be finite"),
        ({"weights": [1.0]}, "weights can't be"),
        ({"rerankers": "btr"}, "rerankers can't be 'btr'"),
        ({"drop_runaways": 1}, "drop_runaways can't be 1"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        Settings(**options)


def test_settings_come_back_from_json():
    settings = Settings(7, 3, 0.4, True, 0.5, True, "f", {"btr": 2.0}, ("btr", "base"))
    assert Settings.from_dict(settings.to_dict(), "here") == settings
    assert Settings.from_dict({}, "here") == Settings()
    for values, message in (
        ([], "here: expected settings as a JSON object"),
        ({"lambda": 1}, "'lambda' is no setting"),
    ):
        with pytest.raises(InputError, match=message):
            Settings.from_dict(values, "here")


def test_a_signature_has_all_that_a_decision_depends_on():
    assert Settings().signature() == "threshold:0"
    settings = Settings(7, 3, 0.4, True, 0.5, True, "f", {"btr": 2.0, "base": 1.0}, ("btr", "base"))
    assert settings.signature() == ("threshold:0.4|top:3|at-least|gap:0.5|drop-runaways|average:f|weights:base=1,btr=2")


def test_the_papers_profile_is_for_every_btr_whatever_its_folder_has(tmp_path):
    """A profile of the same name for other rerankers does not take its place; one for BTRs does."""
    of_contrast = {"threshold": 0.2, "rerankers": ["contrast"]}
    (tmp_path / "profiles.json").write_text(json.dumps({"paper": of_contrast}))
    assert find_profile("paper", [tmp_path], ["btr"])[0] is PAPER_SETTINGS
    assert find_profile("paper", [tmp_path], ["contrast"])[0] == Settings(threshold=0.2, rerankers=("contrast",))
    (tmp_path / "profiles.json").write_text(json.dumps({"paper": {"threshold": 0.3, "rerankers": ["btr"]}}))
    assert find_profile("paper", [tmp_path], ["btr"]) == (Settings(threshold=0.3, rerankers=("btr",)), None)
    found, note = find_profile("paper", [tmp_path], ["mbr"])
    assert found is None
    assert "(it was tuned for btr)" in note
