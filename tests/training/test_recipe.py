"""Recipes: those of the project, what is refused and how it is said."""

import re
from pathlib import Path

import pytest
import yaml

from btr.errors import InputError
from btr.training.recipe import Recipe, expand, read_recipe, write_recipe

ROOT = Path(__file__).parents[2]
RECIPES = sorted(ROOT.glob("recipes/*/*.yaml"))
PAPER = ROOT / "recipes" / "paper"
GOOD = """\
kind: btr
model: some/model
data:
  pairs: [a.m2]
  candidates: [a.jsonl]
objective:
  negatives: 5
epochs: 2
"""


def saved(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str = GOOD, **changes: object) -> str:
    """What is said of a recipe; `data__pairs` stands for data.pairs."""
    with pytest.raises(InputError) as error:
        read_recipe(saved(folder, text), {key.replace("__", "."): value for key, value in changes.items()})
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "recipe.yaml"))
    assert message.endswith(".")
    return message.removeprefix(f"{folder / 'recipe.yaml'}: ")


def head(path: Path) -> str:
    """The comments at the start of a recipe, with broken lines put together."""
    lines = path.read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in lines)
    return re.sub(r"\\\n\s*", "", "\n".join(line.removeprefix("#") for line in lines))


def test_there_are_recipes() -> None:
    assert {path.parent.name for path in RECIPES} == {"paper", "small"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recipes_of_the_project(path: Path) -> None:
    """They are valid, and their heads give the command and the cost."""
    recipe = read_recipe(path)
    name = path.relative_to(ROOT).as_posix()
    launcher = {
        "paper": r"accelerate launch --num_processes 2 -m btr\.cli train",
        "small": r"(?:torchrun --nproc-per-node 2 -m btr\.cli|btr) (?:train|cross-fit)",
    }[path.parent.name]
    commands = re.findall(rf"^ +{launcher} (\S+) --output (\S+)(.*)$", head(path), re.MULTILINE)
    assert commands
    assert {command[0] for command in commands} == {name}
    (cost,) = re.findall(r"^ Cost: (\S.*)", head(path), re.MULTILINE)
    assert re.search(r"\d|the paper does not say", cost)
    assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120
    for _, output, more in commands[1:]:  # other seeds
        assert output == f"{commands[0][1]}-$seed"
        assert more == " --set seed=$seed"
    assert recipe.seed


@pytest.mark.parametrize("folder", ["paper", "small"])
def test_what_a_recipe_starts_from_is_made_by_another(folder: str) -> None:
    outputs, needed = set(), set()
    for path in (ROOT / "recipes" / folder).iterdir():
        recipe = read_recipe(path)
        outputs |= set(re.findall(r"(?:--output|-o) (runs/\S+)", head(path)))
        outputs |= set(re.findall(r"> (runs/\S+)", head(path)))
        former = re.findall(r"git archive \S+ src/btr/models/shipped/(\S+) \| tar -x -C runs ", head(path))
        outputs |= {f"runs/{name}" for name in former}  # models as they were shipped before
        files = recipe.model, recipe.validation.candidates or "", *recipe.data.pairs, *recipe.data.candidates
        files += tuple(recipe.data.edits)
        needed |= {re.sub(r"/[ABC]\.jsonl$", "/$level.jsonl", name) for name in files if name.startswith("runs/")}
    assert {name.removesuffix("/model") for name in needed} <= outputs


@pytest.mark.parametrize(
    ("name", "kind", "model", "negatives", "optimizer", "length"),
    [
        ("t5gec-base", "seq2seq", "google/t5-v1_1-base", 0, ("adafactor", 1e-3, "constant", 0), 15),
        ("t5gec-large", "seq2seq", "google/t5-v1_1-large", 0, ("adafactor", 1e-3, "constant", 0), 15),
        ("btr-pretrain", "btr", "runs/t5gec-base/model", 0, ("adafactor", 1e-3, "constant", 0), 65536),
        ("r2l-pretrain", "r2l", "runs/t5gec-base/model", 0, ("adafactor", 1e-3, "constant", 0), 10000),
        ("btr-finetune-a0", "btr", "runs/btr-pretrain/model", 0, ("adafactor", 1e-3, "constant", 0), 15),
        ("btr-finetune-a5", "btr", "runs/btr-pretrain/model", 5, ("adafactor", 1e-3, "constant", 0), 15),
        ("btr-finetune-a10", "btr", "runs/btr-pretrain/model", 10, ("adafactor", 1e-3, "constant", 0), 15),
        ("btr-finetune-a20", "btr", "runs/btr-pretrain/model", 20, ("adafactor", 1e-3, "constant", 0), 15),
        ("r2l-finetune", "r2l", "runs/r2l-pretrain/model", 0, ("adafactor", 1e-3, "constant", 0), 15),
        ("bert", "bert", "bert-large-cased", 0, ("adamw", 5e-4, "inverse-sqrt", 1.2), 15),
        ("roberta-a0", "roberta", "roberta-base", 0, ("adamw", 1e-4, "inverse-sqrt", 1.2), 15),
        ("roberta-a5", "roberta", "roberta-base", 5, ("adamw", 1e-4, "inverse-sqrt", 1.2), 15),
        ("roberta-a10", "roberta", "roberta-base", 10, ("adamw", 1e-4, "inverse-sqrt", 1.2), 15),
        ("roberta-a20", "roberta", "roberta-base", 20, ("adamw", 1e-4, "inverse-sqrt", 1.2), 15),
    ],
)
def test_the_papers_settings(
    name: str, kind: str, model: str, negatives: int, optimizer: tuple[str, float, str, float], length: int
) -> None:
    """Its appendix F, by hand."""
    recipe = read_recipe(PAPER / f"{name}.yaml")
    own = recipe.optimizer
    assert (recipe.kind, recipe.model, recipe.objective.negatives) == (kind, model, negatives)
    assert (own.name, own.learning_rate, own.schedule, own.warmup_epochs) == optimizer
    assert (recipe.epochs or recipe.steps) == length
    assert (recipe.task == "pre-train") == ("pretrain" in name) == (recipe.epochs is None)
    assert recipe.data.max_source == recipe.data.max_target == (512 if recipe.task == "pre-train" else 128)
    assert (recipe.batch_tokens, recipe.batch_by, recipe.precision) == (2**20, "longer_side", "float32")
    assert recipe.objective == recipe.objective.model_copy(
        update={
            "mask_share": 0.15,
            "focus_share": 0.0,
            "temperature": 0.0,
            "gap": None,
        }
    )
    if recipe.task == "correct":
        assert recipe.validation.gold == ["$BTR_DATA/conll13/cleaned.m2"]
        assert recipe.validation.top == 5
        assert recipe.validation.partner == ("runs/t5gec-base/model" if kind == "r2l" else None)
    if negatives:  # section 3.2: a beam of a writes the top-a candidates
        made = rf"--size {negatives} --max-length 128 +-o {re.escape(recipe.data.candidates[0])}$"
        assert re.search(made, head(PAPER / f"{name}.yaml"), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(PAPER.iterdir()), ids=lambda path: path.stem)
def test_heads_say_what_differs_from_the_paper(path: Path) -> None:
    recipe, text = read_recipe(path), " ".join(head(path).split())
    assert "What differs from the paper, or is not in it: - Batches are counted as fairseq does" in text
    assert "--set optimizer.clip=null" in text
    assert ("reverses pieces (the tokens of T5's vocabulary) and not words" in text) == (recipe.kind == "r2l")
    assert ("--set optimizer.warmup=constant" in text) == (recipe.optimizer.schedule == "inverse-sqrt")
    assert ("--set objective.spans=mean-3" in text) == (recipe.task == "pre-train")
    assert ("without λ" in text) == (recipe.kind == "bert" or path.stem == "r2l-finetune")
    for key, value in re.findall(r"--set '?([a-z_.]+)=(\S+)", text.replace("seed=$seed", "seed=2")):
        read_recipe(path, {key: yaml.safe_load(value.rstrip(".:;'"))})  # what the head offers is valid


def test_the_papers_settings_are_all_looked_at() -> None:
    (marker,) = (m for m in test_the_papers_settings.pytestmark if m.name == "parametrize")  # type: ignore[attr-defined]
    assert {row[0] for row in marker.args[1]} == {path.stem for path in PAPER.iterdir()}


def test_defaults_are_the_papers() -> None:
    recipe = Recipe.model_validate({"kind": "btr", "model": "m", "data": {"pairs": ["a.m2"]}, "epochs": 15})
    assert (recipe.batch_tokens, recipe.data.max_source, recipe.objective.mask_share) == (1048576, 128, 0.15)
    assert (recipe.optimizer.name, recipe.optimizer.learning_rate) == ("adafactor", 1e-3)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("epoch", "epoch is no key of a recipe; did you mean epochs?"),
        ("batch_token", "batch_token is no key of a recipe; did you mean batch_tokens?"),
        ("data.max_sources", "data.max_sources is no key of a recipe; did you mean max_source?"),
        ("objective.negative", "objective.negative is no key of a recipe; did you mean negatives?"),
        ("optimizer.learning-rate", "optimizer.learning-rate is no key of a recipe; did you mean learning_rate?"),
        ("keep", "keep is no key of a recipe;"),
        ("validation.golden", "validation.golden is no key of a recipe; did you mean gold?"),
        ("data.synthetic.sentence", "data.synthetic.sentence is no key of a recipe; did you mean sentences?"),
        ("optimizer.qqq", "optimizer.qqq is no key of a recipe; known are name, learning_rate, schedule,"),
    ],
)
def test_a_misspelt_key_is_told_the_nearest(tmp_path: Path, key: str, expected: str) -> None:
    changes: dict[str, object] = {key: 1}
    if "synthetic" in key:
        changes = {"data.synthetic.text": ["a.txt"], "data.synthetic.sentences": 5, **changes}
    with pytest.raises(InputError, match=re.escape(f": {expected}")):
        read_recipe(saved(tmp_path, GOOD), changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"steps": 10}, "say how long: either epochs or steps."),
        ({"epochs": None}, "say how long: either epochs or steps."),
        ({"task": "pre-train"}, "pre-training reads data.text, and neither pairs nor candidates."),
        (
            {"task": "pre-train", "data": {"text": ["a"]}, "kind": "bert"},
            "only T5 models are pre-trained here, not bert.",
        ),
        ({"data": {"pairs": []}}, "data.pairs is empty, and so is data.synthetic: there is nothing to train on."),
        ({"data__candidates": []}, "objective.negatives needs data.candidates."),
        ({"kind": "r2l"}, "objective.negatives is no setting of r2l; it has mask_share, spans."),
        ({"data__candidates": ["a", "b"]}, "data.candidates needs a file for each file of data.pairs."),
        (
            {"kind": "listwise", "objective": {"negatives": 2, "gap": 1.0}, "data__candidates": ["b"]},
            "gap compares the base model's candidates; set objective.temperature.",
        ),
        (
            {"kind": "listwise", "objective": {}},
            "listwise compares gold with negatives; set objective.negatives.",
        ),
        (
            {"kind": "bert", "objective": {"focus_share": 0.5}},
            "objective.focus_share is no setting of bert; it has none.",
        ),
        (
            {"average_with_start": 0.5, "average_with": {"a": 0.5}},
            "the shares of average_with_start and average_with must add up to less than 1.",
        ),
        (
            {"data__synthetic": {"text": ["a"], "sentences": 5, "weights": {"typo": 1}}},
            "data.synthetic: typo=1: expected a weight of 0 or more for one of punctuation, article, preposition, "
            "verb_form, capitals, number, spelling, agreement, order.",
        ),
        (
            {"data": {"pairs": ["a.m2"], "reverse": True}, "objective": {}},
            "data.reverse trains a seq2seq that writes errors, which no validation.gold can measure.",
        ),
        ({"validation__gold": ["a.m2"]}, "validating a reranker needs validation.candidates."),
        (
            {"validation__partner": "m"},
            "validation.partner is for kinds whose scores are added to another's, not for btr.",
        ),
        (
            {"batch_by": "longer_side", "batch_tokens": 1000, "micro_tokens": 300},
            "with batch_by: longer_side an update has a fixed number of batches; make batch_tokens a multiple of "
            "micro_tokens.",
        ),
        (
            {"optimizer": {"warmup_steps": 5, "warmup_epochs": 1}},
            "optimizer: say warmup_epochs or warmup_steps, not both.",
        ),
        (
            {"optimizer__schedule": "inverse-sqrt"},
            "optimizer: the schedule inverse-sqrt needs warmup_epochs or warmup_steps.",
        ),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, changes: dict[str, object], expected: str) -> None:
    assert refusal(tmp_path, **changes) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kind": "gpt"}, "kind: must be one of seq2seq, r2l, btr, listwise, edit-btr, roberta, bert"),
        ({"epochs": 0}, "epochs: input should be greater than 0."),
        ({"dropout": 1}, "dropout: input should be less than 1."),
        (
            {"objective__mask_share": "much"},
            "objective.mask_share: input should be a valid number",
        ),
        ({"data__pairs": "a.m2"}, "data.pairs: must be a list, e.g. [FILE]."),
        ({"data": 3}, "data: must be keys with values, not a single value."),
    ],
)
def test_wrong_values(tmp_path: Path, changes: dict[str, object], expected: str) -> None:
    assert refusal(tmp_path, **changes).startswith(expected)


