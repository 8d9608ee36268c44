"""Corrections of a judge, by an engine whose candidates are known."""

import json
import math

import pytest
import tiny
from judged import PLAIN, RANKS, make_judges, write_judge
from scripted import Scripted

from btr.candidates.decoding import DecodingSettings
from btr.corpus.candidates import Candidates
from btr.correction.correct import correct_file
from btr.correction.corrector import Corrector
from btr.correction.given_candidates import score_candidates
from btr.correction.judging import EditJudge
from btr.decisions import Settings
from btr.decisions.edit_table import extract_tables
from btr.errors import InputError
from btr.rerankers import load_reranker
from btr.rerankers.base import Reranker
from btr.rerankers.edit_scores import score_edits
from btr.serving.schemas import ScoreResponse


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny.save_t5(tmp_path_factory.mktemp("models") / "base", seed=3)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"drop_runaways": False}, "drop-runaways"), ({"drop_runaways": True}, "drop-runaways"), ({"top": 2}, "top")],
)
def test_options_for_whole_candidates_are_refused(base, tmp_path, options, name):
    judge = write_judge(tmp_path / "judge.json", PLAIN)
    with pytest.raises(InputError, match=f"^--{name} is for choosing among whole candidates"):
        Corrector.from_pretrained(base, judge=judge, **options)


def judged(cutoff, script=None, features=PLAIN, intercept=0.0):
    """Return a corrector whose judge asks no reranker; the log-ratio of the script's edits is 1."""
    judge = EditJudge(make_judges(features, intercept=intercept))
    return Corrector(Scripted(script), DecodingSettings(size=2), None, Settings(cutoff=cutoff), judge=judge)


@pytest.mark.parametrize(("cutoff", "index", "verdict"), [(0.5, 0, "equal"), (0.9, 1, "accept")])
def test_what_json_says_of_a_judged_sentence(cutoff, index, verdict):
    """The confidence of the edit is the sigmoid of 1 + 0.5, 0.82."""
    (sentence,) = judged(cutoff).correct("I has it.").sentences
    record = json.loads(json.dumps(sentence.to_dict()))
    assert (record["index"], record["verdict"]) == (index, verdict)
    assert not {"margin", "suggestion"} & set(record)  # no reranker prefers a candidate
    (edit,) = record["alternatives"] if index else record["edits"]
    assert edit["confidence"] == pytest.approx(0.8176, abs=1e-4)
    assert len(record["candidates"]) == 2


def test_what_the_server_says_of_given_candidates():
    row = Candidates("I has dog .", ("I have dogs .", "I have dog ."), (-1.0, -1.5))
    (scored,) = score_candidates(judged(0.9), [row])
    answer = ScoreResponse.from_scores(scored)
    assert (answer.text, answer.verdict, answer.suggestion, answer.margin) == ("I have dog .", "accept", None, None)
    assert answer.candidates[answer.index].text == answer.text


def test_empty_lines_and_unchanged_lines_stay_as_they_are():
    lines = ["", "  ", "I have  two\tcats .", " I  has it . ", "a" * 300]
    assert judged(0.5).correct_sentences(lines) == [*lines[:3], "I have it .", lines[4]]
    assert judged(1.0).correct_sentences(lines) == lines


def load_judge(path, *features, rerankers):
    write_judge(path, *features, rerankers=rerankers)
    return EditJudge.from_file(path, device=None, int8=False, processes=1)


def test_rerankers_that_are_at_hand_are_asked(tmp_path):
    """One is missing; the second judge needs only the other."""
    btr = tiny.save_t5(tmp_path / "btr", bidirectional=True, seed=4)
    both, one = {**PLAIN, "btr": 1.0, "lm": 1.0}, {**PLAIN, "btr": 1.0}
    rerankers = [f"btr:{btr}", f"lm:{tmp_path / 'none'}"]
    judge, note = load_judge(tmp_path / "judge.json", both, one, PLAIN, rerankers=rerankers)
    assert judge.kinds == ("btr",)
    assert [each.features for each in judge.judges.judges] == [one, PLAIN]
    assert note.endswith(" Until then a judge without lm decides.")
    assert str(tmp_path / "none") in note
    row = Candidates("one two three", ("one two four", "one two three"), (-1.2, -1.0))  # not settled
    (decision,) = judge.decide([row], Settings(cutoff=0.5))
    assert decision.table.edits[0].log_odds[0] is not None
    judge, note = load_judge(tmp_path / "judge.json", both, PLAIN, rerankers=rerankers)
    assert (judge.kinds, judge.judges.rerankers) == ((), ())  # no judge asks the other alone
    with pytest.raises(InputError, match="none"):
        load_judge(tmp_path / "judge.json", both, rerankers=rerankers)


def test_one_of_two_models_of_a_kind_is_not_enough(tmp_path):
    btr = tiny.save_t5(tmp_path / "btr", bidirectional=True, seed=4)
    rerankers = [f"btr:{btr}", f"btr:{tmp_path / 'none'}"]
    judge, note = load_judge(tmp_path / "judge.json", {**PLAIN, "btr": 1.0}, PLAIN, rerankers=rerankers)
    assert (judge.kinds, len(judge.judges.judges)) == ((), 1)
    assert note.endswith("a judge without btr decides.")
    judge, note = load_judge(tmp_path / "judge.json", {**PLAIN, "btr": 1.0}, rerankers=rerankers[:1] * 2)
    assert (judge.kinds, note) == (("btr", "btr"), None)


