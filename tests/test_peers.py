"""Peers are measured fairly: text is written without the corpora's spaces, and comes back to their tokens."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from peers import check, corrections
from plain_text import Finding, apply, as_text, correct, glue, make_tokeniser, matters

TOKENISE = make_tokeniser()


class Fake:
    """Replaces words by others, wherever they stand."""

    name, version, style = "fake", "fake 1", frozenset({"Style"})

    def __init__(self, *replacements):
        self.replacements = replacements  # (old, new, kind)

    def find(self, text):
        return [
            Finding(text.index(old), text.index(old) + len(old), new, kind)
            for old, new, kind in self.replacements
            if old in text
        ]


def run(checker, source, without=frozenset(), hyphens=True):
    found, _ = check(checker, [source], hyphens)
    return corrections([source], found, hyphens, without)[0]


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("I do n't know , it 's late .", "I don't know, it's late."),
        ('He said " no way " ( twice ) !', 'He said "no way" (twice)!'),
        ("the students ' own ' odd ' idea", "the students' own 'odd' idea"),
        ("I ' m well - known", "I'm well-known"),
        ("I 'm gon na pay $ 5 , or 3 %", "I'm gonna pay $5, or 3%"),
        (". starts with a full stop", ". starts with a full stop"),
        ("- an item -", "- an item -"),
        ("", ""),
    ],
)
def test_text_is_written_without_the_spaces(tokens, text):
    assert as_text(glue(tokens.split())) == text


def test_hyphens_stand_alone_where_the_corpus_keeps_words_whole():
    assert as_text(glue(["well-known", "-", "or", "not"], hyphens=False)) == "well-known - or not"


SPECIAL = st.sampled_from(["'", '"', "-", "/", ".", ",", "(", "n't", "'s", "s", "gon", "na"])


@given(st.lists(SPECIAL | st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)))
def test_tokens_come_back_exactly_when_nothing_is_found(tokens):
    tokens = " ".join(tokens).split()
    for hyphens in (True, False):
        words = glue(tokens, hyphens)
        assert [token for word in words for token in word] == tokens
        assert correct(words, [], TOKENISE) == tokens


def test_an_unchanged_line_comes_back_with_its_spaces():
    assert run(Fake(), "it  is late . ") == "it  is late . "


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([Finding(0, 1, "A")], "Abc de"),
        ([Finding(0, 0, "So ")], "So abc de"),
        ([Finding(6, 6, " f")], "abc de f"),
        ([Finding(0, 3, "x"), Finding(2, 5, "y")], "x de"),
        ([Finding(4, 6, "y"), Finding(0, 3, "x")], "x y"),
        ([Finding(0, 3, "x"), Finding(3, 4, "-")], "x-de"),
        ([Finding(3, 3, "x"), Finding(3, 3, "y")], "abcx de"),
        ([Finding(0, 6, "")], ""),
    ],
)
def test_findings_are_applied_from_left_to_right(findings, expected):
    assert apply("abc de", findings) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("don't", "doesn't", "She does n't go , it 's late ."),
        ("go", "go home", "She do n't go home , it 's late ."),
        ("She", "Well, she", "Well , she do n't go , it 's late ."),
        ("late.", "late. Really.", "She do n't go , it 's late . Really ."),
        (",", ";", "She do n't go ; it 's late ."),
        (" it's", "", "She do n't go , late ."),
    ],
)
def test_only_changed_words_are_tokenised_anew(old, new, expected):
    assert run(Fake((old, new, "")), "She do n't go , it 's late .") == expected


def test_words_that_stay_keep_the_corpus_tokens():
    assert run(Fake(("liek", "like", "")), "You wont/can not liek i'l .") == "You wont/can not like i'l ."


def test_jfleg_keeps_hyphenated_words_and_cannot_whole():
    checker = Fake(("can not", "cannot", ""), ("well paid", "well-paid", ""))
    assert run(checker, "I can not find well paid work .", hyphens=False) == "I cannot find well-paid work ."
    assert run(checker, "I can not find well paid work .") == "I can not find well - paid work ."


@pytest.mark.parametrize(("old", "new"), [('"', "“"), ("...", "…"), ("'s", "’s"), (", ", ","), ("...", " ...")])
def test_spaces_and_the_shape_of_quotes_do_not_matter(old, new):
    source = 'Well , it \'s " odd " ...'
    assert run(Fake((old, new, "")), source) == source


def test_spaces_between_words_matter():
    words = glue(["alot", "of"])
    assert matters(words, Finding(0, 4, "a lot"), TOKENISE)


def test_kinds_are_left_out():
    checker = Fake(("go", "proceed", "Style"), ("a", "an", "Grammar"))
    assert run(checker, "go to a end") == "proceed to an end"
    assert run(checker, "go to a end", without=checker.style) == "go to an end"
