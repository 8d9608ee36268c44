"""Model cards: every kind of model, what a run did not write down, and what the hub reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from btr.errors import InputError
from btr.training.card import write_card
from btr.training.recipe import Recipe, read_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
FACTS = {"revision": "b1f389e", "version": "0.1.0", "tokens": 1638400, "seconds": 1971.4, "parameters": 76961152}
SIGNATURE = "m2|gold:cleaned.m2#12345678|beta:0.5|unchanged:2|btr:0.1.0"
UPDATES = [{"step": 10, "loss": 2.0}, {"step": 20, "loss": 1.23456}]
VALIDATIONS = [
    {"step": 10, "epoch": 1, "validation": {"f0.5": 39.0, "threshold": 0.1}},
    {
        "step": 20,
        "epoch": 2,
        "validation": {
            "f0.5": 50.2249,
            "precision": 60.0,
            "recall": 30.5,
            "threshold": 0.4,
            "grid": {"0.0": 49.1, "0.4": 50.2249},
            "signature": SIGNATURE,
        },
    },
]
SECTIONS = ["Training data", "Training", "Results", "Limits"]


def run_of(folder: Path, *rows: dict[str, Any], facts: dict[str, Any] | None = None) -> Path:
    run = folder / "btr-a5"
    (run / "model").mkdir(parents=True)
    (run / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run / "run.json").write_text(json.dumps(FACTS if facts is None else facts))
    return run


def card(run: Path, recipe: Recipe) -> str:
    path = write_card(run / "model", recipe, run)
    assert path == run / "model" / "README.md"
    return path.read_text(encoding="utf-8")


def test_a_rerankers_card(tmp_path: Path) -> None:
    conll = {"validation.gold": ["$BTR_DATA/conll13/cleaned.m2"], "validation.sentences": 400, "validation.top": 5}
    conll["validation.candidates"] = "candidates.jsonl"
    recipe = read_recipe(RECIPES / "small" / "btr-a5.yaml", {"steps": 400, **conll})
    text = card(run_of(tmp_path, *UPDATES, *VALIDATIONS), recipe)
    for line in (
        "# btr-a5",
        "btr score CANDIDATES.jsonl --reranker btr:FOLDER -o SCORES.jsonl",
        "btr rerank SCORES.jsonl --threshold 0.4 --top 5 -o CORRECTED.txt",
        "- `runs/small/fce-first.m2`",
        "- `runs/small/final/fce-first.m2.jsonl`: candidates, the source of negatives",
        "| kind, task, seed | btr, correct, 1 |",
        "| start | `runs/small/btr-gold/model` |",
        "| length | 400 steps |",
        "| optimizer | adamw, 0.00015, linear |",
        "| negatives (a_train) | 5 |",
        "| parameters | 76,961,152 |",
        "| tokens seen | 1,638,400 |",
        "| hours | 0.55 |",
        "| steps, final loss | 20, 1.2346 nats per masked token |",
        "| btr's revision | `b1f389e` |",
        "On `conll13/cleaned.m2`, the first 400 sentences, in percent:",
        "| precision | 60.00 |",
        "| f0.5 | 50.22 |",
        "| epoch | 2 (the best of 2 validations) |",
        "| threshold λ | 0.4 |",
        f"`{SIGNATURE}`",
    ):
        assert line in text.splitlines(), line
    assert "licences of these data apply" in text
    assert "Epoch and threshold were chosen on the sentences of the results" in text
    assert "None" not in text


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recipe_has_a_card_that_the_hub_can_read(tmp_path: Path, path: Path) -> None:
    recipe = read_recipe(path)
    rows = [*UPDATES, *VALIDATIONS] if recipe.validation.gold else UPDATES
    text = card(run_of(tmp_path, *rows), recipe)
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == SECTIONS
    data = ModelCard(text).data
    assert (data.language, data.library_name, data.license) == ("en", "transformers", "other")
    assert "grammatical-error-correction" in data.tags
    if recipe.validation.gold:
        (result,) = data.eval_results
        assert data.model_name == "btr-a5"
        assert result.dataset_name == recipe.validation.gold[0].removeprefix("$BTR_DATA/")
        assert (result.metric_name, result.metric_value) == ("M2 F0.5", 50.2249)
    else:
        assert "No validation was run." in text
        assert data.eval_results is None


@pytest.mark.parametrize(
    ("recipe", "command"),
    [
        ("paper/t5gec-base", "btr generate SOURCES.txt --model FOLDER -o CANDIDATES.jsonl"),
        ("paper/btr-pretrain", "btr train RECIPE.yaml --output RUN --set model=FOLDER"),
        ("paper/btr-finetune-a20", "btr score CANDIDATES.jsonl --reranker btr:FOLDER -o SCORES.jsonl"),
        ("paper/r2l-finetune", "btr score CANDIDATES.jsonl --reranker r2l:FOLDER --reranker l2r:BASE -o SCORES.jsonl"),
        ("paper/roberta-a0", "btr score CANDIDATES.jsonl --reranker roberta:FOLDER -o SCORES.jsonl"),
        ("paper/bert", "btr score CANDIDATES.jsonl --reranker bert:FOLDER -o SCORES.jsonl"),
    ],
)
def test_the_command_that_uses_it(tmp_path: Path, recipe: str, command: str) -> None:
    assert command in card(run_of(tmp_path, *UPDATES), read_recipe(RECIPES / f"{recipe}.yaml")).splitlines()


def test_variants_and_synthetic_pairs_are_named(tmp_path: Path) -> None:
    changes = {"data.synthetic.text": ["$BTR_DATA/text/a.txt.gz"], "data.synthetic.sentences": 5000}
    recipe = read_recipe(RECIPES / "small" / "btr-beside.yaml", changes)
    text = card(run_of(tmp_path, *UPDATES), recipe)
    assert "- `text/a.txt.gz`: 5,000 sentences with synthetic errors\n" in text
    assert "| loss | listwise, temperature 0.3 |\n" in text


def test_nothing_is_said_of_what_is_not_known(tmp_path: Path) -> None:
    """Outside of a git checkout there is no revision."""
    run = run_of(tmp_path, {"step": 5, "epoch": 1, "validation": {"f0.5": 38.28}}, facts={"revision": None})
    text = card(run, read_recipe(RECIPES / "small" / "t5gec-wi.yaml"))
    for word in ("revision", "version", "hours", "tokens seen", "parameters", "final loss", "threshold", "precision"):
        assert word not in text
    assert "| start | `models/flan-t5-small` |" in text
    assert "| f0.5 | 38.28 |" in text
    assert "- The epoch was chosen" in text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", None, r": has no run\.json; name the folder that btr train wrote\.$"),
        ("run.json", "{", r"run\.json: is not JSON \(.*\)\.$"),
        ("run.json", "[]", r"run\.json: is not a JSON object\.$"),
        ("log.jsonl", None, r": has no log\.jsonl; name the folder that btr train wrote\.$"),
    ],
)
def test_a_folder_that_is_no_run(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    run = run_of(tmp_path, *UPDATES)
    (run / name).unlink()
    if content is not None:
        (run / name).write_text(content)
    with pytest.raises(InputError, match=message):
        write_card(run / "model", read_recipe(RECIPES / "small" / "t5gec.yaml"), run)
    assert not list((run / "model").iterdir())
