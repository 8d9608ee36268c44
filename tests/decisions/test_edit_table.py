"""Edit tables: which edits there are, which of them exclude each other, and which are made."""

import multiprocessing
from pathlib import Path
from types import SimpleNamespace

import pytest
from judged import make_table

from btr.corpus import read_candidates
from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditKey
from btr.correction.correct import JUDGED_WINDOW
from btr.decisions import edit_table
from btr.decisions.edit_table import (
    choose_edits,
    edited_text,
    extract_tables,
    is_in_conflict,
    usable_candidates,
    with_and_without,
)
from btr.rerankers.score import EDITS_WINDOW

EXAMPLES = Path(__file__).parents[2] / "examples"

# 0: has → have, dog → dogs; 1: has → had, the dog; 2: a inserted
TABLE = make_table(
    "I has dog .",
    ("I have dogs .", "I had the dog .", "I has a dog ."),
    (-1.0, -2.0, -3.0),
    (1, 2, "had", "R:VERB:TENSE", [1]),
    (1, 2, "have", "R:VERB:SVA", [0]),
    (2, 2, "a", "M:DET", [2]),
    (2, 2, "the", "M:DET", [1]),
    (2, 3, "dogs", "R:NOUN:NUM", [0]),
)
HAD, HAVE, A, THE, DOGS = (edit.key for edit in TABLE.edits)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (HAD, HAVE, True),  # the same words
        (A, THE, True),  # two insertions at one place
        (HAVE, DOGS, False),  # they touch, and a candidate makes both
        (HAD, THE, False),
        (HAD, DOGS, True),  # they touch, and no candidate makes both
        (HAVE, A, True),
        (THE, DOGS, True),
        (EditKey(0, 1, "We"), DOGS, False),  # apart
        (EditKey(1, 3, "own a dog"), THE, True),  # an insertion inside
        (EditKey(0, 2, "We have"), HAVE, True),
        (EditKey(0, 0, "Now"), EditKey(4, 4, "!"), False),
    ],
)
def test_conflicts(one, other, expected):
    assert is_in_conflict(one, other, TABLE) == is_in_conflict(other, one, TABLE) == expected


@pytest.mark.parametrize(
    ("confidences", "cutoff", "is_base_only", "text"),
    [
        ((0.1, 0.9, 0.1, 0.1, 0.8), 0.5, False, "I have dogs ."),
        ((0.1, 0.9, 0.1, 0.1, 0.8), 0.8, False, "I have dogs ."),  # as sure as the cut-off is sure enough
        ((0.1, 0.9, 0.1, 0.1, 0.8), 0.81, False, "I have dog ."),
        ((0.1, 0.9, 0.1, 0.1, 0.8), 0.95, False, "I has dog ."),
        ((0.9, 0.8, 0.1, 0.7, 0.1), 0.5, False, "I had the dog ."),  # "have" is less sure than "had"
        ((0.9, 0.8, 0.1, 0.1, 0.7), 0.5, False, "I had dog ."),  # no candidate has both "had" and "dogs"
        ((0.9, 0.8, 0.1, 0.7, 0.6), 0.5, True, "I have dogs ."),
        ((0.9, 0.4, 0.8, 0.7, 0.4), 0.5, True, "I has dog ."),
        ((0.0, 0.0, 0.0, 0.0, 0.0), 0.0, True, "I have dogs ."),
        ((0.6, 0.6, 0.1, 0.1, 0.1), 0.5, False, "I had dog ."),  # of equals the first
    ],
)
def test_the_surest_edits_are_made(confidences, cutoff, is_base_only, text):
    chosen = choose_edits(TABLE, confidences, cutoff, is_base_only)
    assert chosen == sorted(chosen)
    assert edited_text(TABLE, chosen) == text


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (HAVE, ("I have dogs .", "I has dogs .")),  # the base candidate's other edit is in both
        (DOGS, ("I have dogs .", "I have dog .")),
        (HAD, ("I had dog .", "I has dog .")),  # it agrees with neither "have" nor "dogs"
        (A, ("I has a dog .", "I has dog .")),
        (EditKey(4, 4, "!"), ("I have dogs . !", "I have dogs .")),
    ],
)
def test_the_sentence_with_an_edit_and_without_it(key, expected):
    assert with_and_without(TABLE, key) == expected


