from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from btr.corpus.m2 import Edit
from btr.corpus.spacing import is_attached
from btr.correction.changes import Change, applicable_edits, apply_changes, to_character_changes
from btr.correction.segments import MASK, Token, cut_segments
from btr.metrics.errant import extract_edits


def edit(start, end, words, kind="X"):
    return Edit(start, end, kind, (words,))


def changed(text, *edits):
    (segment,) = cut_segments(text, lambda word: word)
    return apply_changes(text, to_character_changes(text, segment.tokens, edits))


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("I  has a\tdog .", [edit(1, 2, "have")], "I  have a\tdog ."),
        ("He don't go", [edit(1, 2, "does")], "He doesn't go"),
        ("He don't go", [edit(1, 3, "does not")], "He does not go"),
        ("He do not go", [edit(1, 3, "does n't")], "He doesn't go"),
        ("He do not go", [edit(2, 3, "n't")], "He don't go"),
        ("He don't go", [edit(2, 3, "not")], "He do not go"),
        ("go to school", [edit(2, 2, "the")], "go to the school"),
        ("go to\nschool", [edit(2, 2, "the")], "go to\nthe school"),
        ("school is", [edit(0, 0, "The")], "The school is"),
        ("it is", [edit(2, 2, ".")], "it is."),
        ("it is", [edit(2, 2, "so")], "it is so"),
        ("However I go", [edit(1, 1, ",")], "However, I go"),
        ("well known man", [edit(1, 1, "-")], "well-known man"),
        ("he said yes", [edit(2, 2, "(")], "he said (yes"),
        ("in the the sea", [edit(1, 2, "")], "in the sea"),
        ("the sea", [edit(0, 1, "")], "sea"),
        ("sea the", [edit(1, 2, "")], "sea"),
        ("the sea of , but", [edit(2, 3, "")], "the sea, but"),
        ("I , go", [edit(1, 2, "")], "I go"),
        ("I, go", [edit(1, 2, "")], "I go"),
        ("one two\nthree", [edit(1, 2, "")], "one\nthree"),
        ("a **big dog**", [edit(1, 2, "")], "a **dog**"),
        ("old old dog", [edit(0, 1, "an"), edit(1, 2, "older")], "an older dog"),
        ("I knew\nnobody", [edit(1, 2, "know"), edit(2, 3, "anyone")], "I know\nanyone"),
        ("a b c", [edit(0, 1, "x"), edit(1, 1, "y"), edit(2, 3, "")], "x y b"),
        ('he said " yes "', [edit(3, 4, "no")], 'he said " no "'),
        ("say yes", [edit(1, 2, '" yes "')], 'say "yes"'),
    ],
)
def test_changes_by_hand(text, edits, expected):
    assert changed(text, *edits) == expected


def test_masked_text_is_not_changed():
    text = "See http://x.y now"
    (segment,) = cut_segments(text, lambda word: word)
    edits = [edit(0, 1, "Look"), edit(1, 2, "Y"), edit(2, 2, MASK), edit(2, 3, "then")]
    assert applicable_edits(text, segment.tokens, edits) == [edits[0], edits[3]]


def test_headings_get_no_full_stop():
    text = "# My day"
    tokens = next(iter(cut_segments(text, lambda word: word))).tokens
    edits = [edit(1, 2, "days"), edit(2, 2, ".")]
    assert applicable_edits(text, tokens, edits, is_heading_or_item=True) == edits[:1]
    assert applicable_edits(text, tokens, edits) == edits


def test_items_keep_the_case_of_their_first_letter():
    text = "- milk and english tea"
    (segment,) = cut_segments(text, str)
    edits = [edit(0, 1, "Milk"), edit(2, 3, "English")]
    assert applicable_edits(text, segment.tokens, edits, segment.is_heading_or_item) == edits[1:]
    assert applicable_edits(text, segment.tokens, edits) == edits
    pronoun = [edit(0, 1, "I")]
    (segment,) = cut_segments("- i go", str)
    assert applicable_edits("- i go", segment.tokens, pronoun, segment.is_heading_or_item) == pronoun
    (segment,) = cut_segments("- Dog go", str)
    both = [edit(0, 0, "The"), edit(0, 1, "dog")]
    assert applicable_edits("- Dog go", segment.tokens, both, segment.is_heading_or_item) == both


