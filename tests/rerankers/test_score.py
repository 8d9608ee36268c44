"""`btr score` and `btr rerank` from file to file."""

import io
import json
import math
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
from btr.corpus import Candidates, Header, Scored, read_lines, read_scores, write_candidates, write_scores
from btr.errors import InputError
from btr.rerankers import score as scoring
from btr.resume import windows

EXAMPLES = Path(__file__).parents[2] / "examples"
CANDIDATES = EXAMPLES / "candidates.jsonl"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.save_t5(tmp_path_factory.mktemp("models") / "tiny-btr", bidirectional=True)


def test_scores_are_the_rerankers(tmp_path, model):
    signature = btr.score(CANDIDATES, [f"btr:{model}"], tmp_path / "scores.jsonl")
    header, rows = read_scores(tmp_path / "scores.jsonl")
    reranker = scoring.load_reranker(f"btr:{model}")
    assert header == Header("btr", signature)
    assert signature.startswith("btr|model:tiny-btr#")
    rows = list(rows)
    assert len(rows) == 20
    assert rows[3].means == pytest.approx(reranker.score(rows[3].source, rows[3].candidates).means, abs=1e-6)
    assert [p.name for p in tmp_path.iterdir()] == ["scores.jsonl"]


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
    with pytest.raises(btr.errors.Interrupted, match="the same command continues where it stopped"):
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
    (tmp_path / "scores.jsonl.part").write_text('{"reranker": "btr", "signature": "another"}\n')
    with pytest.raises(InputError, match="unfinished file of another model"):
        btr.score(CANDIDATES, [f"btr:{other}"], tmp_path / "scores.jsonl")


def test_a_stream_is_never_resumed(tmp_path, monkeypatch):
    """What was left of one stream is not mixed with another."""
    part = tmp_path / "scores.jsonl.part"
    part.write_text('{"reranker": "mbr", "signature": "mbr|btr:0.1.0", "budget": 4096}\n' + "old\n" * 64)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CANDIDATES.read_bytes())))
    btr.score("-", ["mbr"], tmp_path / "scores.jsonl")
    assert len(list(read_scores(tmp_path / "scores.jsonl")[1])) == 20


def test_another_budget_is_another_run(tmp_path, model):
    (tmp_path / "scores.jsonl.part").write_text('{"reranker": "mbr", "signature": "mbr", "budget": 1}\n')
    with pytest.raises(InputError, match="unfinished file of another model, input or setting"):
        btr.score(CANDIDATES, ["mbr"], tmp_path / "scores.jsonl")
    assert (tmp_path / "scores.jsonl.part").exists()


def test_output_is_checked_before_the_work(tmp_path):
    for output, message in [(tmp_path, "is a folder"), (tmp_path / "no" / "where.jsonl", "cannot be written")]:
        with pytest.raises(InputError, match=message):
            btr.score(CANDIDATES, ["btr:no-such-model"], output)