def row(*texts, log_probs=None, **flags):
    return Candidates("He go home .", texts, log_probs, flags)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        (row("He goes home .", "He go home ."), [0, 1]),
        (row("He goes home .", "He  goes home .", "", "He went home ."), [0, 3]),
        (row("He goes home .", "x", "y", unfinished=(1,), runaway=(2,)), [0]),
        (row("a", "b", "c", log_probs=(-1.0, -4.0, -4.1)), [0, 1]),  # the last tells nothing
        (row("a", "b", "c", log_probs=(-1.0, None, -9.0)), [0, 1, 2]),  # not all are known
        (row("", "", log_probs=(-1.0, -1.0)), []),
    ],
)
def test_which_candidates_count(candidates, expected):
    assert usable_candidates(candidates) == expected


def test_a_table_has_the_union_of_the_edits():
    (table,) = extract_tables([Candidates("He go home .", ("He goes home .", "He goes home", "He go home ."))])
    assert table.usable == (0, 1, 2)
    assert [(edit.key, edit.type, edit.candidates) for edit in table.edits] == [
        ((1, 2, "goes"), "R:VERB:SVA", (0, 1)),
        ((3, 4, ""), "U:PUNCT", (1,)),
    ]
    for index, text in enumerate(table.candidates.texts):
        assert edited_text(table, [k for k, edit in enumerate(table.edits) if index in edit.candidates]) == text


def test_one_candidate_and_sources_that_were_passed_through():
    rows = [row("He go home ."), Candidates("", ("",)), Candidates("a " * 300, ("a " * 300,), None, {"too_long": (0,)})]
    tables = extract_tables(rows)
    assert [table.edits for table in tables] == [(), (), ()]
    assert [edited_text(table, []).split() for table in tables] == [each.source.split() for each in rows]


def test_a_candidate_that_is_too_long_for_errant_has_no_edits(monkeypatch):
    monkeypatch.setattr("btr.metrics.lengths.MAX_ERRANT_WORK", 20)
    (table,) = extract_tables([row("He goes home .", "He go home now or later .")])  # 7 words, 3 of them new
    assert (table.usable, len(table.edits)) == ((0,), 1)


@pytest.mark.parametrize(("size", "processes"), [(1, 2), (3, 2), (3, 1), (7, 2), (100, 1)])
def test_tables_are_the_same_for_any_chunks_and_processes(monkeypatch, size, processes):
    rows = list(read_candidates(EXAMPLES / "candidates.jsonl"))
    expected = [extract_tables([each], 1)[0] for each in rows]
    assert sum(len(table.edits) for table in expected) > 20
    monkeypatch.setattr(edit_table, "CHUNK", size)
    assert extract_tables(rows, processes) == expected


@pytest.mark.parametrize("window", [EDITS_WINDOW, JUDGED_WINDOW])
def test_a_window_keeps_eight_cores_busy(monkeypatch, window):
    """Also where a file is streamed: sources are aligned window by window."""
    workers = []

    def count_workers(function, items, *, processes, min_per_process):
        workers.append(len(items) // min_per_process)
        return [[] for _ in items]

    monkeypatch.setattr(edit_table, "parallel_map", count_workers)
    extract_tables([row("He goes home .")] * window)
    assert workers == [8]


def test_tables_are_the_same_where_processes_are_spawned(monkeypatch):
    """As on macOS and Windows: nothing of this process is shared, and each worker loads the annotator itself."""
    rows = list(read_candidates(EXAMPLES / "candidates.jsonl"))[:4]
    expected = extract_tables(rows, 1)
    monkeypatch.setattr(edit_table, "CHUNK", 1)
    monkeypatch.setattr("btr.pool.sys", SimpleNamespace(platform="darwin"))
    started, get_context = [], multiprocessing.get_context
    monkeypatch.setattr("multiprocessing.get_context", lambda method: started.append(method) or get_context(method))
    assert extract_tables(rows, 2) == expected
    assert started == ["spawn"]