def test_a_feature_that_nothing_gives_is_named(tmp_path):
    _, note = load_judge(tmp_path / "judge.json", {**PLAIN, "wisdom": 1.0}, PLAIN, rerankers=[])
    assert note == f"{tmp_path / 'judge.json'}: nothing gives wisdom; a judge that was fitted without them decides."
    assert load_judge(tmp_path / "judge.json", PLAIN, RANKS, rerankers=[])[1] is None


def test_a_text_that_goes_to_a_file_is_judged_in_large_batches(tmp_path, monkeypatch):
    """So that its edits are aligned on all cores; the corrections are the same."""
    text = tmp_path / "text.txt"
    text.write_text("I has one dog.\n\n" * 1_000)
    sizes = []
    monkeypatch.setattr("btr.decisions.edit_table.CHUNK", 1_000)  # no processes

    def count_sentences(rows, processes):
        sizes.append(len(rows))
        return extract_tables(rows, 1)

    monkeypatch.setattr("btr.correction.judging.extract_tables", count_sentences)
    correct_file(text, tmp_path / "out.txt", judged(0.5))
    assert sizes == [1_000]
    assert (tmp_path / "out.txt").read_text() == "I have one dogs.\n\n" * 1_000
    correct_file(text, "-", judged(0.5))
    assert len(sizes) > 3  # a reader waits


class Counting(Reranker):
    """Prefers texts with "have" by a number of nats, and records the texts that it is asked about."""

    needs_model = False

    def __init__(self, kind, difference):
        self.kind = self.title = self.signature = kind
        self.difference, self.asked = difference, []

    def scores(self, rows):
        self.asked += [row.texts for row in rows]
        return [tuple(self.difference * text.split().count("have") for text in row.texts) for row in rows]


@pytest.mark.parametrize("is_turned", [False, True])
def test_the_last_of_two_rerankers_is_asked_about_unsettled_edits_only(is_turned):
    """The log-odds without any are -0.5; the first adds 2 for "have", which settles it, and 0 for the others.

    The order of the judge's rerankers counts, not that in which they are given.
    """
    first, last = Counting("first", 2.0), Counting("last", -1.0)
    plain, one, two = {"base": 0.0}, {"base": 0.0, "first": 1.0}, {"base": 0.0, "first": 1.0, "last": 1.0}
    judges = make_judges(two, one, plain, rerankers=["first", "last"], intercept=-0.5, settled=(0.12, 0.6))
    judge = EditJudge(judges, [last, first] if is_turned else [first, last])
    rows = [
        Candidates("I has two dog .", ("I have two dogs .", "I has two dog ."), (-1.0, -2.0)),
        Candidates("she has gone", ("she have gone",), (-1.0,)),
    ]
    tables = extract_tables(rows, 1)
    (table, other) = judge.score(tables)
    assert judge.kinds == ("first", "last")
    assert [(edit.key.correction, edit.log_odds) for edit in table.edits] == [
        ("have", (2.0, None)),
        ("dogs", (0.0, 0.0)),
    ]
    assert [edit.log_odds for edit in other.edits] == [(2.0, None)]
    assert {text for texts in first.asked for text in texts} == {
        "I have two dogs .", "I has two dogs .", "I have two dog .", "she have gone", "she has gone",
    }  # fmt: skip
    assert last.asked == [("I have two dogs .", "I have two dog .")]
    # Fully scored tables, as `btr score --edits` writes them, have the same confidences.
    full = score_edits([first, last], tables)
    assert full[0].edits[0].log_odds == (2.0, -1.0)
    confidences = [judges.confidences(each, judge.kinds) for each in (table, other)]
    assert confidences == [judges.confidences(each, judge.kinds) for each in full]
    sure, unsure = 1 / (1 + math.exp(-1.5)), 1 / (1 + math.exp(0.5))
    assert confidences == [pytest.approx([sure, unsure]), pytest.approx([sure])]


def test_a_reranker_that_reads_edits_is_asked_about_all_of_them(tmp_path):
    """A BTR that judges edits comes first, and the language model after it; without that, its judge decides."""
    edit_btr = f"edit-btr:{tiny.save_edit_btr(tmp_path / 'edit-btr')}"
    lm = f"lm:{tiny.save_language_model(tmp_path / 'lm')}"
    one, two = {**PLAIN, "edit-btr": 0.1}, {**PLAIN, "edit-btr": 0.1, "lm": 0.1}
    rows = [Candidates("he go to mat .", ("he goes to the mat .", "he go to mat ."), (-1.0, -1.0))]
    (table,) = extract_tables(rows, 1)
    (expected,) = load_reranker(edit_btr).edit_log_odds([table])
    judge, note = load_judge(tmp_path / "judge.json", two, one, PLAIN, rerankers=[edit_btr, lm])
    assert (judge.kinds, note) == (("edit-btr", "lm"), None)
    (scored,) = judge.score([table])
    assert [edit.log_odds[0] for edit in scored.edits] == pytest.approx(expected)
    (decision,) = judge.decide(rows, Settings(cutoff=0.5))
    (full,) = score_edits(judge.members, [table])
    assert decision.confidences == pytest.approx(judge.judges.confidences(full, judge.kinds))
    judge, note = load_judge(tmp_path / "judge.json", two, one, PLAIN, rerankers=[edit_btr, f"lm:{tmp_path / 'none'}"])
    assert (judge.kinds, judge.judges.spared) == (("edit-btr",), "lm")
    assert note.endswith(" Until then a judge without lm decides.")
    (decision,) = judge.decide(rows, Settings(cutoff=0.5))
    logits = [
        0.5 + 0.1 * max(-8, min(8, odds)) for odds in expected
    ]  # both edits are as probable as the source, and the base's
    assert decision.confidences == pytest.approx([1 / (1 + math.exp(-value)) for value in logits])
