"""`btr train`: a toy language is learnt, runs are stopped and resumed, and shared by two processes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import tiny
import torch
import toy
import yaml
from safetensors.torch import load_file

import btr
from btr.errors import InputError, Interrupted
from btr.rerankers import load_reranker
from btr.training.recipe import read_recipe
from btr.training.records import read_history

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*/*.yaml"))
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
FRESH = list(toy.sentences(60, 99))
RERANKERS = {"seq2seq": "l2r", "listwise": "btr"}  # that load the model of an objective, if of another name


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    toy.write(folder, 400)
    tiny.save_t5(folder / "t5")
    tiny.save_encoder(folder / "encoder", "bert")
    return folder


def read_log(run):
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def learn(place, name, kind, model, negatives=0, **options):
    """Train on the toy language; return how often gold is ranked first in new sentences, and the first choice's f."""
    objective = {"negatives": negatives, **options.pop("objective", {})}
    candidates = str(place / "toy.jsonl") if negatives else None
    recipe = toy.write_recipe(
        place / f"{name}.yaml", kind, place / model, str(place / "toy.tsv"), candidates, objective=objective, **options
    )
    result = btr.train(recipe, place / f"run-{name}")
    assert result.complete
    return toy.gold_first(load_reranker(f"{RERANKERS.get(kind, kind)}:{result.model}"), FRESH)


def test_a_base_model_and_an_r2l_learn(place):
    assert learn(place, "base", "seq2seq", "t5", epochs=8)[0] > 0.9
    assert learn(place, "r2l", "r2l", "t5", epochs=8)[0] > 0.9


def test_a_btr_learns_and_negatives_make_it_sure(place):
    """The paper's figure 4: the distribution over ranks is more peaked with negatives than without."""
    hits, share = learn(place, "btr", "btr", "t5", epochs=8)
    assert hits > 0.9
    with_negatives, peaked = learn(place, "negatives", "btr", "t5", negatives=3, epochs=8)
    assert with_negatives > 0.9
    assert peaked > share + 0.1


@pytest.mark.parametrize(
    ("name", "kind", "objective"),
    [
        ("listwise", "listwise", {}),
        ("shared", "listwise", {"temperature": 0.1}),
        ("beside", "listwise", {"temperature": 0.1, "gap": 2.0}),
        ("focus", "btr", {"focus_share": 0.8}),
    ],
)
def test_variants_learn(place, name, kind, objective):
    assert learn(place, name, kind, "t5", negatives=3, objective=objective, epochs=6)[0] > 0.9


def test_the_model_is_averaged_with_its_start(place):
    """What is saved is 0.25 of the start and 0.75 of what was trained, also of a run that was stopped on the way."""
    pairs = str(place / "toy.tsv")
    recipe = toy.write_recipe(place / "plain.yaml", "seq2seq", place / "t5", pairs, epochs=None, steps=6)
    trained = load_file(Path(btr.train(recipe, place / "run-plain").model) / "model.safetensors")
    options = {"epochs": None, "steps": 6, "average_with_start": 0.25}
    recipe = toy.write_recipe(place / "average.yaml", "seq2seq", place / "t5", pairs, **options)
    btr.train(recipe, place / "run-average", max_steps=3)
    averaged = load_file(Path(btr.train(recipe, place / "run-average").model) / "model.safetensors")
    first = load_file(place / "t5" / "model.safetensors")
    assert any((averaged[name] - trained[name]).abs().max() > 1e-4 for name in averaged)
    for name, weight in averaged.items():
        torch.testing.assert_close(weight, 0.25 * first[name] + 0.75 * trained[name])


def test_the_model_is_averaged_with_others(place):
    pairs = str(place / "toy.tsv")
    others = [tiny.save_t5(place / name, seed=seed) for name, seed in (("one", 5), ("two", 6))]
    shares = {"average_with_start": 0.25, "average_with": {others[1]: 0.125}}
    short = {"epochs": None, "steps": 2}
    recipe = toy.write_recipe(place / "alone.yaml", "seq2seq", others[0], pairs, **short)
    trained = load_file(Path(btr.train(recipe, place / "run-alone").model) / "model.safetensors")
    recipe = toy.write_recipe(place / "shares.yaml", "seq2seq", others[0], pairs, **shares, **short)
    averaged = load_file(Path(btr.train(recipe, place / "run-shares").model) / "model.safetensors")
    one, two = (load_file(Path(folder) / "model.safetensors") for folder in others)
    for name, weight in averaged.items():
        torch.testing.assert_close(weight, 0.625 * trained[name] + 0.25 * one[name] + 0.125 * two[name])


