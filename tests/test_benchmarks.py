"""Benchmarks run, and print one JSON object of named ratios. Times are never asserted."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from texts import broken_promises

from btr.correction.records import CorrectedBlock, CorrectedSentence, EditSpan
from btr.correction.render import Renderer
from btr.models.locate import fetched_folder

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
STARTED = ["correct", "help", "evaluate_help"]
if fetched_folder("smollm2-135m").is_dir():
    STARTED.append("correct_with_language_model")
needs_linux = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")


@pytest.mark.parametrize(
    ("name", "ratios"),
    [
        (
            "m2",
            {
                "official_cpu_over_ours",
                "growth_natural_200_to_400",
                "growth_worst_200_to_400",
                "growth_dense_gold_200_to_400",
            },
        ),
        ("gleu", {"pass_per_draw_over_ours"}),
        (
            "generate --layers 1 --sources 4",
            {
                f"ctranslate2_{name}"
                for name in ("float32", "float32_over_same_batches", "int8", "int8_over_same_batches")
            },
        ),
        ("train --layers 1 --sources 2 --updates 2", {"btr_objective", "btr_bfloat16"}),
        ("serve --seconds 4 --clients 4 --texts 8", {"batched_over_one_at_a_time"}),
        (
            "startup --rounds 1",
            {f"{name}_over_imports" for name in STARTED},
        ),
        ("pll --layers 1 --sources 2", {"fp32", "fp32_2_sources", "int8", "int8_2_sources"}),
    ],
)
def test_ratios(data, name, ratios):
    script, *options = name.split()
    command = [sys.executable, f"benchmarks/{script}.py", *options, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    printed = json.loads(done.stdout)
    assert set(printed) == ratios
    assert all(isinstance(value, float) and value > 0 for value in printed.values())


def run_alone(script, *options):
    """Run a script in a process of its own; return what it printed."""
    command = [sys.executable, f"benchmarks/{script}.py", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs a script in this process, where models stay loaded, and returns what it printed."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.chdir(ROOT)

    def run_script(script, *options):
        monkeypatch.setattr(sys, "argv", [f"{script}.py", *map(str, options)])
        capsys.readouterr()
        runpy.run_path(str(BENCHMARKS / f"{script}.py"), run_name="__main__")  # SystemExit would be a failure
        return capsys.readouterr().out

    return run_script


def test_correct(data, run):
    printed = json.loads(run("correct", "--sentences", 4, "--plain", 1, "--json"))
    assert set(printed) == {"judging_over_generation", "paper_profile", "reranking_over_generation"}
    assert all(value > 0 for value in printed.values())


def test_clean_text(data, run):
    printed = json.loads(run("clean_text", "--sentences", 8, "--json"))
    assert {"base", "judge, no model, 0.35"} <= set(printed)
    assert all(value >= 0 for value in printed.values())
    alone = [value for name, value in printed.items() if "no model" in name]
    assert alone == sorted(alone, reverse=True)  # the higher the cut-off, the fewer edits


def test_digits(data, run, tmp_path):
    printed = json.loads(run("digits", "--sentences", 8, "--output", tmp_path / "digits.jsonl", "--json"))
    assert printed["changed_numbers"] == 0


def test_texts(data, tmp_path):
    options = ["--random", 40, "--every", 2, "--minimal", 0, "--output", tmp_path / "texts.jsonl"]
    assert json.loads(run_alone("texts", *options, "--json")) == {"texts": 12, "broken_promises": 0}


@pytest.mark.parametrize(
    ("edit", "printed", "problem"),
    [
        (EditSpan(3, 7, "have", "has", "R"), "It has 5 я.", ""),
        (EditSpan(3, 7, "have", "has", "R"), "It  has 5 я.", "something changed outside edits"),
        (EditSpan(3, 7, "hav", "has", "R"), "It has 5 я.", "3 to 7 is 'have', and said to be 'hav'"),
        (EditSpan(8, 9, "5", "six", "R"), "It have six я.", "figures have changed"),
        (EditSpan(10, 11, "я", "a", "R"), "It have 5 a.", "letters of other scripts have changed"),
        (EditSpan(11, 12, ".", "!", "R"), "It have 5 я!", "'.' → '!' at 11 is not in its sentence"),
    ],
)
def test_broken_promises_are_found(edit, printed, problem):
    block = CorrectedBlock(0, "It have 5 я.", (CorrectedSentence(0, 11, "It have 5 я", (edit,)),))
    forms = {"json": Renderer("json").write(block), "text": printed}
    problems = list(broken_promises(block.text, [block], forms))
    assert [each.startswith(problem) for each in problems] == [True] * bool(problem)


def test_spelling_sets(data, run):
    printed = json.loads(run("spelling_sets", "--sentences", 4, "--json"))
    assert set(printed) == {"conll13", "wi", "fce", "jfleg"}


def test_judge_and_shipped(data, run, tmp_path):
    """Sets of a few sentences: the page, the diagram and the judge are written; a second run computes nothing."""
    if not fetched_folder("smollm2-135m").is_dir():
        pytest.skip("needs the language model: btr fetch smollm2-135m")
    work, page, figure = tmp_path / "work", tmp_path / "judge.md", tmp_path / "reliability.svg"
    options = ["--work", work, "--sentences", 12]
    printed = json.loads(run("judge", *options, "--output", page, "--figure", figure, "--json"))
    assert {"conll13_base", "wi_judged", "fce_calibration_error"} <= set(printed)
    assert "## What each model adds" in page.read_text()
    assert figure.read_text().startswith("<?xml")
    kept = {path: path.stat().st_mtime_ns for path in work.iterdir()}
    assert json.loads(run("judge", *options, "--json")) == printed
    assert {path: path.stat().st_mtime_ns for path in work.iterdir()} == kept
    run("shipped", *options, "--speed", 4, "--output", tmp_path / "shipped.json")
    systems = json.loads((tmp_path / "shipped.json").read_text())["systems"]
    judged = ["+ judge, no model", "+ judge, edit-btr:edit-btr-small + lm:smollm2-135m"]
    assert [row["name"] for row in systems] == ["t5gec-small", *judged]
    assert all(list(row["scores"]) == ["conll13", "wi-dev", "jfleg-dev"] for row in systems)


@needs_linux
def test_killed():
    options = "--times", 2, "--changes", 3, "--real", 1, "--size", 130, "--only", "generate"
    printed = json.loads(run_alone("killed", *options, "--json"))
    assert (printed["generate_by_clock"], printed["generate_at_changes"], printed["generate_real"]) == (2, 3, 1)
    assert printed["generate_compared"] >= 3
    assert {printed[f"generate_{name}"] for name in ("different", "half_written", "left_processes")} == {0}


@needs_linux
def test_faults():
    printed = json.loads(run_alone("faults", "--size", 20, "--only", "rerank,compact", "--json"))
    assert printed["disk full"] == 8
    assert all(value == 0 for name, value in printed.items() if name.endswith("not as promised"))


@needs_linux  # it measures memory by /proc
@pytest.mark.parametrize("parser", ["M2", "judge.json", "recipe", "LanguageTool forms", "documents"])
def test_fuzz(parser):
    printed = json.loads(run_alone("fuzz", "--inputs", 40, "--only", parser, "--json"))
    assert list(printed) == [parser]
    assert (printed[parser]["inputs"], printed[parser]["broken"]) == (40, 0)


@needs_linux
def test_fuzz_by_the_openapi_document():
    pytest.importorskip("schemathesis")
    printed = json.loads(run_alone("fuzz", "--inputs", 24, "--only", "HTTP", "--json"))
    assert printed["HTTP bodies"]["broken"] == 0


def test_security(data):
    printed = json.loads(run_alone("security", "--json"))
    assert {"token", "origin", "host", "limits", "CSP", "texts on disk", "code in models"} <= set(printed)


@pytest.mark.skipif("BTR_TEST_SOAK" not in os.environ, reason="takes minutes, for two servers: set BTR_TEST_SOAK=1")
def test_soak(data):
    printed = json.loads(run_alone("soak", "--seconds", 10, "--clients", 4, "--texts", 6, "--json"))
    assert {"requests", "p50", "p95", "p99", "memory_of_first", "memory_of_second"} == set(printed)
    assert printed["requests"] > 0
