"""What a user can get wrong is refused in one sentence, before any model is loaded and before anything is written."""

import json
import math
import re
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

import btr
from btr import Settings
from btr.candidates.decoding import DecodingSettings
from btr.cli.costs import print_study_cost
from btr.cli.tables import print_cross_fitted, print_pushed, print_written_errors
from btr.corpus import write_lines
from btr.errors import InputError
from btr.rerankers import load_reranker
from btr.training.recipe import read_recipe
from btr.wording import count_of

ROOT = Path(__file__).parents[1]
GOLD = ROOT / "examples" / "gold.m2"
NO_NUMBERS = [math.nan, math.inf, -math.inf]


def run(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "btr.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_no_verb_overwrites_its_input(tmp_path):
    gold, scores = tmp_path / "gold.m2", tmp_path / "scores.jsonl"
    gold.write_text(GOLD.read_text())
    (tmp_path / "link.m2").symlink_to(gold)
    for output in (gold, tmp_path / "link.m2", f"{tmp_path}/./gold.m2"):
        with pytest.raises(InputError, match="is an input, too; choose another output"):
            btr.clean(gold, output)
    assert gold.read_text() == GOLD.read_text()
    btr.score(ROOT / "examples" / "candidates.jsonl", "mbr", scores)
    with pytest.raises(InputError, match=r"gold\.m2: is an input, too"):
        btr.rerank(scores, gold, gold=gold)
    with pytest.raises(InputError, match="is an input, too"):
        btr.score(scores, "mbr", scores)
    archive = tmp_path / "a.zip"
    write_lines(archive, ["text"])
    with pytest.raises(InputError, match="is an input, too"):
        btr.export(archive, archive, sentences=1)
    assert gold.read_text() == GOLD.read_text()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["He goes .", "She likes it ."], "line 1: not JSON"),
        (['"a text"'], "line 1: expected a JSON object"),
        (['["a", "b"]'], "line 1: expected a JSON object"),
        (['{"source": "a", "text": "b"}'], 'line 1: "candidates" must be a list'),
        (['{"source": "a", "candidates": ["b"]}', "no JSON"], "line 2: not JSON"),
    ],
)
def test_lines_of_a_jsonl_file_must_be_candidates(lines, message, tmp_path):
    path = tmp_path / "out.jsonl"
    write_lines(path, lines)
    write_lines(tmp_path / "text.txt", ["a"] * len(lines))
    write_lines(tmp_path / "gold.m2", ["S a", ""] * len(lines))
    with pytest.raises(InputError, match=rf"out\.jsonl, {message}"):
        btr.evaluate(path, gold=tmp_path / "gold.m2")
    with pytest.raises(InputError, match=rf"out\.jsonl, {message}"):
        btr.score(path, "mbr", tmp_path / "scores.jsonl")
    with pytest.raises(InputError, match=r"out\.jsonl: has all ranks of a system"):
        btr.evaluate([tmp_path / "text.txt", path], gold=tmp_path / "gold.m2", rank=2)
    with pytest.raises(InputError, match=r"out\.jsonl: is no file of sources"):
        list(btr.corpus.read_sources(path))
    with pytest.raises(InputError, match=r"out\.jsonl, line \d: "):
        btr.evaluate(tmp_path / "text.txt", metric="gleu", source=tmp_path / "text.txt", reference=path, resamples=0)


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("name", ["threshold", "gap", "cutoff"])
def test_settings_are_finite(name, value):
    with pytest.raises(InputError, match=f"^{name} can't be {value}"):
        Settings(**{name: value})


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_other_options_are_finite(value, tmp_path):
    with pytest.raises(InputError, match="the weights must be finite numbers"):
        Settings(weights={"btr": value})
    for name in ("penalty", "length_penalty", "top_p"):
        with pytest.raises(InputError, match=f"^{name} must be "):
            DecodingSettings(**{name: value})
    with pytest.raises(InputError, match="beta must be larger than 0"):
        btr.evaluate(ROOT / "examples" / "base.txt", gold=GOLD, beta=value)
    with pytest.raises(InputError, match="the step between thresholds"):
        btr.tune(tmp_path / "scores.jsonl", gold=GOLD, step=value)
    with pytest.raises(InputError, match="settled must be two confidences"):
        btr.tune_edits(tmp_path / "edits.jsonl", gold=GOLD, settled=(0.1, value))
    with pytest.raises(InputError, match="the cut-offs are probabilities"):
        btr.tune_edits(tmp_path / "edits.jsonl", gold=GOLD, cutoffs=[value])
    with pytest.raises(InputError, match="cutoff can't be"):
        btr.rerank_edits(tmp_path / "edits.jsonl", tmp_path / "judge.json", cutoff=value)
    with pytest.raises(InputError, match=r"optimizer\.learning_rate: .*finite number"):
        read_recipe(ROOT / "recipes" / "small" / "t5gec.yaml", {"optimizer.learning_rate": value})
    with pytest.raises(InputError, match="log-probabilities must be finite"):
        load_reranker("base").rank("a", ["a", "b"], [-1.0, value])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("correct", "--cutoff", "nan"), "Invalid value for '--cutoff': must be a number from 0 to 1, not nan;"),
        (("correct", "--threshold", "7"), "Invalid value for '--threshold': must be a number from 0 to 1, not 7;"),
        (("rerank", "e.jsonl", "--threshold", "x"), "Invalid value for '--threshold': must be a number from 0 to 1"),
        (
            ("generate", "s.txt", "--model", "m", "-o", "o", "--length-penalty", "nan"),
            "length_penalty must be a finite",
        ),
        (("correct", "--judge", ""), "the name of the judge is empty; name a file that 'btr tune --edits' wrote."),
        (("correct", "--threshold", "0.5"), "--threshold is for choosing among whole candidates, but the profile"),
        (("rerank", "e.jsonl", "--judge", ""), "the name of the judge is empty"),
        (("tune", "--edits", "e.jsonl", "--gold", "g.m2", "--judge", ""), "the name of the judge is empty"),
    ],
)
def test_on_the_command_line(arguments, message, tmp_path):
    (tmp_path / "s.txt").write_text("a\n")
    done = subprocess.run(
        [sys.executable, "-m", "btr.cli", *arguments], input="A text.\n", cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"btr: {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "evaluate examples/base.txt --gold examples/gold.m2 --resamples 0",
        "evaluate examples/base.txt --gold examples/gold.m2 --resamples 0 --json",
        "score examples/candidates.jsonl --reranker mbr -o -",
        "--help",
    ],
)
def test_a_closed_standard_output_is_no_traceback(command):
    done = subprocess.run(
        ["bash", "-c", f"{shlex.quote(sys.executable)} -m btr.cli {command} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 1)  # 0 if all was written before the reader ended
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("evaluate examples/base.txt --gold examples/gold.m2 --resamples 0 --json >&-", 0),
        ("score examples/candidates.jsonl --reranker mbr -o - >&-", 0),
        ("evaluate missing.txt --gold examples/gold.m2 >&- 2>&-", 2),
        ("clean - -o - <&-", 2),
    ],
)
def test_standard_streams_that_the_caller_has_closed(command, code):
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m btr.cli {command}",
        shell=True, executable="bash", cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr


