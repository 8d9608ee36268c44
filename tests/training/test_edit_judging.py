"""A BTR learns to judge edits: the loss by hand, a toy language, what a run costs, and what is refused."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import toy
import yaml
from judged import make_table, write_tables
from plain_edit_judging import plain_log_odds
from safetensors.torch import load_file
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import btr
from btr.corpus.edits import read_edit_tables
from btr.errors import InputError
from btr.models.initial import load_initial_model
from btr.rerankers import load_reranker
from btr.training.cost import count_parameters, make_layers, training_cost
from btr.training.data import read_labelled_tables
from btr.training.edit_judging import EditJudging
from btr.training.flops import batch_shape
from btr.training.objective import TrainingPair
from btr.training.recipe import Recipe, read_recipe
from btr.training.records import read_facts
from btr.training.train import save_model

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}

# Rows of other lengths; the second candidate makes the first edit too, one word further.
TABLE = make_table(
    "he go to mat .",
    ("he goes mat .", "the he goes to mat .", "he go to mat ."),
    None,
    (0, 0, "the", "M:DET", [1]),
    (1, 2, "goes", "R:VERB:SVA", [0, 1]),
    (2, 3, "", "U:PREP", [0]),
)
OTHER = make_table("I has two dog", ("I have two dog",), None, (1, 2, "have", "R:VERB:SVA", [0]))


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edits")
    tiny.save_t5(folder / "t5", bidirectional=True)
    toy.write_edits(folder, 400)
    toy.write_edits(folder, 60, seed=1, name="other")
    return folder


def write_recipe(place, path, **options):
    data = {"pairs": [str(place / "toy.m2")], "edits": [str(place / "toy.edits.jsonl")], **options.pop("data", {})}
    return toy.write_recipe(path, "edit-btr", place / "t5", "", data=data, **options)


def make_objective(model, dropout=0.0, **options):
    data = {"pairs": ["a.m2"], "edits": ["a.jsonl"], **options.pop("data", {})}
    recipe = Recipe(kind="edit-btr", model=str(model), epochs=1, data=data, **options)
    return EditJudging(recipe, *load_initial_model("edit-btr", str(model), dropout, 0))


def pair(table, *labels):
    return TrainingPair(table.candidates.source, "gold", table=table, labels=labels)


def test_the_loss_by_hand(tmp_path):
    """The logistic loss of each edit's mean log-odds, from forward passes of one candidate each."""
    folder = tiny.save_edit_btr(tmp_path)
    task = make_objective(folder)
    examples = [task.encode(pair(TABLE, True, False, True)), task.encode(pair(OTHER, True))]
    batch = task.draw(examples, [np.random.default_rng(k) for k in range(2)])
    source, (first, second, _) = TABLE.candidates.source, TABLE.candidates.texts
    odds = [
        plain_log_odds(folder, source, second, (0, 1, 0, 0)),
        (plain_log_odds(folder, source, first, (1, 2, 1, 2)) + plain_log_odds(folder, source, second, (2, 3, 1, 2)))
        / 2,
        plain_log_odds(folder, source, first, (2, 2, 2, 3)),
        plain_log_odds(folder, "I has two dog", "I have two dog", (1, 2, 1, 2)),
    ]
    signs = [1, -1, 1, 1]
    expected = sum(math.log(1 + math.exp(-sign * value)) for sign, value in zip(signs, odds))
    assert float(task.loss(batch).detach()) == pytest.approx(expected, abs=1e-4)
    assert (batch.count, batch.labels.tolist()) == (4, [1, 0, 1, 1])


def test_examples(place):
    task = make_objective(place / "t5", data={"max_source": 6, "max_target": 7})
    example = task.encode(pair(TABLE, True, False, True))
    words = task.tokenizer
    assert example["source"] == words("he go to mat .")["input_ids"]
    assert example["targets"] == [words(text)["input_ids"] for text in TABLE.candidates.texts[:2]]
    assert example["spans"] == [[0, 1, 1, 2, 1, 2], [0, 2, 2, 2, 2, 3], [1, 0, 0, 1, 0, 0], [1, 1, 2, 3, 1, 2]]
    assert example["labels"] == [1, 0, 1]
    assert task.encode(pair(make_table("he go", ("he go",), None))) is None  # nothing to judge
    for limits in ({"max_source": 5}, {"max_target": 6}):
        assert make_objective(place / "t5", data=limits).encode(pair(TABLE, True, False, True)) is None


def test_labels_by_hand(tmp_path):
    """An edit is right if any annotator made it, in the same words."""
    (tmp_path / "a.m2").write_text(
        "S he go to mat .\nA 1 2|||R|||went|||REQUIRED|||-NONE-|||0\nA 1 2|||R|||goes||||||-NONE-|||1\n"
        "A 2 3|||U||||||REQUIRED|||-NONE-|||1\n\nS I has two dog\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\n"
    )
    write_tables(tmp_path / "a.jsonl", [TABLE, OTHER])
    first, second = read_labelled_tables(str(tmp_path / "a.m2"), str(tmp_path / "a.jsonl"))
    assert (first.labels, second.labels) == ((False, True, True), (False,))
    assert (first.source, first.target, first.table) == ("he go to mat .", "he went to mat .", TABLE)


