"""The decision edit by edit: the text, and which candidate it is."""

import math
from dataclasses import replace

import pytest
from judged import make_table

from btr.corpus.candidates import Candidates
from btr.decisions import Settings, Verdict
from btr.decisions.edit_table import extract_tables
from btr.decisions.judge_edits import decide_edits, with_decided_text
from btr.decisions.rerank_edits import most_used_features
from btr.decisions.settings import DEFAULT_CUTOFF

GO = make_table("He go .", ("He goes .", "He go ."), (-1.0, -2.0), (1, 2, "goes", "R:VERB:SVA", [0]))


@pytest.mark.parametrize(("confidence", "text"), [(DEFAULT_CUTOFF, "He goes ."), (DEFAULT_CUTOFF - 0.01, "He go .")])
def test_the_cut_off_where_none_is_set(confidence, text):
    assert decide_edits(GO, [confidence], Settings()).text == text


def test_of_judges_that_were_used_equally_often_the_first_is_named():
    """The order of a set of texts differs from process to process."""
    every = [(name,) for name in "hgfedcba"]
    assert most_used_features(every) == ("h",)
    assert most_used_features([*every, ("a",)]) == ("a",)
    assert most_used_features([]) == ()


def test_the_chosen_candidate_and_its_margin():
    """The base model's odds of its two candidates are e to 1."""
    kept, made = (decide_edits(GO, [confidence], Settings(cutoff=0.5)) for confidence in (0.4, 0.6))
    assert (made.text, made.index, made.verdict, made.margin) == ("He goes .", 0, Verdict.EQUAL, 0.0)
    assert (kept.text, kept.index, kept.suggestion, kept.verdict) == ("He go .", 1, 1, Verdict.ACCEPT)
    assert kept.margin == kept.probabilities[1] - kept.probabilities[0] == pytest.approx(-math.tanh(0.5))


def test_a_text_that_no_candidate_has_comes_last():
    table = make_table(
        "He go home", ("He goes home .", "He goes home"), (-1.0, -9.0),
        (1, 2, "goes", "R:VERB:SVA", [0, 1]), (3, 3, ".", "M:PUNCT", [0]),
    )  # fmt: skip
    new = decide_edits(table, [0.1, 0.9], Settings(cutoff=0.5))
    assert (new.text, new.index, new.verdict, new.probability) == ("He go home .", 2, Verdict.ACCEPT, 0.0)
    assert new.margin == -new.probabilities[0]
    row = with_decided_text(new)
    assert (row.texts[2], row.log_probs[2], row.is_flagged(2, "proposed")) == ("He go home .", None, True)
    improbable = decide_edits(replace(table, usable=(0,)), [0.9, 0.1], Settings(cutoff=0.5))
    assert improbable.index == 1  # its edits were not counted, but it has the text


@pytest.mark.parametrize(
    "row",
    [
        Candidates("", ("",)),
        Candidates("  ", ("  ",)),
        Candidates("He go .", ("He goes", "He went"), (-1.0, -2.0), {"unfinished": (0, 1)}),
        Candidates("He go .", ("He " * 40,)),
        Candidates("a " * 300, ("a " * 300,), None, {"too_long": (0,)}),
    ],
)
def test_a_source_without_usable_candidates_stays_and_gets_no_candidate(row):
    (table,) = extract_tables([row])
    decision = decide_edits(table, [], Settings())
    assert (decision.text, decision.index, decision.verdict) == (row.source, 0, Verdict.EQUAL)
    assert with_decided_text(decision) == row


def test_an_unchanged_source_keeps_its_spaces():
    row = Candidates(" He  go\thome .", ("He goes home .", "He go home ."), (-1.0, -2.0))
    (table,) = extract_tables([row])
    assert decide_edits(table, [0.0], Settings(cutoff=0.5)).text == row.source
    assert decide_edits(table, [1.0], Settings(cutoff=0.5)).text == "He goes home ."
