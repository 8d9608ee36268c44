"""Hit, wrong, under- and over-correction, computed by hand from the definitions of CLEME 2.0."""

from pathlib import Path

import plain_cleme
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import btr
from btr.corpus import write_lines
from btr.corpus.m2 import Edit, Sentence
from btr.metrics import METRICS
from btr.metrics.chunks import Outcomes, count_outcomes, matches, merge_spans
from btr.metrics.cleme import CLEME

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCE = "He go to a apple shop on yesterday ."  # tokens 0 to 8


def edit(start, end, *corrections, kind="R:OTHER"):
    return Edit(start, end, kind, corrections or ("",))


GO, AN, ON = edit(1, 2, "went"), edit(3, 4, "an"), edit(6, 7)


@pytest.mark.parametrize(
    ("proposed", "gold", "expected"),
    [
        ([GO, AN, ON], [GO, AN, ON], Outcomes(hit=3, wrong=0, under=0, over=0)),
        ([], [GO, AN, ON], Outcomes(hit=0, wrong=0, under=3, over=0)),
        ([edit(1, 2, "goes"), AN], [GO, ON], Outcomes(hit=0, wrong=1, under=1, over=1)),
        ([AN], [], Outcomes(hit=0, wrong=0, under=0, over=1)),
        ([], [], Outcomes(hit=0, wrong=0, under=0, over=0)),
        # The same correction with another span: "a apple" becomes "an apple" in both.
        ([AN], [edit(3, 5, "an apple")], Outcomes(hit=1, wrong=0, under=0, over=0)),
        # Two of their edits touch, and are one chunk with ours, which does only half of it.
        ([GO], [edit(0, 1, "She"), GO], Outcomes(hit=0, wrong=1, under=0, over=0)),
        # Any of the alternatives is a hit; if one of them is the source, nothing has to be changed.
        ([edit(1, 2, "goes")], [edit(1, 2, "went", "goes")], Outcomes(hit=1, wrong=0, under=0, over=0)),
        ([], [edit(1, 2, "went", "go")], Outcomes(hit=0, wrong=0, under=0, over=0)),
        # An error without a correction: to leave it is not counted, to change it is no over-correction.
        ([], [edit(1, 2, "", kind="UNK")], Outcomes(hit=0, wrong=0, under=0, over=0)),
        ([GO], [edit(1, 2, "", kind="Um")], Outcomes(hit=0, wrong=1, under=0, over=0)),
        # Overlapping edits of an annotator: the later in the file overwrites what it covers.
        ([edit(1, 4, "left the")], [edit(1, 3, "went to"), edit(1, 4, "left the")], Outcomes(1, 0, 0, 0)),
        # Insertions: at another place they are over- and under-correction.
        ([edit(9, 9, "!")], [edit(9, 9, "!")], Outcomes(hit=1, wrong=0, under=0, over=0)),
        ([edit(0, 0, "Yes")], [edit(9, 9, "!")], Outcomes(hit=0, wrong=0, under=1, over=1)),
    ],
)
def test_chunks(proposed, gold, expected):
    assert count_outcomes(SOURCE, proposed, [gold]) == [expected]


def test_the_chunks_of_one_annotator_depend_on_the_others():
    """The second annotator's long edit joins two edits of the first, of which the hypothesis makes one."""
    long = edit(1, 5, "visited the")
    assert count_outcomes(SOURCE, [GO], [[GO, AN]]) == [Outcomes(hit=1, wrong=0, under=1, over=0)]
    assert count_outcomes(SOURCE, [GO], [[GO, AN], [long]]) == [Outcomes(0, 1, 0, 0), Outcomes(0, 1, 0, 0)]


def test_spans_that_touch_are_merged():
    edits = [edit(4, 6, "x"), edit(0, 1, "x"), edit(1, 1, "x"), edit(3, 4, "x"), edit(8, 8, "x")]
    assert merge_spans(edits) == [(0, 1), (3, 6), (8, 8)]


def test_alternatives_are_chosen_place_by_place():
    allowed = [[["a"], ["a", "b"]], [["c"], []]]
    assert [matches(text.split(), allowed) for text in ("a", "a b", "a c", "a b c")] == [True] * 4
    assert [matches(text.split(), allowed) for text in ("", "b", "c", "a c b")] == [False] * 4


