"""`btr compact`: numbers by hand, folders that load as others do, and the int8 of CTranslate2."""

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
from ctranslate2.specs.common_spec import LinearSpec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.torch import load_file, save_file

import btr
from btr import BTR
from btr.candidates.ctranslate2_engine import CTranslate2Engine
from btr.candidates.decoding import DecodingSettings
from btr.cli import app
from btr.corpus.candidates import Candidates
from btr.errors import InputError
from btr.models.compact import expand_to
from btr.models.initial import load_initial_model
from btr.models.int8_weights import dequantise_rows, pack_weights, quantise_rows, unpack_weights
from btr.models.load import load

SHAPE = {"d_model": 144, "d_kv": 32, "d_ff": 64, "num_layers": 1}  # wide enough for int8, the embeddings too
ROWS = [Candidates("he have two cat .", ("he has two cats .", "he have two cats .", "she goes ."))]
SOURCES = [[3, 4, 5, 1], [20, 9, 8, 7, 6, 1], [11, 1]]


def weights_of(folder):
    return load_file(Path(folder) / "model.safetensors")


def make(folder, **options):
    """A model and its compact copy, both by name."""
    plain = tiny.save_t5(folder / "plain", **SHAPE, **options)
    btr.compact(plain, folder / "compact")
    return plain, str(folder / "compact")


def test_rows_by_hand():
    weight = torch.tensor([[1.27, -0.64, 0.004, 0.0], [0.0, 0.0, 0.0, 0.0], [-254.0, 1.0, 3.1, 127.0]])
    numbers, scale = quantise_rows(weight)
    assert numbers.dtype == torch.int8
    assert numbers.tolist() == [[127, -64, 0, 0], [0, 0, 0, 0], [-127, 0, 2, 64]]  # halves go to the even number
    assert scale.tolist() == pytest.approx([0.01, 1.0, 2.0])
    expected = torch.tensor([[1.27, -0.64, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [-254.0, 0.0, 4.0, 128.0]])
    torch.testing.assert_close(dequantise_rows(numbers, scale), expected)


matrices = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-(2.0**100), 2.0**100, width=32) | st.floats(-1, 1, width=32),
)


@settings(deadline=None)
@given(matrices)
def test_no_weight_moves_by_more_than_half_a_scale_and_only_once(values):
    weight = torch.from_numpy(values)
    numbers, scale = quantise_rows(weight)
    again = dequantise_rows(numbers, scale)
    error = (weight.double() - again.double()).abs()
    assert (error <= scale.double()[:, None] * (0.5 + 1e-4)).all()
    second, same = quantise_rows(again)
    assert torch.equal(second, numbers)
    assert torch.equal(same, scale)


def test_what_is_not_quantised():
    unchanged = {
        "norm.weight": torch.ones(5000, dtype=torch.float16),
        "small.weight": torch.rand(63, 65),
        "block.relative_attention_bias.weight": torch.rand(64, 64),
        "position_ids": torch.arange(9),
    }
    packed = pack_weights({**unchanged, "linear.weight": torch.rand(64, 64, dtype=torch.bfloat16)})
    assert set(packed) == {*unchanged, "linear.weight.int8", "linear.weight.scale"}
    assert packed["norm.weight"].dtype == torch.float32
    assert packed["position_ids"].dtype == torch.int64
    assert set(unpack_weights(packed)) == {*unchanged, "linear.weight"}


@pytest.mark.parametrize(("kind", "style"), [("btr", "v1.1"), ("seq2seq", "v1.0"), ("seq2seq", "mt5")])
def test_a_compact_model_is_int8_times_scale(tmp_path, kind, style):
    plain, small = make(tmp_path, style=style, bidirectional=kind == "btr")
    assert json.loads((tmp_path / "compact" / "config.json").read_text())["btr_compact"] == 1
    loaded, packed = load(kind, small).model, weights_of(small)
    names = {name.removesuffix(".int8") for name in packed if name.endswith(".int8")}
    assert {"shared.weight", "encoder.block.0.layer.0.SelfAttention.q.weight"} <= names
    state = loaded.state_dict()
    for name in names:
        scale = packed[f"{name}.scale"][:, None]
        assert torch.equal(state[name], packed[f"{name}.int8"].float() * scale)
        assert ((state[name] - weights_of(plain)[name]).abs() <= scale * 0.5001).all()
    if style == "v1.0":  # tied: stored once
        assert "lm_head.weight.int8" not in packed
        assert torch.equal(state["lm_head.weight"], state["shared.weight"])
    assert not hasattr(loaded.config, "btr_compact")
    assert loaded.generation_config.to_dict() == load(kind, plain).model.generation_config.to_dict()


