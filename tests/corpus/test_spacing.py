"""Tokenised sentences as a writer spaces them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.spacing import detokenize


@pytest.mark.parametrize(("tokenised", "text"), [
    ("He does n't know , I 'm sure .", "He doesn't know, I'm sure."),
    ("We ca n’t say that it ’s Ann 's .", "We can’t say that it’s Ann's."),
    ('He said " no way " twice .', 'He said "no way" twice.'),
    ("He said `` no way '' twice .", 'He said "no way" twice.'),
    ("the ' old ' way", "the 'old' way"),
    ("the students ' books", "the students' books"),
    ("' The students ' books ' , he wrote", "'The students' books', he wrote"),
    ("the ' dogs ' way", "the 'dogs' way"),
    ("a well - known ( and cheap ) one : 5 % of $ 20 ...", "a well-known (and cheap) one: 5% of $20..."),
    ("either / or ; is it “ good ” ?", "either/or; is it “good”?"),
    ("He doesn't know, I'm sure.", "He doesn't know, I'm sure."),
    ("  two   spaces ", "two spaces"),
    ("' '", "''"),
    ("", ""),
])  # fmt: skip
def test_sentences(tokenised, text):
    assert detokenize(tokenised) == text


@given(st.text("ab,.'\" -n't", max_size=20))
def test_only_spaces_change(text):
    marks = text.replace("``", '"')
    assert detokenize(text).replace(" ", "").replace("''", '"') == "".join(marks.split()).replace("''", '"')