def judged_right(folder, path, gold):
    """The share of edits that a model judges rightly, and the mean loss."""
    pairs = list(read_labelled_tables(str(gold), str(path)))
    odds = load_reranker(f"edit-btr:{folder}").edit_log_odds([each.table for each in pairs])
    flat = [(value, label) for values, each in zip(odds, pairs) for value, label in zip(values, each.labels)]
    loss = sum(math.log(1 + math.exp(-value if label else value)) for value, label in flat) / len(flat)
    return sum((value > 0) == label for value, label in flat) / len(flat), loss


def test_a_toy_language_is_learnt(place, tmp_path):
    """Measured on new sentences. The embeddings are frozen and stay."""
    path = write_recipe(place, tmp_path / "r.yaml", epochs=8, freeze_embeddings=True)
    result = btr.train(path, tmp_path / "run")
    losses = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    losses = [record["loss"] for record in losses if "loss" in record]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    share, loss = judged_right(result.model, place / "other.edits.jsonl", place / "other.m2")
    assert share > 0.9
    assert loss < 0.4
    before, after = (load_file(Path(folder) / "model.safetensors") for folder in (place / "t5", result.model))
    assert torch.equal(before["shared.weight"], after["shared.weight"])
    name = "encoder.block.0.layer.0.SelfAttention.q.weight"
    assert not torch.equal(before[name], after[name])
    assert "lm_head.weight" not in after
    card = (Path(result.model) / "README.md").read_text()
    assert "--reranker edit-btr:" in card
    assert str(place / "toy.edits.jsonl") in card


@pytest.mark.parametrize("style", ["v1.1", "v1.0"])
def test_a_saved_model_judges_as_before(tmp_path, style):
    task = make_objective(tiny.save_t5(tmp_path / "t5", style))
    before = task.load_reranker().edit_log_odds([TABLE, OTHER])
    save_model(task, tmp_path)
    reranker = load_reranker(f"edit-btr:{tmp_path / 'model'}")
    assert reranker.edit_log_odds([TABLE, OTHER]) == [pytest.approx(odds, abs=1e-6) for odds in before]
    assert len({round(value, 5) for odds in before for value in odds}) == 4


