"""Log-odds of edits, worked out by hand: scores of the sentence with an edit and of the one without it."""

import pytest
from judged import make_table

from btr.rerankers.base import Reranker
from btr.rerankers.edit_scores import score_edits

# The base candidate makes the first two edits; the third one excludes neither of them.
TABLE = make_table(
    "He go to home .",
    ("He goes home .", "He go to home now ."),
    None,
    (1, 2, "goes", "R:VERB:SVA", [0]),
    (2, 3, "", "U:PREP", [0]),
    (4, 4, "now", "M:ADV", [1]),
)
SCORES = {
    "He goes home .": -1.0,
    "He go home .": -1.5,
    "He goes to home .": -1.25,
    "He goes home now .": -2.0,
}


class Known(Reranker):
    """Gives the scores of a table, and records the texts that it is asked about."""

    kind = signature = title = "known"
    needs_model = False

    def __init__(self, scores=SCORES):
        self.known, self.asked = scores, []

    def scores(self, rows):
        self.asked += [row.texts for row in rows]
        return [tuple(self.known[text] for text in row.texts) for row in rows]


class KnownMeans(Known):
    is_mean = True


def log_odds(reranker, *tables, **options):
    rerankers = reranker if isinstance(reranker, list) else [reranker]
    return [[edit.log_odds for edit in table.edits] for table in score_edits(rerankers, tables, **options)]


def test_sums_are_subtracted():
    """With and without "goes", the deletion being made in both; with and without the deletion; with "now" added."""
    assert log_odds(Known(), TABLE) == [[(-1.0 + 1.5,), (-1.0 + 1.25,), (-2.0 + 1.0,)]]


def test_means_are_made_sums_over_the_words_and_the_end_first():
    """The sentences have 4 or 5 words, and each has an end: 5 or 6 tokens."""
    assert log_odds(KnownMeans(), TABLE) == [[(5 * -1.0 - 5 * -1.5,), (5 * -1.0 - 6 * -1.25,), (6 * -2.0 - 5 * -1.0,)]]
    assert log_odds(KnownMeans(), TABLE) == [[(2.5,), (2.5,), (-7.0,)]]


def test_each_reranker_has_a_number():
    assert log_odds([Known(), KnownMeans()], TABLE) == [[(0.5, 2.5), (0.25, 2.5), (-1.0, -7.0)]]
    assert log_odds([], TABLE) == [[(), (), ()]]


def test_a_text_that_cannot_be_scored_gives_none():
    for kind in (Known, KnownMeans):
        odds = log_odds(kind({**SCORES, "He goes to home .": None}), TABLE)[0]
        assert [value is None for (value,) in odds] == [False, True, False]


def test_only_what_is_wanted_is_asked():
    """Each text once; a source without a wanted edit is not asked about at all."""
    reranker = Known()
    wanted = [[False, True, False], [False, False, False]]
    odds = log_odds(reranker, TABLE, TABLE, wanted=wanted)
    assert odds == [[(None,), (0.25,), (None,)], [(None,), (None,), (None,)]]
    assert reranker.asked == [("He goes home .", "He goes to home .")]
    log_odds(reranker, TABLE)
    assert sorted(reranker.asked[-1]) == sorted(SCORES)
    assert log_odds(reranker, make_table("He", ("He",), None)) == [[]]
    assert len(reranker.asked) == 2


class KnownRelative(Known):
    is_relative = True


def test_relative_scores_are_of_pairs():
    """A score that depends on the other candidates must not depend on which other edits are asked about."""
    reranker = KnownRelative()
    assert log_odds(reranker, TABLE) == log_odds(Known(), TABLE)
    assert [len(texts) for texts in reranker.asked] == [2, 2, 2]


def test_scores_may_be_computed_otherwise():
    def half(work, rows):
        return [tuple(score / 2 for score in scores) for scores in work(rows)]

    assert log_odds(Known(), TABLE, parallel=half) == [[(0.25,), (0.125,), (-0.5,)]]


@pytest.mark.parametrize("name", ["btr", "roberta", "l2r", "contrast", "lm", "bert"])
def test_which_scores_are_means(name):
    """BERT is a classifier; the contrast and a language model add up log-probabilities."""
    from btr.rerankers import RERANKERS

    expected = {"btr": True, "roberta": True, "l2r": True, "contrast": False, "lm": False, "bert": False}
    assert RERANKERS[name].is_mean == expected[name]
