"""The paper's values: as btr.tex has them, and beside rows of the same kind only."""

import csv
import json
import os
import re
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from four import ROWS, write_gold

import btr
from btr.errors import InputError

VALUES = json.loads(files("btr.studies").joinpath("paper_values.json").read_text(encoding="utf-8"))
PAPER = Path(os.environ.get("BTR_PAPER", Path(__file__).parents[3] / "shared" / "paper" / "btr.tex"))


def test_values_are_the_papers():
    """Every value stands in the LaTeX of its table; those of text and plots beside it are left out."""
    if not PAPER.is_file():
        pytest.skip(f"{PAPER} is not there; BTR_PAPER names the paper's LaTeX")
    tex = PAPER.read_text(encoding="utf-8")
    from_text = {("table-04", "CoNLL-14 (cleaned)"), ("table-04", "BEA dev"), ("table-04", "JFLEG dev")}
    for name, labels in VALUES["labels"].items():
        bodies = []
        for label in labels:
            end = tex.index(f"\\label{{table:{label}}}")
            bodies.append(tex[tex.rindex("\\begin{tabular}", 0, end) : end])
        numbers = {float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", " ".join(bodies))}
        for row, columns in VALUES["tables"][name].items():
            missing = {} if (name, row) in from_text else {c: v for c, v in columns.items() if v not in numbers}
            assert not missing, (name, row)
    assert VALUES["labels"].keys() == VALUES["tables"].keys()


def test_some_values_by_hand():
    """As read in the paper, row and column included."""
    tables = VALUES["tables"]
    assert tables["table-05"]["BTR"]["CoNLL-13 F0.5"] == 50.22
    assert tables["table-05"]["R2L w/o L2R"]["BEA R"] == 57.96
    assert tables["table-05"]["RoBERTa w/o λ"]["JFLEG GLEU"] == 57.49
    assert tables["table-05"]["BTR w/o a_train, λ"]["CoNLL-14 (cleaned) F0.5"] == 62.87
    assert tables["table-07"]["RoBERTa"]["CoNLL-14 F0.5"] == 66.85
    assert tables["table-16"]["BTR, a_pred = 15"]["1"] == 48.88
    assert tables["table-16"]["RoBERTa, a_pred = 20"]["0.1"] == 49.40
    assert tables["table-22-bea"]["BTR, N"]["Unnecessary"] == 57.88
    assert tables["table-24-bea-dev"]["BTR, a_train = 10, a_pred = 5"]["0.2"] == 54.04
    assert tables["table-25-jfleg-dev"]["BTR, a_train = 5, a_pred = 15"]["0"] == 54.46
    assert tables["table-26"]["JFLEG dev"] == {"a_train": 5, "a_pred": 15, "λ": 0, "JFLEG (GLEU)": 60.14}


def run(folder, base="T5GEC", dataset="CoNLL-13", **options):
    """Study four sentences with five candidates each, under the paper's names; return Table 5's and 16's cells."""
    write_gold(folder / "gold.m2")
    rows = [{"source": row.candidates.source, "candidates": [*row.candidates.texts, "a", "b", "c"][:5]} for row in ROWS]
    (folder / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {
        "sets": {dataset: {"gold": [str(folder / "gold.m2")]}},
        "validation": dataset,
        "candidates": {base: {"files": {dataset: str(folder / "candidates.jsonl")}}},
        "rerankers": {
            "R2L": {"models": ["vote"], "threshold": False},
            "RoBERTa": {"models": ["mbr"], "negatives": 5},
            "BTR": {"models": ["mbr"], "negatives": 20},
        },
        "top": [5],
        "folds": 2,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    btr.study(folder / "study.yaml", folder / "report", **options)
    found = {}
    for name in ("table-05", "table-16"):
        with open(folder / "report" / f"{name}.csv", encoding="utf-8", newline="") as file:
            found[name] = {(row["row"], row["column"]): row.get("paper") for row in csv.DictReader(file)}
    return found


def test_only_rows_of_the_same_kind(tmp_path):
    found = run(tmp_path, beside="paper")
    main, grid = found["table-05"], found["table-16"]
    assert main["T5GEC", "CoNLL-13 F0.5"] == "49.36"
    assert main["Oracle (5 candidates)", "CoNLL-13 P"] == "65.5"
    assert main["R2L", "CoNLL-13 R"] == "29.14"
    (tuned,) = {row for row, _ in main if row.startswith("BTR (λ")}
    assert main[tuned, "CoNLL-13 F0.5"] == "50.22"
    assert main["BTR w/o λ", "CoNLL-13 F0.5"] == "49.13"
    assert not any(value for (row, _), value in main.items() if row.startswith("RoBERTa"))  # trained with negatives
    assert main[tuned, "CoNLL-13 Δ base [95 %]"] == ""
    assert grid["BTR, a_pred = 5", "0.4"] == "50.22"
    assert grid["RoBERTa, a_pred = 5", "0.1"] == ""
    text = (tmp_path / "report" / "report.md").read_text()
    assert "(49.36)" in text
    assert "In brackets: the paper’s value" in text
    assert "--beside paper" in text


@pytest.mark.parametrize("names", [{"base": "T5GEC-small"}, {"dataset": "Letters"}])
def test_nothing_beside_another_base_model_or_set(tmp_path, names):
    found = run(tmp_path, beside="paper", **names)
    assert not any(value for table in found.values() for value in table.values())


def test_without_the_option_nothing_is_added(tmp_path):
    assert set(run(tmp_path)["table-05"].values()) == {None}
    with pytest.raises(InputError, match="beside must be 'paper'"):
        btr.study(tmp_path / "study.yaml", tmp_path / "report", beside="ours")
