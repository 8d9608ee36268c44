"""The decision edit by edit: the text, and which candidate it is."""

import pytest
from judged import make_table

from btr.decisions import Settings
from btr.decisions.judge_edits import decide_edits
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