def test_compare_counts_words_and_not_spaces(tmp_path):
    lines = (ROOT / "examples" / "base.txt").read_text().splitlines()
    write_lines(tmp_path / "spaced.txt", [f" {line.replace(' ', '  ')} " for line in lines])
    result = btr.compare(ROOT / "examples" / "base.txt", tmp_path / "spaced.txt", gold=GOLD, resamples=1)
    assert (result.sentences.changed, result.sentences.better, result.sentences.worse) == (0, 0, 0)


@pytest.mark.parametrize("text", [None, 3, b"text", ["a"]])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(InputError, match=rf"^expected a text, not {type(text).__name__}\.$"):
        btr.correct(text)


def test_candidates_are_a_list_of_texts():
    reranker = load_reranker("mbr")
    for candidates in ("abc", None, [1], 5):
        for ask in (reranker.rank, reranker.decide):
            with pytest.raises(InputError, match=r"^the candidates must be a list of texts\.$"):
                ask("a source", candidates)
    for ask in (reranker.rank, reranker.decide):
        with pytest.raises(InputError, match=r"^there is no candidate; the first one must be"):
            ask("a source", [])
        with pytest.raises(InputError, match=r"^the source must be a text, not NoneType\.$"):
            ask(None, ["a"])


def test_listed_edits_end_with_no_lone_word(tmp_path):
    write_lines(
        tmp_path / "in.jsonl", [json.dumps({"source": "He go .", "candidates": ["He goes ."], "log_probs": [0]})]
    )
    done = run("score", tmp_path / "in.jsonl", "--edits", "-o", tmp_path / "edits.jsonl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_long_candidates_are_refused_with_their_line(tmp_path):
    rows = [{"source": "a", "candidates": ["b"]}, {"source": "a " * 20_000, "candidates": ["a"]}]
    write_lines(tmp_path / "in.jsonl", map(json.dumps, rows))
    with pytest.raises(InputError, match=r"in\.jsonl, line 2: a text of 20,000 words is too long \(at most 10,000\)"):
        btr.score(tmp_path / "in.jsonl", "mbr", tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_numbers_agree_with_their_nouns(tmp_path):
    assert [count_of(number, "file") for number in (0, 1, 2, 1000)] == ["0 files", "1 file", "2 files", "1,000 files"]
    write_lines(tmp_path / "gold.m2", ["S He goes .", ""])
    assert run("clean", tmp_path / "gold.m2", "-o", tmp_path / "out.m2").stderr.startswith("1 sentence written to ")
    printed = StringIO()
    console = Console(file=printed, width=120)
    print_pushed(SimpleNamespace(url="https://hub", files=["a"]), console)
    print_cross_fitted(SimpleNamespace(sources=[1], candidates="c", gold="g"), console)
    print_written_errors(SimpleNamespace(pairs=1, sentences=1, dropped={}, signature="s"), console)
    stage = SimpleNamespace(stage="train", what="w", is_done=False, sentences=1, tokens=1, flops=1.0, hours=1.0)
    print_study_cost(SimpleNamespace(stages=[stage], devices=1, flops_per_second=1.0, hours=1.0), console)
    lines = printed.getvalue()
    for words in ("https://hub, 1 file\n", "of 1 source (1)", "1 pair of 1 sentence.", "1 stage,", "1 device of"):
        assert words in lines
    assert not re.search(r"\b1 \w+s\b", lines)
    write_lines(tmp_path / "short.m2", ["S He", "A 0 2|||R:PRON|||She|||REQUIRED|||-NONE-|||0", ""])
    with pytest.raises(InputError, match=r"but the sentence has only 1 token\.$"):
        btr.clean(tmp_path / "short.m2", tmp_path / "out.m2")
    with pytest.raises(InputError, match="there are 1 file and 2 golds"):
        btr.tune_edits("a.jsonl", gold=["a.m2", "b.m2"])