def test_bad_input(tmp_path, model):
    for rerankers, options, message in [
        ([], {}, "name at least one reranker"),
        (["btr:/no/such/model"], {}, "no such folder"),
        (["btr"], {}, "'btr' is no reranker; use btr:MODEL"),
        (["gpt:x"], {}, "'gpt:x' is no reranker"),
        (["mbr"], {"average": "x"}, "average must be one of log, probability, f"),
        (["base"], {}, "have no log_probs"),
        (["mbr"], {"dtype": "bfloat16"}, "mbr: without a model, dtype, device and int8 do not apply"),
    ]:
        with pytest.raises(InputError, match=message):
            btr.score(CANDIDATES, rerankers, tmp_path / "scores.jsonl", **options)
    (tmp_path / "bad.jsonl").write_text('{"candidates": ["a"]}\n')
    with pytest.raises(InputError, match='has no "source"'):
        btr.score(tmp_path / "bad.jsonl", ["mbr"], tmp_path / "scores.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["bad.jsonl"]


def test_windows():
    assert list(windows("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(windows("", 2)) == []


@pytest.fixture
def scores(tmp_path):
    """Scores that like the second candidate of the first ten sentences, with margins from 0.1 to 0.9."""
    rows = []
    for k, line in enumerate(read_lines(CANDIDATES)):
        row = json.loads(line)
        margin = 0.1 + 0.08 * (k % 10)
        mean = math.log((1 + margin) / (1 - margin))  # of two candidates, f rises by the margin
        means = (0.0, mean if k < 10 else -mean, -99.0)
        rows.append(Scored(row["source"], tuple(row["candidates"]), means, (9, 9, 9)))
    write_scores(tmp_path / "scores.jsonl", Header("btr", "sig"), rows)
    return tmp_path / "scores.jsonl"


def test_rerank_by_threshold(tmp_path, scores):
    result = btr.rerank([scores], tmp_path / "out.txt", threshold=0.49, top=2)
    assert result["shares"] == {"accept": 25, "reject": 25, "equal": 50}  # margins 0.5 … 0.82 are over 0.49
    assert result["signature"] == "sig|threshold:0.49|top:2"
    assert btr.rerank([scores], at_least=True)["signature"] == "sig|threshold:0|at_least:True"
    base, out = (list(read_lines(path)) for path in (EXAMPLES / "base.txt", tmp_path / "out.txt"))
    second = list(read_lines(EXAMPLES / "second.txt"))
    assert out == base[:5] + second[5:10] + base[10:]
    assert result["decisions"][5]["decision"] == "accept"
    assert result["decisions"][5]["margin"] == pytest.approx(0.5)


def test_rerank_with_gold_is_table_6(scores):
    result = btr.rerank([scores], threshold=0.49, gold=[EXAMPLES / "gold.m2"])
    evaluation = result["evaluation"]
    assert evaluation["base"] == btr.evaluate(EXAMPLES / "base.txt", gold=[EXAMPLES / "gold.m2"]).scores
    cases = evaluation["by_decision"]
    assert {name: case["sentences"] for name, case in cases.items()} == {"accept": 5, "reject": 5, "equal": 10}
    assert cases["equal"]["base"] == cases["equal"]["suggested"]
    assert cases["equal"]["p_t_test"] == 1


def test_rerank_bad_input(tmp_path, scores):
    for threshold in (-0.1, 1.1):
        with pytest.raises(InputError, match="threshold must be between 0 and 1"):
            btr.rerank([scores], threshold=threshold)
    header, rows = read_scores(scores)
    write_scores(tmp_path / "short.jsonl", header, list(rows)[:-1])
    with pytest.raises(InputError, match=r"short\.jsonl: ends before line 21"):
        btr.rerank([scores, tmp_path / "short.jsonl"])
    with pytest.raises(InputError, match="gold has 20 sentences, but the scores have 19"):
        btr.rerank([tmp_path / "short.jsonl"], gold=[EXAMPLES / "gold.m2"])
    with pytest.raises(InputError, match="is this a scores file"):
        btr.rerank([CANDIDATES])
    with pytest.raises(InputError, match="gleu needs --source and at least one --reference"):
        btr.rerank([scores], metric="gleu")
    with pytest.raises(InputError, match="m2 needs --gold"):
        btr.rerank([scores], source=EXAMPLES / "source.txt")


def test_a_scores_file_that_was_cut_is_refused(tmp_path):
    """Also at a line's end: the header says how many sources there were."""
    btr.score(CANDIDATES, ["mbr"], tmp_path / "scores.jsonl")
    lines = (tmp_path / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:-3]))
    with pytest.raises(InputError, match=r"cut\.jsonl: has 17 sources, but its header says 20; was it cut short"):
        btr.rerank([tmp_path / "cut.jsonl"])


def test_what_could_not_be_scored_is_counted(tmp_path):
    rows = [Scored("s", ("a", "b"), means, (1, 1)) for means in [(-2.0, -1.0), (-2.0, None), (None, None)]]
    write_scores(tmp_path / "scores.jsonl", Header("btr", "sig"), rows)
    assert btr.rerank([tmp_path / "scores.jsonl"])["unscored"] == 2
    assert btr.rerank([tmp_path / "scores.jsonl"], top=1)["unscored"] == 1  # the second does not take part


def test_inputs_are_never_overwritten(tmp_path, scores):
    kept = scores.read_bytes()
    with pytest.raises(InputError, match="is an input, too"):
        btr.rerank([scores], scores)
    with pytest.raises(InputError, match="is an input, too"):
        btr.score(scores, ["mbr"], scores)
    assert scores.read_bytes() == kept


def test_scores_in_another_order_than_the_gold_are_refused(tmp_path, scores):
    header, rows = read_scores(scores)
    write_scores(tmp_path / "turned.jsonl", header, list(rows)[::-1])
    (tmp_path / "out.txt").write_text("old")
    with pytest.raises(InputError, match="sentence 1 of the scores has another source than the gold"):
        btr.rerank([tmp_path / "turned.jsonl"], tmp_path / "out.txt", gold=[EXAMPLES / "gold.m2"])
    assert (tmp_path / "out.txt").read_text() == "old"


def test_ensembles_of_files(tmp_path, scores):
    one = btr.rerank([scores], threshold=0.3)
    two = btr.rerank([scores, scores], threshold=0.3)
    assert one["decisions"] == two["decisions"]
    assert two["signature"] == "sig+sig|average:log|threshold:0.3"
