"""Corrections of a judge, by an engine whose candidates are known."""

import json

import pytest
import tiny
from judged import PLAIN, RANKS, make_judges, write_judge
from scripted import Scripted

from btr.candidates.decoding import DecodingSettings
from btr.corpus.candidates import Candidates
from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.decisions import Settings
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
