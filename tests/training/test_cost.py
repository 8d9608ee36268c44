"""`btr train --dry-run`: FLOPs against torch's counter, memory against what is stored, and counts by hand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import toy
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import btr
from btr.cli import app
from btr.errors import InputError
from btr.models.initial import load_initial_model
from btr.training import OBJECTIVES
from btr.training.cost import count_parameters, make_layers, optimizer_numbers, stage_cost, training_cost
from btr.training.flops import BatchShape, T5Layers, batch_shape
from btr.training.loop import make_optimizer
from btr.training.masking import corrupt_spans, span_lengths
from btr.training.recipe import Recipe, read_recipe
from btr.training.records import read_facts

ROOT = Path(__file__).parents[2]
PAPER = sorted((ROOT / "recipes" / "paper").glob("*.yaml"))
SHAPE = {"d_model": 64, "d_ff": 160, "d_kv": 16, "num_layers": 3}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cost")
    toy.write(folder, 60)
    tiny.save_t5(folder / "t5", **SHAPE)
    tiny.save_encoder(folder / "roberta", "roberta")
    tiny.save_classifier(folder / "bert")
    (folder / "text.txt").write_text("the cat sat on the mat . he has two dogs .\n" * 20)
    return folder


def write_recipe(place, kind, model, negatives=0, name=None, **options):
    pairs, candidates = str(place / "toy.tsv"), str(place / "toy.jsonl") if negatives else None
    path = place / f"{name or kind}.yaml"
    objective = {"negatives": negatives} if negatives else {}
    return toy.write_recipe(path, kind, place / model, pairs, candidates, objective=objective, **options)


def make_objective(recipe, dropout=0.0):
    kind = OBJECTIVES[recipe.kind]
    model, tokenizer = load_initial_model(kind.model_kind, recipe.model, dropout, 0)
    objective = kind(recipe, model.train(), tokenizer)
    if recipe.freeze_embeddings:
        objective.freeze_embeddings()
    return objective


def t5_example(rng, targets):
    """Sources and targets of other lengths in every example, so that there is padding on both sides."""
    lengths = rng.integers(2, 20, 1 + targets)
    source, *rows = [[*map(int, rng.integers(3, 20, length)), 1] for length in lengths]
    return {"source": source, "targets": rows}


def encoder_example(rng, targets):
    rows = [[*map(int, rng.integers(5, 20, length))] for length in rng.integers(9, 20, targets)]
    return {"source": [], "targets": rows, "positions": [[*range(4, len(row))] for row in rows]}


@pytest.mark.parametrize(
    ("kind", "model", "negatives"),
    [
        ("seq2seq", "t5", 0),
        ("r2l", "t5", 0),
        ("btr", "t5", 0),
        ("btr", "t5", 3),
        ("roberta", "roberta", 0),
        ("roberta", "roberta", 3),
        ("bert", "bert", 0),
    ],
)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_flops_of_a_batch_are_those_of_torchs_counter(place, kind, model, negatives, dropout):
    recipe = read_recipe(write_recipe(place, kind, model, negatives))
    objective = make_objective(recipe, dropout)
    rng = np.random.default_rng(1)
    make = t5_example if model == "t5" else encoder_example
    examples = [make(rng, 1 + (k % (negatives + 1))) for k in range(5)]
    batch = objective.draw(examples, [np.random.default_rng(k) for k in range(5)])
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        objective.loss(batch).backward()
    shape = batch_shape(map(objective.work, examples), objective.is_t5)
    assert make_layers(recipe, objective.model, None).flops(shape).total == counter.get_total_flops() > 0


@pytest.mark.parametrize("kind", ["btr", "r2l"])
def test_flops_of_pre_training(place, kind):
    objective = make_objective(read_recipe(write_recipe(place, kind, "t5")))
    data = {"text": [str(place / "text.txt")]}
    objective.recipe = Recipe(kind=kind, task="pre-train", model=str(place / "t5"), epochs=1, data=data)
    objective.sentinels = [*range(20, 29)]  # which the tiny tokenizer does not have
    examples = [{"source": [*range(3, 3 + length)], "targets": [[]]} for length in (9, 16, 12)]
    batch = objective.draw(examples, [np.random.default_rng(k) for k in range(3)])
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        objective.loss(batch).backward()
    drawn = batch.inputs
    shape = BatchShape(*drawn.sources.shape, *drawn.rows.shape, len(drawn.positions))
    assert T5Layers(objective.model, None, False).flops(shape).total == counter.get_total_flops()


def test_flops_of_each_part(place):
    """The encoder and the head by themselves; the rest is the decoder's, of which attention to the source is worked out
    by hand: 3 layers, width 64, 4 heads of 16, two sources of 5 tokens, one row of 7 tokens each."""
    model, _ = load_initial_model("seq2seq", str(place / "t5"), 0.0, 0)
    flops = T5Layers(model, None, False).flops(BatchShape(2, 5, 2, 7, 14))
    ids = torch.full((2, 5), 4)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model.encoder(input_ids=ids).last_hidden_state.sum().backward()
    assert flops.encoder == counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        model.lm_head(torch.ones(14, 64, requires_grad=True)).sum().backward()
    assert flops.head == counter.get_total_flops()
    projections = 2 * 64 * 64 * (10 + 14)  # keys and values of 10 tokens, queries and output of 14
    products = 2 * 64 * 14 * 5  # each row's token with each token of its source, twice
    assert flops.cross_attention == 6 * 3 * (projections + products)


@pytest.mark.parametrize(
    ("kind", "model", "negatives", "options"),
    [
        ("btr", "t5", 3, {}),
        ("seq2seq", "t5", 0, {"freeze_embeddings": True, "vocabulary": "used", "steps": 4, "epochs": None}),
        ("roberta", "roberta", 2, {"optimizer": {"name": "adafactor"}}),
        ("bert", "bert", 0, {}),
    ],
)
def test_a_dry_run_says_what_training_then_does(place, tmp_path, kind, model, negatives, options):
    """Pairs, updates, tokens, parameters and FLOPs of a whole run; some FLOPs differ by where an epoch ends."""
    path = write_recipe(place, kind, model, negatives, batch_tokens=256, micro_tokens=128, **options)
    (cost,) = training_cost(path).stages
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        trained = btr.train(path, tmp_path / "run")
    facts = read_facts(tmp_path / "run")
    assert (cost.parameters, cost.trained, cost.pairs) == (facts.parameters, facts.trained, facts.examples)
    assert cost.updates == trained.steps
    if options.get("steps"):
        assert cost.tokens == pytest.approx(trained.tokens, rel=0.1)
        assert cost.flops.total == pytest.approx(counter.get_total_flops(), rel=0.1)
    else:
        assert cost.tokens == trained.tokens
        assert cost.flops.total == counter.get_total_flops()
    assert cost.data == "read"


@pytest.mark.parametrize("optimizer", ["adafactor", "adamw"])
def test_the_optimizers_memory(place, optimizer):
    recipe = read_recipe(write_recipe(place, "btr", "t5", optimizer={"name": optimizer}))
    model = make_objective(recipe).model
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    made = make_optimizer(recipe.optimizer, list(model.parameters()))
    made.step()
    stored = [value for state in made.state.values() for value in state.values() if torch.is_tensor(value)]
    assert sum(value.numel() for value in stored if value.dim()) == optimizer_numbers(recipe, model)


@pytest.mark.parametrize(
    ("kind", "model", "targets", "lengths"),
    [("btr", "t5", 1, 25), ("btr", "t5", 5, 60), ("seq2seq", "t5", 1, 40), ("roberta", "roberta", 2, 40)],
)
def test_activations_are_about_what_is_stored_for_the_backward_pass(place, kind, model, targets, lengths):
    recipe = read_recipe(write_recipe(place, kind, model, name=f"activations-{kind}"))
    objective = make_objective(recipe, dropout=0.1)
    row = [7] * lengths
    example = {
        "source": row if model == "t5" else [],
        "targets": [row] * targets,
        "positions": [[*range(20)]] * targets,
    }
    weights = {weight.untyped_storage().data_ptr() for weight in objective.model.parameters()}
    stored = {}

    def store(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tensor.is_floating_point():
            stored[storage.data_ptr()] = tensor  # which stays alive, so that no other takes its address
        return tensor

    batch = objective.draw([example] * 4, [np.random.default_rng(k) for k in range(4)])
    with torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor):
        objective.loss(batch)
    numbers = sum(tensor.untyped_storage().nbytes() for tensor in stored.values()) / 4
    shape = batch_shape([objective.work(example)] * 4, objective.is_t5)
    assert make_layers(recipe, objective.model, None).activations(shape) == pytest.approx(numbers, rel=0.15)


@pytest.mark.parametrize("style", ["independent", "mean-3"])
def test_mean_lengths_of_corrupted_spans(style):
    for length in (12, 56, 300):
        draws = [
            corrupt_spans([5] * length, 0.15, np.random.default_rng(k), range(100, 199), 1, style) for k in range(400)
        ]
        source, target = (np.mean([len(draw[side]) for draw in draws]) for side in (0, 1))
        assert span_lengths(length, 0.15, style) == pytest.approx((source, target), abs=0.7)


def expected_recipe(place, **options):
    """A recipe whose data is not at hand."""
    path = write_recipe(place, "btr", "t5", 2, name="absent", batch_tokens=1000, micro_tokens=500, **options)
    path.write_text(path.read_text().replace("toy.tsv", "absent.tsv"))
    return path


def test_expected_counts_stand_in_for_absent_data(place):
    """100 sources of 9 tokens with 2.5 targets of 10 each: 50 have two, 50 three; 900 + 2,500 tokens per epoch."""
    expected = {"pairs": 100, "targets": 250, "source_tokens": 9, "target_tokens": 10}
    path = expected_recipe(place, expected=expected, epochs=3)
    (cost,) = training_cost(path).stages
    assert (cost.data, cost.pairs, cost.targets) == ("expected", 100, 250)
    assert (cost.tokens, cost.updates) == (3 * 3400, 3 * 3)
    layers = T5Layers(make_objective(read_recipe(path)).model, None, False)
    # Rows have one token more, the start; 15 % of 10 tokens are 2 masks.
    one = [layers.flops(BatchShape(1, 9, rows, 11, 2 * rows)).total for rows in (2, 3)]
    assert cost.flops.total == pytest.approx(3 * 50 * sum(one))
    longer = stage_cost(read_recipe(path, {"epochs": None, "steps": 30}), path)
    assert (longer.updates, longer.epochs) == (30, 10.0)
    assert longer.flops.total == pytest.approx(10 / 3 * cost.flops.total)


def test_absent_data_without_counts(place):
    with pytest.raises(InputError, match=r"its data .*absent\.tsv is not at hand.*--set expected\.pairs=N") as raised:
        training_cost(expected_recipe(place))
    assert "\n" not in str(raised.value)
    changes = {"expected.pairs": 10, "expected.source_tokens": 5}
    assert training_cost(expected_recipe(place), changes=changes).stages[0].pairs == 10


def test_hours_by_hand(place):
    path = write_recipe(place, "bert", "bert")
    cost = training_cost(path, devices=4, flops_per_second=1e6)
    (stage,) = cost.stages
    assert cost.hours == stage.hours == stage.flops.total / 4e6 / 3600
    for wrong in ({"devices": 0}, {"flops_per_second": 0.0}):
        with pytest.raises(InputError, match=r"must be above 0"):
            training_cost(path, **wrong)


def test_no_weights_are_needed(place, tmp_path):
    """A folder with configuration and tokenizer only."""
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((place / "t5" / name).read_text())
    path = write_recipe(place, "btr", "t5")
    full = training_cost(path)
    assert training_cost(path, changes={"model": str(tmp_path)}) == full


def test_earlier_stages_whose_models_do_not_exist(place):
    base = write_recipe(place, "seq2seq", "t5", name="base")
    last = write_recipe(place, "btr", "runs/base/model", name="last")
    cost = training_cost(last)
    assert [stage.recipe for stage in cost.stages] == ["base", "last"]
    assert cost.hours == sum(stage.hours for stage in cost.stages)
    assert cost.stages[0] == training_cost(base).stages[0]
    circular = write_recipe(place, "seq2seq", "runs/last/model", name="base")
    with pytest.raises(InputError, match="made from this recipe's own model"):
        training_cost(circular)
    with pytest.raises(InputError, match=r"runs/none/model: no such folder; train it first, or name"):
        training_cost(write_recipe(place, "btr", "runs/none/model"))


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_the_papers_recipes_have_costs_without_data_or_hub(path, monkeypatch):
    monkeypatch.delenv("BTR_DATA", raising=False)
    cost = stage_cost(read_recipe(path), path, devices=2)
    assert cost.data == "expected"
    # T5 v1.1 base and large, BERT large and RoBERTa base, as their cards have it.
    expected = {"bert": 334e6, "roberta": 125e6}.get(cost.kind, 783e6 if "large" in path.stem else 248e6)
    assert cost.parameters == cost.trained == pytest.approx(expected, rel=0.01)
    # What the paper reports for two A100s; this is where the default rate comes from.
    days = {"btr-pretrain": 13, "r2l-pretrain": 2}.get(path.stem)
    if days:
        assert cost.hours / 24 == pytest.approx(days, rel=0.1)
        assert cost.updates == read_recipe(path).steps


def test_frozen_embeddings_are_not_trained(place):
    for kind in ("seq2seq", "btr"):
        recipe = read_recipe(write_recipe(place, kind, "t5", name=f"frozen-{kind}", freeze_embeddings=True))
        objective = make_objective(recipe)
        trained = sum(weight.numel() for weight in objective.model.parameters() if weight.requires_grad)
        assert count_parameters(recipe, objective.model)[1] == trained


def test_the_command(place, capsys):
    path = str(write_recipe(place, "seq2seq", "t5"))
    app(["train", path, "--dry-run", "--devices", "2", "--set", "epochs=3", "--json"], standalone_mode=False)
    shown = json.loads(capsys.readouterr().out)
    assert shown == training_cost(path, changes={"epochs": 3}, devices=2).to_dict()
    assert shown["stages"][0]["memory"]["total"] == sum(list(shown["stages"][0]["memory"].values())[:-1])
    paper = str(ROOT / "recipes" / "paper" / "btr-finetune-a20.yaml")
    command = [sys.executable, "-m", "btr.cli", "train", paper, "--dry-run"]
    environment = {**os.environ, "COLUMNS": "80"}
    environment.pop("BTR_DATA", None)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    *table, _, _, _ = done.stdout.splitlines()
    assert max(map(len, table)) <= 80
    assert table[1].split() == ["t5gec-base", "btr-pretrain", "btr-finetune-a20"]
    assert "247,577,856" in table[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dry-run"], "--dry-run takes a recipe"),
        (["RECIPE", "--dry-run", "--output", "run"], "neither --output nor --max-steps"),
        (["RECIPE", "--devices", "2", "--output", "run"], "--devices and --flops-per-second are for --dry-run"),
        (["--plot", "run", "--dry-run"], "--plot draws an existing run"),
    ],
)
def test_options_that_do_not_go_together(place, arguments, message):
    path = str(write_recipe(place, "seq2seq", "t5"))
    with pytest.raises(InputError, match=message):
        app(["train", *(path if word == "RECIPE" else word for word in arguments)], standalone_mode=False)