GOOD = {"kind": "edit-btr", "model": "t5", "epochs": 1, "data": {"pairs": ["a.m2"], "edits": ["a.jsonl"]}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.edits": []}, "edit-btr learns from edit tables (btr score --edits); name them in data.edits"),
        ({"data.edits": ["a", "b"]}, "data.edits needs a file of edit tables for each file of data.pairs"),
        ({"validation.gold": ["a.m2"]}, "edit-btr is measured as part of a judge (btr tune --edits); leave out"),
        ({"vocabulary": "used"}, "edit-btr predicts no tokens: leave out task and vocabulary"),
        ({"task": "pre-train"}, "pre-training reads data.text, and neither pairs nor candidates"),
        ({"task": "pre-train", "data": {"text": ["a"]}}, "edit-btr predicts no tokens: leave out task and vocabulary"),
        ({"objective.negatives": 3}, "objective.negatives is no setting of edit-btr; it has none"),
        ({"data.synthetic": {"text": ["a"], "sentences": 3}}, "data.edits is about data.pairs; leave out synth"),
        ({"kind": "btr"}, "data.edits is for kinds that learn from edit tables, not for btr"),
    ],
)
def test_recipes_that_are_refused(tmp_path, changes, message):
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(GOOD))
    read_recipe(tmp_path / "r.yaml")
    with pytest.raises(InputError) as raised:
        read_recipe(tmp_path / "r.yaml", changes)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_data_that_is_refused(place, tmp_path):
    """Other sources than the M2 file's, too few or too many, other files, and nothing to judge."""
    lines = (place / "toy.edits.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "turned").write_text("".join([lines[0], *lines[:0:-1]]))
    (tmp_path / "few").write_text("".join(lines[:-2]))
    (tmp_path / "many").write_text("".join([*lines, lines[1]]))
    _, tables = read_edit_tables(place / "toy.edits.jsonl")
    sources = [make_table(table.candidates.source, (table.candidates.source,), None) for table in tables]
    write_tables(tmp_path / "nothing", sources)
    path = write_recipe(place, tmp_path / "r.yaml")
    same = f"is not of the same source as {place / 'toy.m2'}; are both in order?"
    for name, why in [
        ("turned", f"turned, line 2: {same}"),
        ("few", f"few, line 400: {same}"),
        ("many", f"many, line 402: {same}"),
        ("nothing", "no example is left to train on"),
        ("absent", "absent: no such file"),
        ("r.yaml", "r.yaml, line 1: "),
    ]:
        with pytest.raises(InputError) as raised:
            btr.train(path, tmp_path / f"run-{name}", changes={"data.edits": [str(tmp_path / name)]})
        assert why in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_flops_of_a_batch_are_those_of_torchs_counter(tmp_path, dropout):
    """Also of the head, which reads each edit of each candidate once."""
    task = make_objective(tiny.save_t5(tmp_path, d_model=64, d_ff=160, d_kv=16), dropout)
    task.model.train()
    examples = [task.encode(pair(TABLE, True, False, True)), task.encode(pair(OTHER, True))]
    batch = task.draw(examples, [np.random.default_rng(k) for k in range(2)])
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        task.loss(batch).backward()
    flops = make_layers(task.recipe, task.model, None).flops(batch_shape(map(task.work, examples), True))
    assert flops.total == counter.get_total_flops() > 0
    assert flops.head == 6 * 5 * (4 * 64 * 256 + 256)  # five edits of three candidates


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_dry_run_says_what_training_then_does(place, tmp_path, is_frozen):
    data = {"pairs": [str(place / "other.m2")], "edits": [str(place / "other.edits.jsonl")]}
    path = write_recipe(place, tmp_path / "r.yaml", data=data, freeze_embeddings=is_frozen)
    (cost,) = training_cost(path).stages
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        trained = btr.train(path, tmp_path / "run")
    facts = read_facts(tmp_path / "run")
    assert (cost.parameters, cost.trained, cost.pairs) == (facts.parameters, facts.trained, facts.examples)
    assert (cost.updates, cost.tokens) == (trained.steps, trained.tokens)
    assert cost.flops.total == counter.get_total_flops()
    assert cost.data == "read"
    assert (cost.trained < cost.parameters) == is_frozen


def test_a_dry_run_without_the_data(place, tmp_path):
    """Absent edit tables count as absent data; without counts, one sentence says so."""
    path = write_recipe(place, tmp_path / "r.yaml", data={"edits": [str(tmp_path / "absent.jsonl")]})
    with pytest.raises(InputError, match=r"its data .*absent\.jsonl is not at hand.*expected\.pairs=N"):
        training_cost(path)
    expected = {"pairs": 100, "targets": 300, "source_tokens": 9, "target_tokens": 10}
    (cost,) = training_cost(path, changes={"expected": expected}).stages
    assert (cost.data, cost.pairs, cost.targets, cost.tokens) == ("expected", 100, 300, 100 * (9 + 30))
    assert cost.flops.total > 0


def test_activations_are_about_what_is_stored_for_the_backward_pass(tmp_path):
    task = make_objective(tiny.save_t5(tmp_path, d_model=64, d_ff=160, d_kv=16), dropout=0.1)
    task.model.train()
    row = [7] * 40
    example = {"source": row, "targets": [row] * 3, "spans": [[k, 0, 5, 6, 5, 6] for k in range(3)], "labels": [1.0]}
    weights = {weight.untyped_storage().data_ptr() for weight in task.model.parameters()}
    stored = {}

    def store(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tensor.is_floating_point():
            stored[storage.data_ptr()] = tensor  # which stays alive, so that no other takes its address
        return tensor

    batch = task.draw([example] * 4, [np.random.default_rng(k) for k in range(4)])
    with torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor):
        task.loss(batch)
    numbers = sum(tensor.untyped_storage().nbytes() for tensor in stored.values()) / 4
    shape = batch_shape([task.work(example)] * 4, True)
    assert make_layers(task.recipe, task.model, None).activations(shape) == pytest.approx(numbers, rel=0.15)


def test_counted_parameters(place):
    recipe = read_recipe(write_recipe(place, place / "frozen.yaml", freeze_embeddings=True))
    task = make_objective(place / "t5")
    task.freeze_embeddings()
    trained = sum(weight.numel() for weight in task.model.parameters() if weight.requires_grad)
    assert count_parameters(recipe, task.model)[1] == trained


def test_two_processes_train_as_one(place, tmp_path):
    path = write_recipe(place, tmp_path / "r.yaml", steps=6, epochs=None, micro_tokens=512, freeze_embeddings=True)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for start, name in (([], "one"), (launcher, "two")):
        command = [sys.executable, *start, "-m", "btr.cli", "train", path, "--output", tmp_path / name]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
    assert [read_facts(tmp_path / name).processes for name in ("one", "two")] == [1, 2]
    one, two = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("one", "two"))
    assert all(torch.allclose(one[name], two[name], atol=1e-4) for name in one)
    start = load_file(place / "t5" / "model.safetensors")
    assert max(float((one[name] - start[name]).abs().max()) for name in one if name in start) > 1e-3
