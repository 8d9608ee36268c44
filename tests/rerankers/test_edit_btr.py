"""A BTR that judges edits: where edits are among pieces, and log-odds against the plain forward pass."""

import json
import unicodedata

import pytest
import tiny
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judged import make_table
from plain_edit_judging import plain_log_odds
from transformers import AutoTokenizer

import btr
from btr.corpus import read_scores
from btr.corpus.candidates import Candidates
from btr.corpus.edits import read_edit_tables
from btr.decisions.edit_table import extract_tables
from btr.models.edit_head import EditSpan
from btr.models.int8_layers import Int8LinearTwoPass
from btr.models.locate import SHIPPED
from btr.rerankers import load_reranker
from btr.rerankers.edit_btr import choose_covering, cut_pieces, read_table

T5 = AutoTokenizer.from_pretrained(SHIPPED / "btr-small")  # the real vocabulary
WORDS = tiny.t5_tokenizer()  # every word is one piece

# The first edit is made by two candidates, at other pieces in each; the last candidate is the source.
TABLE = make_table(
    "he go to the mat .",
    ("he goes the mat .", "the he goes to the mat", "he go on a the mat .", "he go to the mat ."),
    None,
    (0, 0, "the", "M:DET", [1]),
    (1, 2, "goes", "R:VERB:SVA", [0, 1]),
    (2, 3, "", "U:PREP", [0]),
    (2, 3, "on a", "R:PREP", [2]),
    (5, 6, "", "U:PUNCT", [1]),
)


def pieces_of_words(text, tokenizer=T5):
    pieces = cut_pieces(tokenizer, text)
    return [tokenizer.decode(pieces.tokens[a:b]).strip() for a, b in zip(pieces.starts, pieces.starts[1:])]


def test_pieces_by_hand():
    """The piece "▁", which only stands for a space, belongs to the word after it."""
    text = "Hello , don't unbelievably ."
    pieces = cut_pieces(T5, text)
    assert T5.convert_ids_to_tokens(pieces.tokens) == [
        "▁Hello", "▁", ",", "▁don", "'", "t", "▁unbe", "lie", "v", "ably", "▁", ".", "</s>",
    ]  # fmt: skip
    assert pieces.starts == [0, 1, 3, 6, 10, 12]
    assert pieces.tokens == T5(text)["input_ids"]


def test_spaces_make_no_difference():
    assert cut_pieces(T5, " He  goes\thome\u00a0. ") == cut_pieces(T5, "He goes home .")
    for text in ("", "  "):
        assert cut_pieces(T5, text) == cut_pieces(WORDS, text)
        assert (cut_pieces(T5, text).tokens, cut_pieces(T5, text).starts) == ([1], [0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ｆｕｌｌ ﬁne x", ["full", "fine", "x"]),  # other letters in the vocabulary
        ("caf\u00e9 cafe\u0301 x", ["café", "café", "x"]),  # two characters that are one
        ("☃ snow 日本 x", ["<unk>", "snow", "<unk>", "x"]),
        ("… x", ["...", "x"]),
        ("a \u200b x \ufeff y", ["a", "", "x", "", "y"]),  # words without a piece
        ("a </s> x", ["a", "</s>", "x"]),
        ("👩\u200d👧 x", ["<unk> <unk>", "x"]),  # the joiner is read as a space
    ],
)
def test_unusual_characters(text, expected):
    assert pieces_of_words(text) == expected


LETTERS = st.text("abcdefgXYZ'-.,;!?0123456789éüß", min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(LETTERS, max_size=12), st.sampled_from([" ", "  ", "\t", "\u00a0"]))
@example([".", ".", "''"], " ")
def test_pieces_of_a_word_are_that_word(words, space):
    found = pieces_of_words(space.join(words))
    assert [text.replace(" ", "") for text in found] == words


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=4), max_size=6))
def test_any_text_is_cut_at_its_words(words):
    """Unknown characters too; the last word, which is plain, is always found."""
    pieces = cut_pieces(T5, " ".join([*words, "home"]))
    assert len(pieces.starts) == len(" ".join(words).split()) + 2
    assert pieces.starts == sorted(pieces.starts)
    assert (pieces.starts[0], pieces.starts[-1]) == (0, len(pieces.tokens) - 1)
    if unicodedata.category((words or ["a"])[-1][-1])[0] != "M":
        assert pieces_of_words(" ".join([*words, "home"]))[-1].endswith("home")


def test_spans_by_hand():
    """Words are pieces here; a span's first number is the row, the second the edit."""
    readable = read_table(WORDS, TABLE)
    assert readable.source == WORDS("he go to the mat .")["input_ids"]
    assert readable.candidates == [WORDS(text)["input_ids"] for text in TABLE.candidates.texts[:3]]
    # the source makes no edit, and has no row
    assert readable.spans == [
        EditSpan(0, 1, 1, 2, 1, 2),  # he [goes] the mat .
        EditSpan(0, 2, 2, 2, 2, 3),  # he goes [] the mat .
        EditSpan(1, 0, 0, 1, 0, 0),  # [the] he …
        EditSpan(1, 1, 2, 3, 1, 2),  # the he [goes] …: one word further
        EditSpan(1, 4, 6, 6, 5, 6),  # at the end
        EditSpan(2, 3, 2, 4, 2, 3),  # he go [on a] …
    ]