def test_scores_stay_close(tmp_path):
    """Far closer than another model's."""
    plain, small = make(tmp_path, bidirectional=True)
    other = tiny.save_t5(tmp_path / "other", seed=1, bidirectional=True, **SHAPE)
    exact, rough, others = (torch.tensor(BTR.from_pretrained(name).scores(ROWS)[0]) for name in (plain, small, other))
    assert 0 < (rough - exact).abs().max() < 0.15 * (others - exact).abs().mean()


def test_encoders_too(tmp_path):
    for kind, save in (("roberta", tiny.save_encoder), ("bert", tiny.save_classifier)):
        plain = save(tmp_path / kind)
        btr.compact(plain, tmp_path / f"{kind}-compact")
        first, second = (load(kind, name).model for name in (plain, str(tmp_path / f"{kind}-compact")))
        assert first.state_dict().keys() == second.state_dict().keys()


def test_a_quarter_of_the_size(tmp_path):
    plain = tiny.save_t5(tmp_path / "plain", d_model=512, d_kv=64, num_layers=1)
    result = btr.compact(plain, tmp_path / "compact")
    before, after = (os.path.getsize(tmp_path / name / "model.safetensors") for name in ("plain", "compact"))
    assert 0.25 < after / before < 0.28
    assert result.megabytes == round(after / 1e6, 1)
    assert result.float32_megabytes == pytest.approx(before / 1e6, abs=0.1)


def test_ctranslate2_rounds_to_the_same_numbers():
    """Why the format is what it is. Scales may differ in their last bit, as largest / 127 × 127 does."""

    def convert(weight):
        spec = LinearSpec()
        spec.weight = weight.numpy().copy()
        spec.validate()
        spec.optimize("int8")
        return torch.from_numpy(spec.weight.numpy()), torch.from_numpy(spec.weight_scale.numpy())

    weight = torch.randn(2000, 500, generator=torch.Generator().manual_seed(0))
    numbers, scale = quantise_rows(weight)
    (first, factors), (second, again) = convert(weight), convert(dequantise_rows(numbers, scale))
    assert torch.equal(numbers, first)
    assert torch.equal(first, second)
    assert torch.equal(again, factors) or float((again / factors - 1).abs().max()) < 2.5e-7
    assert float((again != factors).float().mean()) < 0.02