def test_models_of_another_shape_are_not_averaged(place):
    other = tiny.save_t5(place / "other", d_ff=24)
    recipe = toy.write_recipe(
        place / "shape.yaml", "seq2seq", place / "t5", str(place / "toy.tsv"), average_with={other: 0.5}, epochs=1
    )
    with pytest.raises(InputError, match=r"other: has other weights than .*; they can't be averaged\."):
        btr.train(recipe, place / "run-shape")


def test_encoders_learn(place):
    slower = {"name": "adamw", "learning_rate": 0.001, "schedule": "linear", "warmup_steps": 20}
    assert learn(place, "bert", "bert", "encoder", epochs=30, optimizer=slower)[0] > 0.9
    slower["learning_rate"] = 0.002
    assert (
        learn(place, "roberta", "roberta", "encoder", epochs=70, optimizer=slower, objective={"mask_share": 0.3})[0]
        > 0.7
    )


def test_adafactor_learns(place):
    constant = {"name": "adafactor", "learning_rate": 0.003}
    assert learn(place, "adafactor", "btr", "t5", epochs=8, optimizer=constant)[0] > 0.9


def test_killed_between_the_last_update_and_the_end_of_its_epoch(place, tmp_path, monkeypatch):
    """What is known of the progress is that of an undisturbed run, also where the number of steps ends an epoch."""
    toy.write(tmp_path, 40)
    short = {"checkpoint_minutes": 0, "batch_tokens": 256}
    recipe = toy.write_recipe(tmp_path / "a.yaml", "seq2seq", place / "t5", str(tmp_path / "toy.tsv"), **short)
    short |= {"epochs": None, "steps": btr.train(recipe, tmp_path / "epoch").steps}
    recipe = toy.write_recipe(tmp_path / "b.yaml", "seq2seq", place / "t5", str(tmp_path / "toy.tsv"), **short)
    btr.train(recipe, tmp_path / "whole")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("btr.training.train.validate", killed)
        with pytest.raises(KeyboardInterrupt):
            btr.train(recipe, tmp_path / "killed")
    btr.train(recipe, tmp_path / "killed")
    whole, resumed = (
        json.loads((tmp_path / name / "checkpoint" / "progress.json").read_text()) for name in ("whole", "killed")
    )
    assert {**resumed, "seconds": 0} == {**whole, "seconds": 0}
    assert (whole["epoch"], whole["update"]) == (1, 0)


def test_killed_and_resumed_the_weights_are_the_same(tmp_path):
    """A real process, killed without warning in the middle of an epoch: bit for bit the same weights in the end."""
    pairs, candidates = toy.write(tmp_path, 300)
    tiny.save_t5(tmp_path / "t5")
    recipe = toy.write_recipe(
        tmp_path / "r.yaml",
        "btr",
        tmp_path / "t5",
        pairs,
        candidates,
        objective={"negatives": 2},
        dropout=0.1,
        epochs=3,
        checkpoint_minutes=0.0,
    )
    command = [sys.executable, "-m", "btr.cli", "train", recipe, "--output"]
    process = subprocess.Popen([*command, tmp_path / "cut"], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    log = tmp_path / "cut" / "log.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not log.exists() or log.read_text().count("\n") < 4):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    checkpoints = [tmp_path / "cut" / name / "progress.json" for name in ("checkpoint", "checkpoint.old")]
    progress = json.loads(next(path for path in checkpoints if path.exists()).read_text())
    assert progress["update"] > 0  # within an epoch
    before = log.read_text().splitlines()[: progress["step"]]
    assert not (tmp_path / "cut" / "run.json").exists()
    for name in ("cut", "whole"):
        subprocess.run([*command, tmp_path / name], env=ENVIRONMENT, check=True, capture_output=True)
    weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("cut", "whole")]
    assert weights[0] == weights[1]
    losses = [[record["loss"] for record in read_log(tmp_path / name)] for name in ("cut", "whole")]
    assert losses[0] == losses[1]
    assert log.read_text().splitlines()[: len(before)] == before  # with their times: they were not done again


LAUNCHERS = {
    "torchrun": "torch.distributed.run --standalone --nproc-per-node 2",  # a port of its own: tests run side by side
    "accelerate": "accelerate.commands.launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no "
    "--dynamo_backend no --main_process_port 0",  # any port that is free
}