def test_spans_of_several_pieces():
    """Each edit's pieces are those of its words, whatever comes before them."""
    source = "Yesterday I go to unbelievably nice cinema , my friend"
    texts = "Yesterday , I went to an unbelievably nice cinema with my friends !", source.replace("go", "went")
    (table,) = extract_tables([Candidates(source, texts)], processes=1)
    readable = read_table(T5, table)
    assert len(readable.spans) == 6  # the other candidate adds none
    for span in readable.spans:
        key, row = table.edits[span.edit].key, readable.candidates[span.candidate]
        inserted, removed = row[span.start : span.end], readable.source[span.source_start : span.source_end]
        assert T5.decode(inserted).split() == key.correction.split()
        assert T5.decode(removed).split() == source.split()[key.start : key.end]


def test_the_fewest_candidates_that_make_all_edits_are_read():
    """The one with most edits comes first; of those that add as much, the first."""
    edits_of = {0: {1}, 1: {1, 2}, 2: {2, 3, 4}, 3: set(), 4: {1, 2}}
    assert choose_covering(edits_of) == [0, 2]
    assert choose_covering({}) == choose_covering({0: set()}) == []
    table = make_table(
        "he go .",
        ("he goes .", "he goes on .", "he go ."),
        None,
        (1, 2, "goes", "R:VERB:SVA", [0, 1]),
        (2, 2, "on", "M:PREP", [1]),
    )
    assert read_table(WORDS, table).candidates == [WORDS("he goes on .")["input_ids"]]
    assert read_table(WORDS, table, 4).candidates == [WORDS("he goes .")["input_ids"]]  # the other one is too long


@given(st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 9)), max_size=6))
def test_covering_candidates_make_all_edits(edits_of):
    chosen = choose_covering(edits_of)
    assert set().union(*(edits_of[k] for k in chosen)) == set().union(*edits_of.values())
    assert chosen == sorted(set(chosen))


