"""Benchmarks run, and print one JSON object of named ratios. Times are never asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from btr.models.locate import fetched_folder

ROOT = Path(__file__).parents[1]
STARTED = ["correct", "help", "evaluate_help"]
if fetched_folder("smollm2-135m").is_dir():
    STARTED.append("correct_with_language_model")


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
        (
            "correct --sentences 8 --plain 1",
            {"judging_over_generation", "paper_profile", "reranking_over_generation"},
        ),
        ("serve --seconds 4 --clients 4", {"batched_over_one_at_a_time"}),
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


def run(script, *options):
    command = [sys.executable, f"benchmarks/{script}.py", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_clean_text(data):
    printed = json.loads(run("clean_text", "--sentences", 8, "--json"))
    assert {"base", "judge, no model, 0.35"} <= set(printed)
    assert all(value >= 0 for value in printed.values())
    alone = [value for name, value in printed.items() if "no model" in name]
    assert alone == sorted(alone, reverse=True)  # the higher the cut-off, the fewer edits


def test_digits(data, tmp_path):
    printed = json.loads(run("digits", "--sentences", 8, "--output", tmp_path / "digits.jsonl", "--json"))
    assert printed["changed_numbers"] == 0


def test_spelling_sets(data):
    printed = json.loads(run("spelling_sets", "--sentences", 4, "--json"))
    assert set(printed) == {"conll13", "wi", "fce", "jfleg"}


def test_judge_and_shipped(data, tmp_path):
    """Sets of a few sentences: the page, the diagram and the judge are written; a second run computes nothing."""
    if not fetched_folder("smollm2-135m").is_dir():
        pytest.skip("needs the language model: btr fetch smollm2-135m")
    work, page, figure = tmp_path / "work", tmp_path / "judge.md", tmp_path / "reliability.svg"
    options = ["--work", work, "--sentences", 24]
    printed = json.loads(run("judge", *options, "--output", page, "--figure", figure, "--json"))
    assert {"conll13_base", "wi_judged", "fce_calibration_error"} <= set(printed)
    assert "## What each model adds" in page.read_text()
    assert figure.read_text().startswith("<?xml")
    kept = {path: path.stat().st_mtime_ns for path in work.iterdir()}
    assert json.loads(run("judge", *options, "--json")) == printed
    assert {path: path.stat().st_mtime_ns for path in work.iterdir()} == kept
    run("shipped", *options, "--speed", 4, "--output", tmp_path / "shipped.json")
    systems = json.loads((tmp_path / "shipped.json").read_text())["systems"]
    assert [row["name"] for row in systems] == ["t5gec-small", "+ judge, no model", "+ judge, lm:smollm2-135m"]
    assert all(list(row["scores"]) == ["conll13", "wi-dev", "jfleg-dev"] for row in systems)


@pytest.mark.parametrize("parser", ["M2", "judge.json", "recipe", "LanguageTool forms", "documents"])
def test_fuzz(parser):
    printed = json.loads(run("fuzz", "--inputs", 40, "--only", parser, "--json"))
    assert list(printed) == [parser]
    assert (printed[parser]["inputs"], printed[parser]["broken"]) == (40, 0)


def test_fuzz_by_the_openapi_document():
    pytest.importorskip("schemathesis")
    printed = json.loads(run("fuzz", "--inputs", 24, "--only", "HTTP", "--json"))
    assert printed["HTTP bodies"]["broken"] == 0


def test_security(data):
    printed = json.loads(run("security", "--json"))
    assert {"token", "origin", "host", "limits", "CSP", "texts on disk", "code in models"} <= set(printed)


def test_soak(data):
    printed = json.loads(run("soak", "--seconds", 10, "--clients", 4, "--texts", 6, "--json"))
    assert {"requests", "p50", "p95", "p99", "memory_of_first", "memory_of_second"} == set(printed)
    assert printed["requests"] > 0