def test_of_many_problems_three_are_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, one=1, two=2, three=3, four=4, five=5)
    assert message.count("is no key") == 3
    assert message.endswith("; and 2 more.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is no recipe; expected keys such as kind, model and data."),
        ("- a\n- b\n", "is no recipe; expected keys such as kind, model and data."),
        ("kind: btr\n", "model: field required; data: field required."),
    ],
)
def test_what_is_no_recipe(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, text) == expected


def test_files_that_cant_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.yaml: no such file; recipes are in the folder recipes/\.$"):
        read_recipe(tmp_path / "none.yaml")
    with pytest.raises(InputError, match=r": is a folder; name a recipe in it\.$"):
        read_recipe(tmp_path)
    with pytest.raises(InputError, match=r"recipe.yaml, line 2: is not valid YAML \(.*\)\.$"):
        read_recipe(saved(tmp_path, "kind: btr\ndata: }\n"))
    with pytest.raises(InputError, match=r"recipe.yaml, line 1: is not valid YAML \(.*unhashable key\)\.$"):
        read_recipe(saved(tmp_path, "? [a, b]\n: 1\n"))
    (tmp_path / "latin.yaml").write_bytes(b"kind: \xe9\n")
    with pytest.raises(InputError, match=r"latin.yaml: cannot be read \(.*\)\.$"):
        read_recipe(tmp_path / "latin.yaml")