ONE_BATCH = {"micro_tokens": 1024, "freeze_embeddings": True, "vocabulary": "used"}


@pytest.mark.parametrize(
    ("launcher", "kind", "options"),
    [("torchrun", "btr", {}), ("accelerate", "btr", {}), ("torchrun", "btr", ONE_BATCH), ("torchrun", "roberta", {})],
)
def test_two_processes_train_as_one(tmp_path, launcher, kind, options):
    """The same weights to float tolerance: with some four batches per update, and with one, which leaves one idle.

    Under `accelerate` the run is stopped on the way, and resumed.
    """
    pairs, candidates = toy.write(tmp_path, 200)
    (tiny.save_t5 if kind == "btr" else tiny.save_encoder)(tmp_path / "start")
    recipe = toy.write_recipe(
        tmp_path / "r.yaml",
        kind,
        tmp_path / "start",
        pairs,
        candidates,
        objective={"negatives": 2},
        steps=12,
        epochs=None,
        dropout=0.1,
        precision="float32",  # bfloat16 rounds by more than the tolerance
        **{"micro_tokens": 256, **options},
    )
    btr.train(recipe, tmp_path / "one")
    launched = [sys.executable, "-m", *LAUNCHERS[launcher].split(), "-m", "btr.cli"]
    command = [*launched, "train", recipe, "--output", tmp_path / "two"]
    for limit in [["--max-steps", "6"], []] if launcher == "accelerate" else [[]]:
        done = subprocess.run([*command, *limit], env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        assert kind != "btr" or "Warning" not in done.stderr
    facts = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("one", "two")]
    assert [fact["processes"] for fact in facts] == [1, 2]
    one, two = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("one", "two"))
    start = load_file(tmp_path / "start" / "model.safetensors")
    assert max(float((one[name] - start[name]).abs().max()) for name in one) > 1e-3  # they did move
    # The bias of a key has no effect on attention: its gradient is rounding, which AdamW scales up to whole steps.
    assert all(torch.allclose(one[name], two[name], atol=1e-4) for name in one if not name.endswith("key.bias"))


def gold_file(tmp_path):
    """The held-out sentences as M2, and their candidates."""
    m2, candidates = tmp_path / "held.m2", tmp_path / "held.jsonl"
    toy.write_m2(m2, FRESH)
    toy.write_candidates(candidates, FRESH)
    return str(m2), str(candidates)


def test_the_best_epoch_is_kept(tmp_path, place):
    m2, candidates = gold_file(tmp_path)
    recipe = toy.write_recipe(
        tmp_path / "r.yaml",
        "btr",
        place / "t5",
        str(place / "toy.tsv"),
        str(place / "toy.jsonl"),
        objective={"negatives": 2},
        validation={"gold": [m2], "candidates": candidates},
        epochs=5,
    )
    result = btr.train(recipe, tmp_path / "run")
    measured = [record["validation"] for record in read_log(tmp_path / "run") if "validation" in record]
    assert len(measured) == 5
    assert result.best.value == max(row["value"] for row in measured) > measured[0]["base"]
    assert result.best == read_history(tmp_path / "run").best.measures
    assert set(measured[0]["grid"]) == {f"{k / 10:.1f}" for k in range(10)}
    assert max(measured[-1]["grid"].values()) == measured[-1]["value"]
    btr.score(candidates, [f"btr:{result.model}"], tmp_path / "scores.jsonl")
    reranked = btr.rerank([tmp_path / "scores.jsonl"], threshold=result.best.threshold, top=5, gold=[m2])
    assert reranked.evaluation.reranked.value == pytest.approx(result.best.value)
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert result.best.signature in card
    assert read_recipe(tmp_path / "run" / "model" / "recipe.yaml") == read_recipe(recipe)
    assert list((tmp_path / "run" / "tensorboard").iterdir())
    kept = {name: (tmp_path / "run" / name).read_bytes() for name in ("log.jsonl", "model/README.md")}
    again = btr.train(recipe, tmp_path / "run")  # there is nothing to do
    assert again.best == result.best
    assert again.new_steps == 0
    assert {name: (tmp_path / "run" / name).read_bytes() for name in kept} == kept
    done = subprocess.run(
        [sys.executable, "-m", "btr.cli", "train", "--plot", tmp_path / "run"], capture_output=True, text=True
    )
    assert [Path(line).exists() for line in done.stdout.splitlines()] == [True, True]