@st.composite
def disjoint_edits(draw):
    """Edits of a source of ten different words, each of which changes its span."""
    bounds = sorted(draw(st.lists(st.integers(0, 10), max_size=8)))
    spans = list(dict.fromkeys(zip(bounds[::2], bounds[1::2])))
    return [edit(start, end, draw(st.sampled_from(["x", "y z"]))) for start, end in spans]


@given(disjoint_edits(), disjoint_edits())
def test_each_chunk_is_counted_once(proposed, gold):
    source = " ".join("abcdefghij")
    spans = merge_spans([*proposed, *gold])
    (counts,) = count_outcomes(source, proposed, [gold])
    assert sum(counts) == len(spans)
    changed = [span for span in spans if any(span[0] <= one.start and one.end <= span[1] for one in proposed)]
    assert counts.hit + counts.wrong + counts.over == len(changed)


@given(disjoint_edits())
def test_the_annotators_own_edits_are_hits(edits):
    assume(edits)
    (counts,) = count_outcomes(" ".join("abcdefghij"), edits, [edits])
    assert counts == Outcomes(len(merge_spans(edits)), 0, 0, 0)


@given(disjoint_edits(), st.lists(disjoint_edits(), min_size=1, max_size=3))
def test_as_the_definition_written_out(proposed, annotators):
    words = list("abcdefghij")
    assert count_outcomes(" ".join(words), proposed, annotators) == plain_cleme.outcomes(words, proposed, annotators)


def test_rates_and_score():
    """Needed are 6 + 2 + 2 chunks, changed are 6 + 2 + 4: 60, 20 and 20 %, and 33.3 %."""
    metric = CLEME([Sentence("a")], None, None)
    scores = {name: float(value) for name, value in metric.scores_of(6, 2, 2, 4).items()}
    assert scores == pytest.approx(
        {
            "hit": 0.6,
            "wrong": 0.2,
            "under": 0.2,
            "over": 1 / 3,
            "cleme": 0.45 * 0.6 + 0.35 * 0.8 + 0.15 * 0.8 + 0.05 * 2 / 3,
        }
    )
    nothing = {name: float(value) for name, value in metric.scores_of(0, 0, 0, 0).items()}
    assert nothing == pytest.approx({"hit": 0, "wrong": 0, "under": 0, "over": 0, "cleme": 0.55})


def test_the_annotator_with_the_higher_score_is_chosen(tmp_path):
    (tmp_path / "gold.m2").write_text(
        "S I has a dog .\n"
        "A 1 2|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||0\n"
        "A 2 3|||R:DET|||the|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||1\n\n"
        "S Yesterday she like cats .\n"
        "A 2 3|||R:VERB:TENSE|||liked|||REQUIRED|||-NONE-|||0\n\n"
    )
    write_lines(tmp_path / "out.txt", ["I have a dog .", "Yesterday , she like cats ."])
    result = btr.evaluate(tmp_path / "out.txt", metric="cleme", gold=tmp_path / "gold.m2", resamples=0)
    # For annotator 0, "has a" is one chunk, and corrected otherwise; for annotator 1 it is a hit.
    assert result.counts == {"hit": 1, "wrong": 0, "under": 1, "over": 1}
    expected = {"hit": 50, "wrong": 0, "under": 50, "over": 50, "cleme": 45 * 0.5 + 35 + 15 * 0.5 + 5 * 0.5}
    assert result.scores == pytest.approx(expected)


def test_it_is_a_metric_like_others():
    assert METRICS["cleme"].name == "cleme"
    files = {"metric": "cleme", "gold": EXAMPLES / "gold.m2"}
    result = btr.evaluate(EXAMPLES / "base.txt", **files)
    assert result.value == result.scores["cleme"]
    low, high = result.confidence.intervals["hit"]
    assert low < result.scores["hit"] < high
    assert result.scores["hit"] + result.scores["wrong"] + result.scores["under"] == pytest.approx(100)
    assert result.signature.startswith("cleme|gold:gold.m2#")
    assert "|factors:0.45,0.35,0.15,0.05|errant:" in result.signature