def test_changes_take_the_place_of_what_is_written(tmp_path: Path) -> None:
    path = saved(tmp_path, GOOD)
    recipe = read_recipe(path, {"seed": 2, "optimizer.name": "adamw", "objective.negatives": 10})
    assert (recipe.seed, recipe.optimizer.name, recipe.objective.negatives) == (2, "adamw", 10)
    assert recipe.data == read_recipe(path).data
    with pytest.raises(InputError, match=r"kind\.x can't be set, since kind is a single value and has no keys\.$"):
        read_recipe(path, {"kind.x": 1})


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_written_and_read_again(tmp_path: Path, path: Path) -> None:
    recipe = read_recipe(path)
    write_recipe(recipe, tmp_path / "recipe.yaml")
    assert read_recipe(tmp_path / "recipe.yaml") == recipe
    assert "max_examples: " in (tmp_path / "recipe.yaml").read_text()  # a default that no recipe writes


def test_expand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BTR_DATA", "/corpora")
    monkeypatch.setenv("HOME", "/home/me")
    assert expand("$BTR_DATA/wi/a.m2") == expand("${BTR_DATA}/wi/a.m2") == "/corpora/wi/a.m2"
    assert expand("~/a.m2") == "/home/me/a.m2"
    assert expand("google/t5-v1_1-base") == "google/t5-v1_1-base"
    monkeypatch.delenv("BTR_DATA")
    with pytest.raises(InputError, match=r"^\$BTR_DATA/a.m2: names a variable that is not set; e\.g\. .*\.$"):
        expand("$BTR_DATA/a.m2")