@pytest.mark.parametrize("style", ["v1.1", "v1.0"])
def test_ctranslate2_int8_is_that_of_the_original(tmp_path, style):
    plain, small = make(tmp_path, style=style, seed=3)
    decoding = DecodingSettings(size=4, max_length=8, early_stopping=True)
    first, second = (CTranslate2Engine(name, "int8").generate(SOURCES, decoding) for name in (plain, small))
    for one, other in zip(first, second, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        # Scales differ in their last bits, and so may an activation's rounding to int8 on some processors.
        assert [each.log_prob for each in one] == pytest.approx([each.log_prob for each in other], rel=5e-5)
    exact, rough = (CTranslate2Engine(name, "float32").log_probs(SOURCES, SOURCES) for name in (plain, small))
    assert exact != pytest.approx(rough, rel=1e-4)  # without int8 they are two models
    assert {path.name for path in Path(small).glob("ctranslate2-*")} == {"ctranslate2-float32", "ctranslate2-int8"}


def test_training_starts_from_one_and_saves_a_plain_model(tmp_path):
    _, small = make(tmp_path)
    pairs, _ = toy.write(tmp_path, 20)
    recipe = toy.write_recipe(tmp_path / "r.yaml", "btr", small, pairs, steps=1, epochs=None)
    model = btr.train(recipe, tmp_path / "run").model
    assert "btr_compact" not in (Path(model) / "config.json").read_text()
    assert not any(name.endswith(".int8") for name in weights_of(model))
    load("btr", model)


def test_weights_that_a_compact_model_lacks(tmp_path):
    _, small = make(tmp_path)
    packed = weights_of(small)
    del packed["decoder.final_layer_norm.weight"]
    save_file(packed, Path(small) / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"has no weights for decoder\.final_layer_norm\.weight"):
        load("l2r", small)
    with pytest.raises(InputError, match=r"has no weights for decoder\.final_layer_norm\.weight"):
        load_initial_model("seq2seq", small, None, 0)
    (Path(small) / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(InputError, match="its weights can't be read"):
        load("l2r", small)


def test_expanded_and_compacted_again_nothing_changes(tmp_path):
    _, small = make(tmp_path)
    expand_to(Path(small), small, tmp_path / "expanded")
    assert "btr_compact" not in (tmp_path / "expanded" / "config.json").read_text()
    btr.compact(str(tmp_path / "expanded"), tmp_path / "again")
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (Path(small) / name).read_bytes()


def test_files_that_come_along(tmp_path):
    plain = Path(tiny.save_t5(tmp_path / "plain", **SHAPE))
    (plain / "README.md").write_text("# A model\n")
    (plain / "recipe.yaml").write_text("kind: seq2seq\n")
    (tmp_path / "compact").mkdir()  # empty folders may be there
    btr.compact(str(plain), tmp_path / "compact")
    assert {path.name for path in (tmp_path / "compact").iterdir()} == {
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    (tmp_path / "compact" / "old").touch()
    btr.compact(str(plain), tmp_path / "compact")  # replaces the one before
    assert not (tmp_path / "compact" / "old").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compact", "plain"]


def test_half_precision_models_are_float32_afterwards(tmp_path):
    """Libraries would round int8 × scale to the type that config.json names."""
    plain = Path(tiny.save_t5(tmp_path / "plain", **SHAPE))
    config = json.loads((plain / "config.json").read_text())
    (plain / "config.json").write_text(json.dumps({**config, "dtype": "float16"}))
    half = {name: weight.half() for name, weight in weights_of(plain).items()}
    save_file(half, plain / "model.safetensors", metadata={"format": "pt"})
    btr.compact(str(plain), tmp_path / "compact")
    assert json.loads((tmp_path / "compact" / "config.json").read_text())["dtype"] == "float32"
    assert all(weight.dtype in (torch.int8, torch.float32) for weight in weights_of(tmp_path / "compact").values())


def test_what_is_refused(tmp_path):
    plain, small = make(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    (tmp_path / "file").touch()
    broken = Path(tiny.save_t5(tmp_path / "broken", **SHAPE))
    weights = weights_of(broken)
    weights["encoder.final_layer_norm.weight"][0] = torch.nan
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    empty = Path(tiny.save_t5(tmp_path / "empty", **SHAPE))
    (empty / "model.safetensors").unlink()
    new = tmp_path / "new"
    for model, output, message in [
        ("/no/such/folder", new, "no such folder"),
        (str(tmp_path / "full"), new, r"has no config\.json"),
        (str(empty), new, r"has no model\.safetensors"),
        (str(broken), new, r"has weights that are not finite, in encoder\.final_layer_norm\.weight"),
        (small, new, "is compact already"),
        (plain, plain, "is where the model is"),
        (plain, tmp_path, "is where the model is"),
        (plain, tmp_path / "full", "is not empty, and no compact model"),
        (plain, tmp_path / "file", "is a file"),
    ]:
        with pytest.raises(InputError, match=message) as raised:
            btr.compact(model, output)
        assert "\n" not in str(raised.value)
    assert not new.exists()
    assert (tmp_path / "full" / "thesis.txt").exists()


def test_the_command(tmp_path, capsys):
    plain, output = tiny.save_t5(tmp_path / "plain", **SHAPE), str(tmp_path / "compact")
    app(["compact", plain, "--output", output], standalone_mode=False)
    assert " ".join(capsys.readouterr().out.split()) == f"Model: {output} (0.3 MB, of 1.1 MB in float32)"
    command = [sys.executable, "-m", "btr.cli", "compact", output, "--output", tmp_path / "again"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"btr: {output}: is compact already.\n"
