"""Corrections of a judge, by an engine whose candidates are known."""

import json

import pytest
import tiny
from judged import PLAIN, RANKS, make_judges, write_judge
from scripted import Scripted

from btr.candidates.decoding import DecodingSettings
from btr.corpus.candidates import Candidates
from btr.correction.correct import correct_file
from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.decisions import Settings
from btr.decisions.edit_table import extract_tables
from btr.errors import InputError
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
    with pytest.raises(InputError, match=f"^{name} is for choosing among whole candidates"):
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
    (scored,) = judged(0.9).score_candidates([row])
    answer = ScoreResponse.from_scores(scored)
    assert (answer.text, answer.verdict, answer.suggestion, answer.margin) == ("I have dog .", "accept", None, None)
    assert answer.candidates[answer.index].text == answer.text


def test_empty_lines_and_unchanged_lines_stay_as_they_are():
    lines = ["", "  ", "I have  two\tcats .", " I  has it . ", "a" * 300]
    assert judged(0.5).correct_sentences(lines) == [*lines[:3], "I have it .", lines[4]]
    assert judged(1.0).correct_sentences(lines) == lines


def load_judge(path, *features, rerankers):
    write_judge(path, *features, rerankers=rerankers)
    return EditJudge.from_file(path, device=None, int8=False, threads=1)


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
    assert note == f"{tmp_path / 'judge.json'}: nothing gives wisdom; a judge that was fitted without decides."
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
