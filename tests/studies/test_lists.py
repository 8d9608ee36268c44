"""Candidates that are written anew for each number of them, as the paper does: the base column changes with it."""

import csv
import json

import pytest
import yaml
from four import ROWS, write_gold

import btr
from btr.errors import InputError
from btr.studies.plan import Plan

BASES = {2: 0, 3: 1}  # which of the four sentences' two candidates stands first, by number of candidates


def write_lists(folder):
    """Write a file for each number of candidates: the longer list has another first candidate, and a third one."""
    paths = {}
    for size, first in BASES.items():
        rows = []
        for row in ROWS:
            texts = list(row.candidates.texts)
            texts = texts[first:] + texts[:first]
            rows.append({"source": row.candidates.source, "candidates": [*texts, "Never this ."][:size]})
        path = folder / f"candidates-{size}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths[size] = str(path)
    return paths


def write_plan(folder, **changes):
    plan = {
        "sets": {"Toy": {"gold": [str(write_gold(folder / "gold.m2"))]}},
        "validation": "Toy",
        "candidates": {"Base": {"files": {"Toy": write_lists(folder)}}},
        "rerankers": {"MBR": {"models": ["mbr"]}, "Vote": {"models": ["vote"], "threshold": False}},
        "main": "MBR",
        "top": [2, 3],
        "folds": 2,
        **changes,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    return folder / "study.yaml"


def cells(folder, name):
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return {(row["row"], row["column"]): row for row in csv.DictReader(file)}


def test_the_base_column_changes_with_the_number_of_candidates(tmp_path):
    result = btr.study(write_plan(tmp_path), tmp_path / "report")
    assert result.ran["scores"] == 4  # two rerankers, two lists
    table = cells(tmp_path / "report", "table-16")
    bases = {}
    for size in (2, 3):
        hypotheses = tmp_path / f"candidates-{size}.jsonl"
        bases[size] = btr.evaluate(hypotheses, metric="m2", gold=tmp_path / "gold.m2", rank=1).value
        cell = table[f"MBR, a_pred = {size}", "1"]
        assert float(cell["value"]) == pytest.approx(bases[size])
        assert f"candidates:candidates-{size}.jsonl#" in cell["signature"]
        assert f"|top:{size}" in cell["signature"]
    assert bases[2] != pytest.approx(bases[3])
    main = cells(tmp_path / "report", "table-05")
    assert float(main["Base", "Toy F0.5"]["value"]) == pytest.approx(bases[2])  # the first of top
    assert ("Oracle (2 candidates)", "Toy F0.5") in main
    assert set(cells(tmp_path / "report", "table-18")) == {("2", "Vote"), ("3", "Vote")}


def test_a_gain_is_over_the_first_of_the_same_list(tmp_path):
    """Settings that are given choose the list of three, whose base candidates differ from Table 5's base row."""
    rerankers = {"MBR": {"models": ["mbr"], "settings": {"top": 3, "threshold": 0.0}}}
    btr.study(write_plan(tmp_path, rerankers=rerankers), tmp_path / "report")
    main = cells(tmp_path / "report", "table-05")
    base = btr.evaluate(tmp_path / "candidates-3.jsonl", metric="m2", gold=tmp_path / "gold.m2", rank=1).value
    row = "MBR (λ = 0)"
    gain = float(main[row, "Toy F0.5"]["value"]) - base
    assert float(main[row, "Toy Δ base [95 %]"]["value"]) == pytest.approx(gain)
    assert "candidates:candidates-3.jsonl#" in main[row, "Toy F0.5"]["signature"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": {"Base": {"files": {"Toy": {3: "x.jsonl"}}}}}, "needs a file for the first of top, 2"),
        ({"sets": {"Toy": {"source": "x.txt"}}}, "validation: Toy needs gold"),
        (
            {"sets": {"Toy": {"gold": ["x.m2"]}, "Test": {"source": "x.txt"}}, "losses_on": "Test"},
            "losses_on: Test needs gold",
        ),
        (  # before anything is trained
            {"sets": {"Toy": {"gold": ["absent.m2"]}}, "training": [{"train": "absent.yaml", "output": "x"}]},
            "absent.m2",
        ),
        (
            {"rerankers": {"A": {"models": ["mbr"], "negatives": 5, "variant_of": "B"}}, "main": None},
            "'B' is none of A",
        ),
        (
            {"rerankers": {"A": {"models": ["mbr"]}, "B": {"models": ["mbr"], "variant_of": "A"}}, "main": "A"},
            "give their negatives (a_train)",
        ),
        (
            {
                "rerankers": {
                    "A": {"models": ["mbr"], "negatives": 5},
                    "B": {"models": ["mbr"], "negatives": 0, "variant_of": "A"},
                },
                "main": "B",
            },
            "main: B is a variant; name A",
        ),
        (
            {"rerankers": {"A": {"scores": {"Base": {"Toy": ["x"]}}}}, "main": "A"},
            "Base has a list for each a_pred; name models",
        ),
        ({"training": [{"output": "x"}]}, "say either train, a recipe, or generate"),
        ({"training": [{"generate": "x.tsv", "output": "x"}]}, "generate needs the model"),
    ],
)
def test_bad_plans(tmp_path, change, message):
    path = write_plan(tmp_path, **change)
    with pytest.raises(InputError) as error:
        btr.study(path, tmp_path / "report")
    assert message in str(error.value)


def test_families_and_tuning_sets():
    gold = {"gold": ["x.m2"]}
    plan = Plan.model_validate(
        {
            "sets": {"A": gold, "B": gold, "C": {**gold, "tuned_on": "B", "main": "R2L"}, "D": {"source": "x.txt"}},
            "validation": "A",
            "candidates": {"Base": {"model": "x"}},
            "rerankers": {
                "R2L": {"models": ["mbr"]},
                "BTR": {"models": ["mbr"], "negatives": 20},
                "BTR 0": {"models": ["mbr"], "negatives": 0, "variant_of": "BTR"},
            },
            "top": [5, 10],
        }
    )
    assert plan.heads == ["R2L", "BTR"]
    assert plan.main_reranker == "BTR"
    assert (plan.main_of("B"), plan.main_of("C")) == ("BTR", "R2L")
    assert plan.family("BTR") == plan.family("BTR 0") == ["BTR 0", "BTR"]
    assert plan.tuning_sets == ["A", "B"]
    assert [plan.tuned_on(name) for name in "ABCD"] == ["A", "B", "B", "A"]
    assert plan.sizes("Base", "A") == [5, 10]
