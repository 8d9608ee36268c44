"""`btr score` from file to file."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
from launching import launched

import btr
from btr.corpus import Candidates, RerankerName, read_scores, write_candidates
from btr.errors import InputError, Interrupted
from btr.rerankers import load_reranker
from btr.rerankers import score as scoring
from btr.resume import windows

EXAMPLES = Path(__file__).parents[2] / "examples"
CANDIDATES = EXAMPLES / "candidates.jsonl"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.save_t5(tmp_path_factory.mktemp("models") / "tiny-btr", bidirectional=True)


def test_scores_are_the_rerankers(tmp_path, model):
    signature = btr.score(CANDIDATES, [f"btr:{model}"], tmp_path / "scores.jsonl").signature
    header, rows = read_scores(tmp_path / "scores.jsonl")
    assert header.rerankers == (RerankerName("btr", model, signature),)
    assert signature.startswith("btr|model:tiny-btr#")
    rows = list(rows)
    assert len(rows) == 20
    (expected,) = load_reranker(f"btr:{model}").scores([rows[3].candidates])
    assert rows[3].scores == (pytest.approx(expected, abs=1e-6),)
    assert [p.name for p in tmp_path.iterdir()] == ["scores.jsonl"]


def test_a_profile_names_the_rerankers(tmp_path, monkeypatch, model):
    """Those of the shipped model, which is another here."""
    monkeypatch.setattr("btr.rerankers.SHIPPED_BTR", model)
    own = {"paper": {"top": 2, "threshold": 0.3, "rerankers": ["btr"]}}
    (Path(model) / "profiles.json").write_text(json.dumps(own))
    try:
        assert btr.score(CANDIDATES, None, tmp_path / "scores.jsonl", profile="paper").note is None
    finally:
        (Path(model) / "profiles.json").unlink()
    header, rows = read_scores(tmp_path / "scores.jsonl")
    assert (header.kinds, header.rerankers[0].model) == (("btr",), model)
    assert {len(row.candidates.texts) for row in rows} == {2}
    with pytest.raises(InputError, match=r"name a reranker, e\.g\. btr:MODEL, or a profile, whose rerankers are used"):
        btr.score(CANDIDATES, None, tmp_path / "none.jsonl")


def many(tmp_path, count=200):
    rows = [
        Candidates(f"the cat {'sat ' * (k % 7)}.", (f"a cat {'sits ' * (k % 5)}.", "a dog .")) for k in range(count)
    ]
    write_candidates(tmp_path / "many.jsonl", rows)
    return tmp_path / "many.jsonl"


def test_an_interrupted_run_goes_on(tmp_path, model, monkeypatch):
    candidates = many(tmp_path)
    btr.score(candidates, [f"btr:{model}"], tmp_path / "whole.jsonl")
    monkeypatch.setattr(scoring, "read_candidates", interrupting(scoring.read_candidates, 100))
    with pytest.raises(Interrupted, match="the same command continues where it stopped"):
        btr.score(candidates, [f"btr:{model}"], tmp_path / "cut.jsonl")
    assert not (tmp_path / "cut.jsonl").exists()
    part = tmp_path / "cut.jsonl.part"
    kept = part.read_bytes()
    assert len(kept.splitlines()) == 1 + 96  # three windows of 32
    part.write_bytes(kept[:-10])  # killed in the middle of a line
    monkeypatch.undo()
    btr.score(candidates, [f"btr:{model}"], tmp_path / "cut.jsonl")
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not part.exists()


def interrupting(read, after):
    def reading(path):
        for number, row in enumerate(read(path)):
            if number == after:
                raise KeyboardInterrupt
            yield row

    return reading


def test_killed_and_started_again(tmp_path, model):
    """A real process, killed without warning half-way."""
    candidates = many(tmp_path, 3000)
    command = [sys.executable, "-m", "btr.cli", "score", candidates, "--reranker", f"btr:{model}", "-o"]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*command, tmp_path / "cut.jsonl"], env=environment)
    part = tmp_path / "cut.jsonl.part"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not part.exists() or part.read_bytes().count(b"\n") < 300):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cut.jsonl").exists()
    for name in ("cut.jsonl", "whole.jsonl"):
        subprocess.run([*command, tmp_path / name], env=environment, check=True, capture_output=True)
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_two_processes_make_the_same_file(tmp_path, model):
    candidates = many(tmp_path)
    arguments = ["-m", "btr.cli", "score", candidates, "--reranker", f"btr:{model}", "-o"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    for processes, name in ((1, "one.jsonl"), (2, "two.jsonl")):
        assert launched(processes, [*arguments, tmp_path / name], environment, tmp_path) == processes
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["many.jsonl", "one.jsonl", "two.jsonl"]


def test_several_processes_cannot_share_a_stream(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for source, output in (("-", "scores.jsonl"), (CANDIDATES, "-")):
        with pytest.raises(InputError, match="several processes can't share standard input or output; name files"):
            btr.score(source, ["mbr"], output)


def test_an_unfinished_file_of_another_model_is_refused(tmp_path, model):
    other = tiny.save_t5(tmp_path / "other", bidirectional=True, seed=5)
    (tmp_path / "scores.jsonl.part").write_text('{"rerankers": "another"}\n')
    with pytest.raises(InputError, match="unfinished file of another model"):
        btr.score(CANDIDATES, [f"btr:{other}"], tmp_path / "scores.jsonl")


def test_a_stream_is_never_resumed(tmp_path, monkeypatch):
    """What was left of one stream is not mixed with another."""
    part = tmp_path / "scores.jsonl.part"
    header = {"rerankers": [name.to_dict() for name in load_reranker("mbr").names], "budget": 4096}
    part.write_text(json.dumps(header) + "\n" + "old\n" * 64)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CANDIDATES.read_bytes())))
    btr.score("-", ["mbr"], tmp_path / "scores.jsonl")
    assert len(list(read_scores(tmp_path / "scores.jsonl")[1])) == 20


@pytest.mark.parametrize("options", [{"budget": 1}, {"top": 2}, {"gap": 1.0}, {"drop_runaways": True}])
def test_another_budget_or_selection_is_another_run(tmp_path, options):
    btr.score(CANDIDATES, ["mbr"], tmp_path / "scores.jsonl")
    header = (tmp_path / "scores.jsonl").read_text().splitlines()[0]
    (tmp_path / "scores.jsonl").rename(tmp_path / "scores.jsonl.part")
    with pytest.raises(InputError, match="unfinished file of another model, input or setting"):
        btr.score(CANDIDATES, ["mbr"], tmp_path / "scores.jsonl", **options)
    assert (tmp_path / "scores.jsonl.part").read_text().startswith(header)


def test_output_is_checked_before_the_work(tmp_path):
    for output, message in [(tmp_path, "is a folder"), (tmp_path / "no" / "where.jsonl", "cannot be written")]:
        with pytest.raises(InputError, match=message):
            btr.score(CANDIDATES, ["btr:no-such-model"], output)


def test_bad_input(tmp_path, model):
    for rerankers, options, message in [
        ([], {}, "name at least one reranker"),
        (["btr:/no/such/model"], {}, "no such folder"),
        (["btr"], {}, "btr needs a model: name it as btr:MODEL"),
        (["gpt:x"], {}, "'gpt:x' is no reranker"),
        (["mbr"], {"top": 0}, "must be 1 or more"),
        (["mbr"], {"gap": -1.0}, "the gap is a difference of log-probabilities"),
        (["base"], {}, "have no log_probs"),
        (["mbr"], {"dtype": "bfloat16"}, "mbr: without a model, dtype, device and int8 do not apply"),
    ]:
        with pytest.raises(InputError, match=message):
            btr.score(CANDIDATES, rerankers, tmp_path / "scores.jsonl", **options)
    (tmp_path / "bad.jsonl").write_text('{"candidates": ["a"]}\n')
    with pytest.raises(InputError, match='has no "source"'):
        btr.score(tmp_path / "bad.jsonl", ["mbr"], tmp_path / "scores.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["bad.jsonl"]


def test_a_string_is_one_reranker(tmp_path):
    for rerankers, name in (("mbr", "one"), (["mbr"], "two")):
        btr.score(str(CANDIDATES), rerankers, str(tmp_path / name))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_pipe_is_refused_by_its_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe \(candidates\): is read twice") as raised:
        btr.score(tmp_path / "pipe", "mbr", tmp_path / "scores.jsonl")
    assert not {"gold", "reference", "references"} & set(str(raised.value).replace(",", " ").split())
    (tmp_path / "pipe").unlink()
    assert not list(tmp_path.iterdir())


def test_only_what_the_settings_let_through_is_scored(tmp_path):
    """Number, gap and runaways are applied before the scoring, and then once more by rerank: the same choices."""
    runaway = "a " * 40
    rows = [
        Candidates("a b", ("a c", "b", "c", runaway), (-1.0, -1.3, -2.0, -1.1)),
        Candidates("b", ("b", "a"), None),
    ]
    write_candidates(tmp_path / "c.jsonl", rows)
    for options, kept in (
        ({"gap": 0.5}, [[0, 1, 3], [0, 1]]),
        ({"top": 2}, [[0, 1], [0, 1]]),
        ({"drop_runaways": True}, [[0, 1, 2], [0, 1]]),
        ({"gap": 0.5, "drop_runaways": True}, [[0, 1], [0, 1]]),
    ):
        btr.score(tmp_path / "c.jsonl", "mbr", tmp_path / "s.jsonl", **options)
        selected = [row.candidates for row in read_scores(tmp_path / "s.jsonl")[1]]
        assert selected == [row.select(indices) for row, indices in zip(rows, kept)]
        assert btr.rerank(tmp_path / "s.jsonl", **options).texts == btr.rerank(tmp_path / "s.jsonl").texts


def test_log_probabilities_and_flags_travel_along(tmp_path):
    rows = [Candidates("a b", ("a c", "b"), (-1.0, -1.3), {"unfinished": (1,)})]
    write_candidates(tmp_path / "c.jsonl", rows)
    btr.score(tmp_path / "c.jsonl", ["mbr", "base"], tmp_path / "s.jsonl")
    (scored,) = read_scores(tmp_path / "s.jsonl")[1]
    assert scored.candidates == rows[0]
    assert scored.scores[1] == (-1.0, -1.3)


def test_windows():
    assert list(windows("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(windows("", 2)) == []