def test_a_base_model_is_validated_by_what_it_writes(tmp_path, place):
    m2, _ = gold_file(tmp_path)
    for engine, epochs in (("transformers", 1), ("ctranslate2", 20)):
        recipe = toy.write_recipe(
            tmp_path / "r.yaml",
            "seq2seq",
            place / "t5",
            str(place / "toy.tsv"),
            validation={"gold": [m2], "engine": engine, "sentences": 20},
            epochs=epochs,
            freeze_embeddings=True,
            vocabulary="used",
        )
        result = btr.train(recipe, tmp_path / engine)
        assert "held.m2" in result.best.signature
        assert "[:20]" in result.best.signature
    assert result.best.value > 50
    before, after = (load_file(folder / "model.safetensors") for folder in (place / "t5", tmp_path / engine / "model"))
    assert torch.equal(before["shared.weight"], after["shared.weight"])  # frozen


def test_a_frozen_btr_learns_its_mask(tmp_path, place):
    recipe = toy.write_recipe(
        tmp_path / "r.yaml", "btr", place / "t5", str(place / "toy.tsv"), freeze_embeddings=True, vocabulary="used"
    )
    btr.train(recipe, tmp_path / "run")
    before, after = (load_file(folder / "model.safetensors") for folder in (place / "t5", tmp_path / "run" / "model"))
    changed = (before["shared.weight"] != after["shared.weight"]).any(1).nonzero().flatten().tolist()
    assert changed == [tiny.t5_tokenizer().get_vocab()["<extra_id_0>"]]


def with_sentinels(folder):
    """A tiny T5 that can name spans."""
    tiny.save_t5(folder, vocab_size=40)
    tokenizer = tiny.t5_tokenizer()
    tokenizer.add_tokens([f"<extra_id_{k}>" for k in range(1, 6)])
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recipes_run(tmp_path, place, path, monkeypatch):
    """A few updates of each, with tiny models and data in place of the recipe's."""
    monkeypatch.setenv("BTR_DATA", "/no/data")
    monkeypatch.setenv("BTR_ENCODER", "/no/encoder")
    recipe = read_recipe(path)
    m2, candidates = gold_file(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{gold} {gold} {source}\n" for source, gold, _ in FRESH))
    start = place / ("encoder" if recipe.kind in ("roberta", "bert") else "t5")
    changes = {"batch_tokens": 512, "micro_tokens": 512, "model": str(start)}
    if recipe.task == "pre-train":
        changes |= {"data.text": [str(text)], "model": with_sentinels(tmp_path / "t5")}
    else:
        if recipe.data.synthetic is not None:
            changes["data.synthetic"] = None
        changes["average_with"] = {str(start): share for share in recipe.average_with.values()}
        changes["data.pairs"] = [str(place / "toy.tsv")]
        changes["data.candidates"] = [str(place / "toy.jsonl")] if recipe.data.candidates else []
        if recipe.data.edits:
            pairs, edits = toy.write_edits(tmp_path, 240)  # enough for three updates
            changes |= {"data.pairs": [pairs], "data.edits": [edits]}
    if recipe.validation.gold:
        changes |= {"validation.gold": [m2], "validation.sentences": 10}
        if recipe.validation.candidates:
            changes["validation.candidates"] = candidates
        if recipe.validation.partner:
            changes["validation.partner"] = str(place / "t5")
    result = btr.train(path, tmp_path / "run", changes=changes, max_steps=3)
    assert result.steps == 3
    assert all(0 < record["loss"] < 100 for record in read_log(tmp_path / "run") if "loss" in record)


def test_ctrl_c_loses_nothing(tmp_path, place):
    adafactor = {"name": "adafactor", "learning_rate": 0.001}
    recipe = toy.write_recipe(
        tmp_path / "r.yaml", "seq2seq", place / "t5", str(place / "toy.tsv"), epochs=12, optimizer=adafactor
    )
    log = tmp_path / "run" / "log.jsonl"

    def interrupt():
        while not log.exists() or log.read_text().count("\n") < 3:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt, daemon=True)
    watcher.start()
    with pytest.raises(Interrupted, match="the same command continues where it stopped"):
        btr.train(recipe, tmp_path / "run")
    watcher.join()
    before = read_log(tmp_path / "run")
    assert len(before) >= 3
    result = btr.train(recipe, tmp_path / "run")
    assert read_log(tmp_path / "run")[: len(before)] == before
    whole = btr.train(recipe, tmp_path / "whole")
    assert result.complete
    assert 0 < result.new_steps < whole.new_steps == whole.steps
    weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("run", "whole")]
    assert weights[0] == weights[1]


