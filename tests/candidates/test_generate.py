"""`btr generate` from file to file."""

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
from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine, Hypothesis
from btr.candidates.generate import generate_many, load_engine
from btr.corpus import Candidates, read_candidates, read_pairs, read_sources
from btr.errors import InputError
from btr.rerankers import load_reranker

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.save_t5(tmp_path_factory.mktemp("models") / "tiny-t5", seed=3)


class Words(Engine):
    """An engine whose words are numbers, and whose candidates are given."""

    signature = "words"

    ends = (1,)

    def __init__(self, hypotheses):
        self.hypotheses, self.sources, self.forced = hypotheses, [], []

    def encode(self, texts):
        return [[*map(int, text.split()), 1] for text in texts]

    def decode(self, tokens):
        return [" ".join(str(token) for token in each if token != 1) for each in tokens]

    def generate(self, sources, settings):
        self.sources += sources
        return [self.hypotheses] * len(sources)

    def log_probs(self, sources, targets):
        self.forced += targets
        return [-float(len(target)) for target in targets]


def test_flags():
    hypotheses = [
        Hypothesis([5, 6, 1]),
        Hypothesis([1]),
        Hypothesis([5, 6, 1]),
        Hypothesis([7, 8]),
        Hypothesis([9] * 15 + [1]),
    ]
    engine = Words(hypotheses)
    rows = generate_many(engine, ["5 7", "", " ", "3 " * 30], DecodingSettings(max_length=20))
    assert rows[0] == Candidates(
        "5 7",
        ("5 6", "5 7", "5 6", "7 8", " ".join("9" * 15)),
        (-3.0, -3.0, -3.0, -3.0, -16.0),
        {"duplicate": (2,), "empty": (1,), "runaway": (4,), "unfinished": (3,)},
    )
    assert rows[1:3] == [Candidates("", ("",)), Candidates(" ", (" ",))]
    assert rows[3] == Candidates("3 " * 30, ("3 " * 30,), flags={"too_long": (0,)})
    assert engine.sources == [[5, 7, 1]]


def test_log_probs_of_the_search_are_not_computed_again():
    """But only if the tokenizer gives the text the same tokens."""
    engine = Words([Hypothesis([5, 6, 1], -0.5), Hypothesis([7, 8], -0.25)])
    (row,) = generate_many(engine, ["5 7"], DecodingSettings(size=2))
    assert row.log_probs == (-0.5, -3.0)
    assert engine.forced == [[7, 8, 1]]


@pytest.mark.parametrize("engine", ["transformers", "ctranslate2"])
def test_candidates_and_their_log_probs(tmp_path, model, engine):
    """They equal what the left-to-right reranker computes by teacher forcing."""
    sources = tmp_path / "sources.txt"
    sources.write_text("the cat sat .\nI has two dog .\n\nhe go\n")
    result = btr.generate(sources, model, tmp_path / "out.jsonl", size=3, max_length=8, engine=engine)
    rows = list(read_candidates(tmp_path / "out.jsonl"))
    assert [row.source for row in rows] == ["the cat sat .", "I has two dog .", "", "he go"]
    assert [len(row.texts) for row in rows] == [3, 3, 1, 3]
    assert (result.sources, result.candidates) == (4, 10)
    assert "beam|size:3|max-length:8" in result.signature
    reranker = load_reranker(f"l2r:{model}")
    for row, means in zip(rows, reranker.scores(rows), strict=True):
        if row.log_probs:
            lengths = [len(reranker.tokenizer(text)["input_ids"]) for text in row.texts]
            assert row.log_probs == pytest.approx([m * n for m, n in zip(means, lengths, strict=True)], abs=1e-4)


def test_int8_candidates_of_a_file_are_those_of_each_sentence_alone(tmp_path, model):
    """So `btr generate` gives a sentence what `btr correct` gives it."""
    sources = tmp_path / "sources.txt"
    lines = [f"the {'cat ' * (k % 11)}sat on {'a ' * (k % 5)}mat ." for k in range(70)]
    sources.write_text("".join(f"{line}\n" for line in lines))
    options = {"size": 4, "max_length": 20, "length_penalty": 0.0}
    result = btr.generate(sources, model, tmp_path / "out.jsonl", engine="ctranslate2", dtype="int8", **options)
    assert "|width:8|" in result.signature
    engine = load_engine(model, "ctranslate2", dtype="int8")
    settings = DecodingSettings(**options, early_stopping=True)
    rows = list(read_candidates(tmp_path / "out.jsonl"))
    assert rows == [row for line in lines for row in generate_many(engine, [line], settings)]


