"""The commands that decide edit by edit, as a user types them."""

import json
from pathlib import Path

import pytest
from judged import PLAIN, RANKS, make_table, write_judge, write_tables
from typer.testing import CliRunner

import btr
from btr.cli import app
from btr.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
GO = make_table("He go .", ("He goes .", "He go ."), (-1.0, -2.0), (1, 2, "goes", "R:VERB:SVA", [0]))
WITHOUT = make_table("He go .", ("He goes .", "He go ."), None, (1, 2, "goes", "R:VERB:SVA", [0]))


def refusal(*arguments):
    """Return the one sentence that a command ends with."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(done.exception, InputError), done.output  # `main` prints it, with exit code 2
    assert "\n" not in str(done.exception)
    return str(done.exception)


@pytest.fixture
def judged(tmp_path):
    """A file of edit tables, and a judge of them."""
    return write_tables(tmp_path / "edits.jsonl", [GO]), write_judge(tmp_path / "judge.json", PLAIN)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--profile", "paper"], "--profile"),
        (["--threshold", "0"], "--threshold"),
        (["--top", "2"], "--top"),
        (["--gap", "1"], "--gap"),
        (["--more-than"], "--at-least/--more-than"),
        (["--keep-runaways"], "--drop-runaways/--keep-runaways"),
        (["--average", "log"], "--average"),
        (["--weight", "base=1"], "--weight"),
    ],
)
def test_rerank_with_a_judge_refuses_options_for_whole_candidates(judged, options, name):
    tables, judge = judged
    message = refusal("rerank", tables, "--judge", judge, *options)
    assert message.startswith(f"{name} is for choosing among whole candidates")


@pytest.mark.parametrize("option", [["--cutoff", "0.4"], ["--base-edits-only"]])
def test_rerank_without_a_judge_refuses_options_for_edits(judged, option):
    assert refusal("rerank", judged[0], *option) == f"{option[0]} needs a judge; name one with --judge."


def test_a_metric_without_gold_is_refused(judged):
    assert "gold" in refusal("rerank", judged[0], "--judge", judged[1], "--metric", "errant")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--metric", "m2"], "--metric"),
        (["--top", "2"], "--top"),
        (["--step", "0.1"], "--step"),
        (["--mix"], "--mix"),
        (["--gap", "1"], "--gap"),
        (["--at-least"], "--at-least/--more-than"),
        (["--drop-runaways"], "--drop-runaways/--keep-runaways"),
        (["--average", "log"], "--average"),
    ],
)
def test_tune_with_edits_refuses_options_for_whole_candidates(judged, options, name):
    message = refusal("tune", "--edits", judged[0], "--gold", EXAMPLES / "gold.m2", *options)
    assert message == f"{name} is for choosing among whole candidates; leave it out with --edits."


@pytest.mark.parametrize("option", [["--base-edits-only"], ["--judge", "judge.json"], ["--output", "judge.json"]])
def test_tune_without_edits_refuses_options_for_edits(judged, option):
    message = refusal("tune", judged[0], "--gold", EXAMPLES / "gold.m2", *option)
    assert f"{option[0]} is for edits; add --edits" in message.replace("/-o", "")


@pytest.mark.parametrize("kind", ["base", "mbr", "vote"])
def test_rerankers_of_whole_lists_cant_be_asked_about_edits(tmp_path, kind):
    with pytest.raises(InputError, match=rf"^{kind} is about the base model's candidates .*; leave it out: [^\n]*$"):
        btr.score(EXAMPLES / "candidates.jsonl", [kind], tmp_path / "edits.jsonl", edits=True)
    assert list(tmp_path.iterdir()) == []


def test_the_judges_file_is_checked_before_the_work(tmp_path, monkeypatch, judged):
    monkeypatch.setattr("btr.decisions.tune_edits.read_set", lambda *_: pytest.fail("worked before the check"))
    gold = EXAMPLES / "gold.m2"
    for output, message in (
        (tmp_path / "no" / "judge.json", "cannot be written"),
        (tmp_path, "is a folder"),
        (judged[0], "is an input, too"),
        (judged[1], "is an input, too"),
    ):
        with pytest.raises(InputError, match=message):
            btr.tune_edits(judged[0], output, gold=gold, judge=judged[1])
    figure = tmp_path / "no" / "figure.png"
    assert "cannot be written" in refusal("tune", "--edits", judged[0], "--gold", gold, "--plot", figure)


def test_tuning_needs_a_file(tmp_path):
    with pytest.raises(InputError, match=r"^name one or more files of edit tables \(btr score --edits\)\.$"):
        btr.tune_edits([], tmp_path / "judge.json")


def test_rerank_says_which_features_the_judge_lacks(tmp_path):
    same = make_table("He goes .", ("He goes .",), None)  # it has no edits to be judged
    tables = write_tables(tmp_path / "edits.jsonl", [GO, WITHOUT, same])
    judge = write_judge(tmp_path / "judge.json", {"posterior": 1.0, **PLAIN}, RANKS)
    done = CliRunner().invoke(app, ["rerank", str(tables), "--judge", str(judge), "--json"])
    note = "posterior, log_ratio: not known of the edits of 1 of 2 sentences; a judge that was fitted without them "
    assert json.loads(done.stdout)["note"] == f"{note}decides about these."
    assert done.stderr == f"{note}decides about these.\n"
    assert btr.rerank_edits(write_tables(tmp_path / "e.jsonl", [GO, same]), judge).note is None


@pytest.mark.parametrize(("log_probs", "texts", "is_said"), [
    (None, ["He goes .", "He go ."], True),
    ([-1.0, None], ["He goes .", "He go ."], True),
    ([-1.0, -2.0], ["He goes .", "He go ."], False),
    (None, ["He go ."], False),  # passed through: it has no edits
])  # fmt: skip
def test_score_says_which_features_a_judge_will_lack(tmp_path, log_probs, texts, is_said):
    row = {"source": "He go .", "candidates": texts, "log_probs": log_probs}
    (tmp_path / "candidates.jsonl").write_text(json.dumps(row) + "\n")
    note = btr.score(tmp_path / "candidates.jsonl", None, tmp_path / "edits.jsonl", edits=True).note
    assert (note or "").startswith(
        "posterior, log_ratio, rival, unchanged: not known of the edits of 1 of 1 source" if is_said else ""
    )
    assert bool(note) == is_said