def test_nothing_to_read():
    readable = read_table(WORDS, make_table("he go", ("he go",), None))
    assert (readable.candidates, readable.spans) == ([], [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save_edit_btr(tmp_path_factory.mktemp("models") / "edit-btr")


@pytest.fixture(scope="module")
def reranker(folder):
    return load_reranker(f"edit-btr:{folder}")


def plain_table(folder):
    """The log-odds of the spans of TABLE, as `test_spans_by_hand` has them: by candidate and edit."""
    source, texts = TABLE.candidates.source, TABLE.candidates.texts
    return {
        (span.candidate, span.edit): plain_log_odds(
            folder, source, texts[span.candidate], (span.start, span.end, span.source_start, span.source_end)
        )
        for span in read_table(WORDS, TABLE).spans
    }


@pytest.mark.parametrize("style", ["v1.1", "v1.0"])
def test_log_odds_are_those_of_the_plain_forward_pass(tmp_path, style):
    """An edit that two candidates make has the mean of both."""
    folder = tiny.save_edit_btr(tmp_path, style, seed=2)
    plain = plain_table(folder)
    (found,) = load_reranker(f"edit-btr:{folder}").edit_log_odds([TABLE])
    means = [plain[1, 0], (plain[0, 1] + plain[1, 1]) / 2, plain[0, 2], plain[2, 3], plain[1, 4]]
    assert found == pytest.approx(means, abs=1e-5)
    assert abs(plain[0, 1] - plain[1, 1]) > 1e-3  # the two are not the same


def row_of(table):
    return Candidates(table.candidates.source, table.candidates.texts)


def test_scores_are_sums_of_log_odds(folder, reranker, monkeypatch):
    monkeypatch.setattr("btr.rerankers.edit_btr.extract_tables", lambda rows, processes: [TABLE])
    plain = plain_table(folder)
    goes = (plain[0, 1] + plain[1, 1]) / 2  # as judged in both candidates
    sums = [goes + plain[0, 2], plain[1, 0] + goes + plain[1, 4], plain[2, 3], 0.0]
    (scores,) = reranker.scores([row_of(TABLE)])
    assert scores == pytest.approx(sums, abs=1e-5)


def test_scores_of_candidates_that_are_equal_unchanged_empty_or_unaligned(reranker, monkeypatch):
    texts = "he goes .", "he go .", "he  goes .", "", "she goes on the mat .", " he go . "
    (first, unchanged, same, empty, other, spaced) = reranker.scores([Candidates("he go .", texts)])[0]
    assert first == same != other
    assert (unchanged, spaced, empty) == (0.0, 0.0, None)
    assert None not in (first, other)
    monkeypatch.setattr("btr.metrics.lengths.MAX_ERRANT_WORK", 9)
    limited = reranker.scores([Candidates("he go .", texts)])[0]
    assert limited == (pytest.approx(first), 0.0, pytest.approx(first), None, None, 0.0)


def test_texts_that_are_too_long_have_no_numbers(reranker, monkeypatch):
    """A candidate of too many pieces by itself; with a source of too many, all."""
    table = make_table(
        "he go .",
        ("he goes on .", "he go .", "she goes ."),
        None,
        (0, 1, "she", "R:PRON", [2]),
        (1, 2, "goes", "R:VERB:SVA", [0, 2]),
        (2, 2, "on", "M:PREP", [0]),
    )
    alone = make_table("he go .", ("she goes .",), None, *([0, 1, "she", "R", [0]], [1, 2, "goes", "R", [0]]))
    monkeypatch.setattr("btr.rerankers.edit_btr.extract_tables", lambda rows, processes: [table])
    (she, goes), (score,) = reranker.edit_log_odds([alone])[0], [sum(reranker.edit_log_odds([alone])[0])]
    assert None not in (*reranker.edit_log_odds([table])[0], *reranker.scores([row_of(table)])[0])
    monkeypatch.setattr("btr.rerankers.edit_btr.MAX_TOKENS", 4)
    assert reranker.edit_log_odds([table]) == [[pytest.approx(she, abs=1e-5), pytest.approx(goes, abs=1e-5), None]]
    assert reranker.scores([row_of(table)]) == [(None, 0.0, pytest.approx(score, abs=1e-5))]
    monkeypatch.setattr("btr.rerankers.edit_btr.MAX_SOURCE_TOKENS", 3)
    assert reranker.edit_log_odds([table]) == [[None] * 3]
    assert reranker.scores([row_of(table)]) == [(None,) * 3]


ROWS = [
    Candidates(
        "he go to the mat .", ("he goes to the mat .", "he went on the mat .", "he go to the mat ."), (-1, -2, -3)
    ),
    Candidates("I has two dog", ("I have two dogs .", "I have two dog"), (-0.5, -1.5)),
    Candidates("the cat sat .", ("the cat sat .",), (-0.1,)),
    Candidates("she go .", ("she goes .", "the cats , she went on .", ""), (-1, -1.25, -2)),
]  # fmt: skip


@pytest.mark.parametrize("int8", [False, True])
def test_other_sources_make_no_difference(folder, int8):
    reranker = load_reranker(f"edit-btr:{folder}", int8=int8)
    tables = extract_tables(ROWS, processes=1)
    together = reranker.edit_log_odds(tables)
    assert together == [reranker.edit_log_odds([table])[0] for table in tables]
    assert [len(odds) for odds in together] == [len(table.edits) for table in tables]
    assert together[2] == []
    assert reranker.scores(ROWS) == [reranker.scores([row])[0] for row in ROWS]
    assert reranker.edit_log_odds([]) == []


def all_log_odds(reranker):
    return torch.tensor([odds for each in reranker.edit_log_odds(extract_tables(ROWS, processes=1)) for odds in each])


def test_int8_is_close(tmp_path, folder, reranker):
    """Far closer than another model."""
    rough = load_reranker(f"edit-btr:{folder}", int8=True)
    other = load_reranker(f"edit-btr:{tiny.save_edit_btr(tmp_path, seed=1)}")
    exact = all_log_odds(reranker)
    assert 0 < (all_log_odds(rough) - exact).abs().max() < 0.15 * (all_log_odds(other) - exact).abs().mean()
    assert rough.signature != reranker.signature
    assert type(rough.model.edit_head.first) is Int8LinearTwoPass  # its inputs are very unequal


def write_rows(path):
    path.write_text("".join(json.dumps(row.to_dict()) + "\n" for row in ROWS))
    return path


def test_scored_and_reranked_from_files(tmp_path, folder, reranker):
    btr.score(write_rows(tmp_path / "rows.jsonl"), f"edit-btr:{folder}", tmp_path / "scores.jsonl")
    header, scored = read_scores(tmp_path / "scores.jsonl")
    assert header.kinds == ("edit-btr",)
    assert [each.scores for each in scored] == [(pytest.approx(scores),) for scores in reranker.scores(ROWS)]
    btr.rerank(tmp_path / "scores.jsonl", tmp_path / "out.txt", threshold=0.0)
    best = [
        max((k for k, score in enumerate(scores) if score is not None), key=lambda k: scores[k])
        for scores in reranker.scores(ROWS)
    ]
    chosen = (tmp_path / "out.txt").read_text().splitlines()
    assert chosen == [row.texts[k] for row, k in zip(ROWS, best)]
    assert any(best)


def test_edits_are_scored_from_files(tmp_path, folder, reranker):
    btr.score(write_rows(tmp_path / "rows.jsonl"), f"edit-btr:{folder}", tmp_path / "edits.jsonl", edits=True)
    header, stream = read_edit_tables(tmp_path / "edits.jsonl")
    assert header.kinds == ("edit-btr",)
    tables = list(stream)
    expected = reranker.edit_log_odds(extract_tables(ROWS, processes=1))
    assert [[edit.log_odds for edit in table.edits] for table in tables] == [
        [(pytest.approx(odds),) for odds in each] for each in expected
    ]
    assert sum(map(len, expected)) > 6