def test_what_is_refused(tmp_path, place):
    good = toy.write_recipe(tmp_path / "r.yaml", "seq2seq", place / "t5", str(place / "toy.tsv"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty, and no run; choose another folder"):
        btr.train(good, tmp_path / "full")
    btr.train(good, tmp_path / "run", max_steps=1)
    with pytest.raises(InputError, match="is a run of another recipe"):
        btr.train(good, tmp_path / "run", changes={"seed": 5})
    for changes, message in [
        ({"data.pairs": ["nowhere.tsv"]}, r"nowhere\.tsv: no such file"),
        ({"data.pairs": ["$NO_SUCH_VARIABLE/x.tsv"]}, "names a variable that is not set"),
        ({"model": str(place / "encoder")}, "is a bert model, but seq2seq is trained from a T5"),
        ({"data.max_source": 2}, "no example is left to train on"),
        ({"kind": "btr", "objective.negatives": 1, "data.candidates": [str(tmp_path / "c.jsonl")]}, "same source"),
    ]:
        (tmp_path / "c.jsonl").write_text('{"source": "other", "candidates": ["x"]}\n')
        with pytest.raises(InputError, match=message):
            btr.train(good, tmp_path / f"run-{len(changes)}-{re.sub(chr(92) + 'W', '', message)}", changes=changes)


def test_a_run_whose_data_changed_is_refused(tmp_path, place):
    pairs, _ = toy.write(tmp_path, 100)
    recipe = toy.write_recipe(tmp_path / "r.yaml", "seq2seq", place / "t5", pairs)
    btr.train(recipe, tmp_path / "run", max_steps=1)
    toy.write(tmp_path, 90)
    with pytest.raises(InputError, match="the data or the first weights are not those that it began with"):
        btr.train(recipe, tmp_path / "run")


@pytest.mark.parametrize(
    ("avx512", "amx", "setting", "expected"),
    [
        (False, False, "auto", "float32"),
        (True, False, "auto", "bfloat16"),
        (False, True, "auto", "bfloat16"),
        (True, True, "float32", "float32"),
        (False, False, "bfloat16", "bfloat16"),
    ],
)
def test_precision_by_processor(tmp_path, place, monkeypatch, avx512, amx, setting, expected):
    """The run says which it was; weights are float32 in any case."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    recipe = toy.write_recipe(tmp_path / "r.yaml", "seq2seq", place / "t5", str(place / "toy.tsv"), precision=setting)
    result = btr.train(recipe, tmp_path / "run", max_steps=1)
    assert result.precision == json.loads((tmp_path / "run" / "run.json").read_text())["precision"] == expected
    weights = load_file(tmp_path / "run" / "checkpoint" / "weights")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    (record,) = read_log(tmp_path / "run")
    plain = btr.train(recipe, tmp_path / "plain", changes={"precision": "float32"}, max_steps=1)
    (other,) = read_log(tmp_path / "plain")
    assert (record["loss"] == other["loss"]) == (expected == plain.precision)  # bfloat16 rounds the products
    assert record["loss"] == pytest.approx(other["loss"], rel=0.05)


def test_bfloat16(tmp_path, place):
    recipe = toy.write_recipe(
        tmp_path / "r.yaml", "btr", place / "t5", str(place / "toy.tsv"), precision="bfloat16", dropout=0.1
    )
    btr.train(recipe, tmp_path / "run", max_steps=2)
    assert all(0 < record["loss"] < 100 for record in read_log(tmp_path / "run"))


def test_the_command(tmp_path, place):
    recipe = toy.write_recipe(tmp_path / "r.yaml", "seq2seq", place / "t5", str(place / "toy.tsv"))
    command = [sys.executable, "-m", "btr.cli", "train"]
    run = [*command, recipe, "--output", tmp_path / "run", "--set", "seed=7", "--max-steps", "2"]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True)
    assert "2 updates" in done.stdout
    assert "not complete: without --max-steps the command goes on" in done.stdout
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["seed"] == 7
    for arguments, message in [
        ([], "name a recipe, and the run's folder with --output; or a run with --plot."),
        (
            [recipe, "--output", tmp_path / "x", "--set", "seed"],
            "--set takes KEY=VALUE, e.g. --set seed=2, not",
        ),
        ([recipe, "--output", tmp_path / "x", "--set", "sed=2"], "sed is no key of a recipe; did you mean seed?"),
        (["--plot", tmp_path / "nothing"], "nothing"),
    ]:
        done = subprocess.run([*command, *arguments], env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