def test_edits_across_hidden_text_are_skipped():
    text = "I has **the** dog"
    (segment,) = cut_segments(text, lambda word: word)
    assert applicable_edits(text, segment.tokens, [edit(1, 3, "have a"), edit(3, 4, "dogs")]) == [edit(3, 4, "dogs")]
    assert changed(text, edit(1, 2, "have"), edit(2, 3, "a"), edit(3, 3, "old")) == "I have **a** old dog"


@pytest.mark.parametrize(
    ("text", "edits", "applicable"),
    [
        ("I has **the** dog", [edit(2, 3, "")], []),
        ("I has [the](x.y) dog", [edit(2, 3, "")], []),
        ("**The** dog", [edit(0, 1, "")], []),
        ("a dog <b>the</b>", [edit(2, 3, "")], []),
        ("I has *the big* dog", [edit(2, 3, ""), edit(3, 4, "")], []),
        ("I has *the big* dog", [edit(2, 3, ""), edit(3, 4, "small")], [0, 1]),
        ("I has *the* big dog", [edit(2, 3, ""), edit(3, 4, "")], [1]),
        ("I has *the* dog", [edit(2, 2, "an"), edit(2, 3, "")], [0]),
        ("I has *the big* dog", [edit(2, 3, "")], [0]),
        ("I has 😀 the 😀 dog", [edit(2, 3, "")], [0]),
        ("`f` (the)", [edit(2, 3, "")], [0]),
    ],
)
def test_no_marks_are_left_with_nothing_between_them(text, edits, applicable):
    (segment,) = cut_segments(text, lambda word: word if word.isascii() else "")
    assert applicable_edits(text, segment.tokens, edits) == [edits[k] for k in applicable]


def test_a_sentence_of_masked_text_only_gets_no_edits():
    text = "http://x.y"
    (segment,) = cut_segments(text, lambda word: word)
    assert applicable_edits(text, segment.tokens, [edit(0, 0, "See"), edit(1, 1, ".")]) == []


def test_straight_quotes_are_attached_to_what_they_enclose():
    words = ["he", "said", '"', "yes", '"', "."]
    assert [is_attached(words, k) for k in range(1, 6)] == [False, False, True, True, True]


def test_a_change_counts_from_the_start_of_its_block():
    assert apply_changes("a dog", [Change(12, 15, "cat")], 10) == "a cat"


WORDS = st.lists(st.sampled_from(["a", "dog", "is", "n't", ",", ".", "(", '"', "the", "-"]), min_size=1, max_size=7)
GAPS = st.lists(st.sampled_from([" ", "  ", "\n", "\t"]), min_size=8, max_size=8)


@settings(deadline=None)
@given(WORDS, GAPS, WORDS)
@example(["dog", "n't", ",", "the", "n't", ","], [" ", " ", " ", "\n", "\n", " "], ["a"])  # both take a line end
def test_only_the_changes_differ_and_the_words_become_the_candidates(words, gaps, candidate):
    """No change touches a token that no edit touches; and the result has the candidate's words, in order."""
    text = "".join(word + gap for word, gap in zip(words, gaps))
    offset = 0
    tokens = []
    for word, gap in zip(words, gaps):
        tokens.append(Token(offset, offset + len(word), word))
        offset += len(word) + len(gap)
    edits = extract_edits(" ".join(words), " ".join(candidate))
    changes = to_character_changes(text, tokens, edits)
    assert all(one.end <= other.start for one, other in pairwise(changes))
    edited = {k for edit in edits for k in range(edit.start, edit.end)}
    untouched = [token for k, token in enumerate(tokens) if k not in edited]
    assert all(change.end <= token.start or token.end <= change.start for change in changes for token in untouched)
    assert "".join(apply_changes(text, changes).split()) == "".join(candidate)
