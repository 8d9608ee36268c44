"""Files of edit tables."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import make_table, write_tables

from btr.corpus.candidates import Candidates
from btr.corpus.edits import CandidateEdit, EditKey, EditTable, apply_edits, read_edit_tables
from btr.errors import InputError

ONE = make_table("He go .", ("He goes .", "He go ."), (-1.0, -2.0), (1, 2, "goes", "R:VERB:SVA", [0], [0.5]))

words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs")), min_size=1, max_size=5)
odds = st.none() | st.floats(-1e6, 1e6)


@st.composite
def tables(draw, rerankers):
    source = draw(st.lists(words, max_size=5))
    count = draw(st.integers(1, 3))
    texts = [" ".join(draw(st.lists(words, max_size=5))) for _ in range(count)]
    log_probs = draw(st.none() | st.lists(st.none() | st.floats(-99, 0), min_size=count, max_size=count).map(tuple))
    usable = sorted(draw(st.sets(st.sampled_from(range(count)), min_size=1)))
    edits = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(source)))
        key = EditKey(start, draw(st.integers(start, len(source))), " ".join(draw(st.lists(words, max_size=2))))
        makers = tuple(sorted(draw(st.sets(st.sampled_from(usable), min_size=1))))
        values = tuple(draw(st.lists(odds, min_size=rerankers, max_size=rerankers)))
        edits.append(CandidateEdit(key, draw(st.sampled_from(["M:DET", "R:OTHER"])), makers, values))
    return EditTable(Candidates(" ".join(source), tuple(texts), log_probs), tuple(usable), tuple(edits))


@given(st.data(), st.integers(0, 2))
def test_a_table_comes_back_as_it_was(data, rerankers):
    table = data.draw(tables(rerankers))
    record = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert EditTable.from_dict(record, rerankers, "file") == table


def test_a_file_comes_back_as_it_was(tmp_path):
    header, stream = read_edit_tables(write_tables(tmp_path / "e.jsonl", [ONE, ONE], "lm", sources=2))
    assert (header.kinds, list(stream)) == (("lm",), [ONE, ONE])


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([], "a b c"),
        ([(0, 1, ""), (2, 2, "x y")], "b x y c"),
        ([(2, 3, "z"), (0, 0, "s")], "s a b z"),
        ([(3, 3, "end")], "a b c end"),
        ([(1, 2, "x"), (2, 2, "y"), (2, 3, "z")], "a x y z"),
    ],
)
def test_edits_are_applied_in_the_order_of_the_source(edits, text):
    assert apply_edits(["a", "b", "c"], [EditKey(*edit) for edit in edits]) == text


def test_edits_of_the_base_candidate():
    table = make_table("a b", ("x b", "a y"), None, (0, 1, "x", "R:OTHER", [0]), (1, 2, "y", "R:OTHER", [1]))
    assert table.base_edits() == [(0, 1, "x")]


EDIT = {"start": 1, "end": 2, "correction": "goes", "type": "R:VERB:SVA", "candidates": [0], "log_odds": [0.5]}
ROW = {"source": "He go .", "candidates": ["He goes ."], "usable": [0], "edits": [EDIT]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{not JSON", "line 2"),
        ("[1]", "line 2"),
        (ROW | {"edits": None}, 'line 2: has no "edits"; is this a file of edit tables'),
        ({"source": "a", "candidates": ["a"], "scores": [[1]]}, 'line 2: has no "edits"'),
        (ROW | {"edits": ["x"]}, "line 2: an edit needs start, end, correction, type and candidates"),
        (ROW | {"edits": [EDIT | {"start": 2, "end": 1}]}, "line 2: an edit needs start"),
        (ROW | {"edits": [EDIT | {"start": True}]}, "line 2: an edit needs start"),
        (ROW | {"edits": [EDIT | {"candidates": [0.5]}]}, "line 2: an edit needs start"),
        (ROW | {"edits": [EDIT | {"end": 4}]}, "line 2: an edit reaches beyond the source"),
        (ROW | {"edits": [EDIT | {"candidates": [1]}]}, "line 2: an edit reaches beyond the source or names a candid"),
        (ROW | {"edits": [EDIT | {"log_odds": [1, 2]}]}, 'line 2: "log_odds" must be a list of 1 numbers'),
        (ROW | {"edits": [EDIT | {"log_odds": [math.nan]}]}, "line 2"),
        (ROW | {"usable": [7], "edits": []}, 'line 2: "usable" names a candidate that is not there'),
        (ROW | {"usable": ["0"], "edits": []}, 'line 2: "usable" names'),
        (ROW | {"candidates": []}, "line 2: has no candidate"),
    ],
)
def test_a_broken_line_is_one_sentence(tmp_path, row, message):
    path = write_tables(tmp_path / "e.jsonl", [], "lm")
    path.write_text(path.read_text() + (row if isinstance(row, str) else json.dumps(row)) + "\n")
    with pytest.raises(InputError, match=message) as raised:
        list(read_edit_tables(path)[1])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("first", ["", '{"rerankers": []}', '{"source": "a", "candidates": ["a"]}'])
def test_another_file_is_no_file_of_edit_tables(tmp_path, first):
    (tmp_path / "e.jsonl").write_text(first and f"{first}\n")
    with pytest.raises(InputError, match=r"e\.jsonl, line 1: is no file of edit tables; write one with"):
        read_edit_tables(tmp_path / "e.jsonl")


def test_a_file_that_was_cut_short_is_noticed(tmp_path):
    path = write_tables(tmp_path / "e.jsonl", [ONE], "lm", sources=2)
    with pytest.raises(InputError, match="has 1 source, but its header says 2; was it cut short"):
        list(read_edit_tables(path)[1])