def test_m2_and_tsv_are_sources_too(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a b\ta c\nd\td\n")
    assert list(read_sources(tmp_path / "pairs.tsv")) == ["a b", "d"]
    assert list(read_pairs(tmp_path / "pairs.tsv")) == [("a b", "a c"), ("d", "d")]
    first = next(read_pairs(EXAMPLES / "gold.m2"))
    assert first[0] == next(read_sources(EXAMPLES / "gold.m2"))
    assert first[0] != first[1]
    with pytest.raises(InputError, match=r"pairs are read from files whose names end in \.m2 or \.tsv"):
        list(read_pairs(tmp_path / "pairs.txt"))


def many(tmp_path, count):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"the {'cat ' * (k % 7)}sat on {'a ' * (k % 3)}mat .\n" for k in range(count)))
    return path


@pytest.mark.parametrize("method", ["beam", "nucleus"])
def test_killed_and_started_again(tmp_path, model, method):
    """A real process, killed without warning half-way."""
    command = [sys.executable, "-m", "btr.cli", "generate", many(tmp_path, 1000), "--model", model]
    command += ["--max-length", "20", "--size", "3", "--method", method, "-o"]
    process = subprocess.Popen([*command, tmp_path / "cut.jsonl"], env=ENVIRONMENT)
    part = tmp_path / "cut.jsonl.part"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and (not part.exists() or part.read_bytes().count(b"\n") < 200):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 1 + 128 <= part.read_bytes().count(b"\n") < 1 + 1000  # a window or more, and not all
    assert not (tmp_path / "cut.jsonl").exists()
    for name in ("cut.jsonl", "whole.jsonl"):
        subprocess.run([*command, tmp_path / name], env=ENVIRONMENT, check=True, capture_output=True)
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert len((tmp_path / "cut.jsonl").read_text().splitlines()) == 1000


@pytest.mark.parametrize("engine", ["transformers", "ctranslate2"])
def test_two_processes_make_the_same_file(tmp_path, engine):
    """Two that start cold: with ctranslate2, one converts the model while the other waits."""
    model = tiny.save_t5(tmp_path / "tiny-t5", seed=3)
    sources = many(tmp_path, 300)
    arguments = ["-m", "btr.cli", "generate", sources, "--model", model, "--engine", engine, "--max-length", "12", "-o"]
    for processes, name in ((2, "two.jsonl"), (1, "one.jsonl")):
        assert launched(processes, [*arguments, tmp_path / name], ENVIRONMENT, tmp_path) == processes
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.txt", "one.jsonl", "tiny-t5", "two.jsonl"]


def test_a_very_long_line_is_reported_and_passed_through(tmp_path, model):
    line = "cat " * 5000 + "."
    (tmp_path / "sources.txt").write_text(f"he go\n{line}\n")
    command = [sys.executable, "-m", "btr.cli", "generate", tmp_path / "sources.txt", "--model", model, "-o", "-"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    record = json.loads(done.stdout.splitlines()[1])
    assert record == {"source": line, "candidates": [line], "flags": {"too_long": [0]}}
    assert "1 of the sources is over the greatest length" in done.stderr


def test_what_is_refused(tmp_path, model):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "sources.txt").write_text("he go\n")
    output = tmp_path / "out.jsonl"
    encoder = tiny.save_encoder(tmp_path / "bert")
    both = tiny.save_t5(tmp_path / "btr", bidirectional=True)
    for arguments, message in [
        ((tmp_path / "empty.txt", model), "is empty; expected one sentence per line"),
        ((tmp_path / "none.txt", model), "no such file"),
        ((tmp_path / "sources.txt", encoder), "is a bert model; candidates are written by a seq2seq model"),
        ((tmp_path / "sources.txt", both), "is a BTR; candidates are written by a left-to-right seq2seq model"),
        ((tmp_path / "sources.txt", str(tmp_path / "no-model")), "no such folder"),
    ]:
        with pytest.raises(InputError, match=message):
            btr.generate(*arguments, output)
    with pytest.raises(InputError, match="engine must be one of transformers, ctranslate2"):
        btr.generate(tmp_path / "sources.txt", model, output, engine="onnx")
    with pytest.raises(InputError, match="is an input, too"):
        btr.generate(tmp_path / "sources.txt", model, tmp_path / "sources.txt")
    assert not output.exists()
    assert not list(tmp_path.glob("*.part"))


def test_json_is_alone_on_standard_output(tmp_path, model):
    (tmp_path / "in.txt").write_text("he go .\n")
    command = [sys.executable, "-m", "btr.cli", "generate", tmp_path / "in.txt", "--model", model, "--json", "-o"]
    done = subprocess.run([*command, tmp_path / "out.jsonl"], env=ENVIRONMENT, capture_output=True, text=True)
    assert json.loads(done.stdout)["candidates"] == 5
    done = subprocess.run([*command, "-"], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "btr: --json and -o - would both write to standard output; name a file.\n"
