"""A T5 that judges edits, read without `transformers`: its numbers are those of `transformers`' model in int8."""

import json
import subprocess
import sys

import pytest
import torch

from btr.errors import InputError
from btr.models.decoder import decode, encode
from btr.models.edit_head import EditSpan, judge_spans
from btr.models.load import load
from btr.models.plain_t5 import load_plain_t5
from btr.rerankers import load_reranker

SOURCE = "She have two dog , and yesterday they goes to the park near of the river ."
CANDIDATES = [
    "She has two dogs , and yesterday they went to the park near the river .",
    "She has two dogs .",
    "She have two dog , and yesterday they go to the park near of the river which is so long that it has no end " * 4,
]
SPANS = [
    EditSpan(0, 0, 1, 2, 1, 2),
    EditSpan(0, 1, 3, 3, 4, 6),
    EditSpan(1, 0, 1, 3, 0, 0),
    EditSpan(2, 2, 0, 40, 2, 3),
]


@pytest.fixture(scope="module")
def both():
    return load_plain_t5("edit-btr-small"), load("edit-btr", "edit-btr-small", int8=True)


def test_tokens_and_places_are_the_same(both):
    plain, full = (each.tokenizer("Wait , naïve 猫 !", return_offsets_mapping=True) for each in both)
    assert plain["input_ids"] == full["input_ids"]
    assert plain["offset_mapping"] == [tuple(place) for place in full["offset_mapping"]]


@torch.inference_mode()
def test_states_and_log_odds_are_the_same(both):
    """To the last bit: int8 would magnify any difference."""
    results = []
    for loaded in both:
        rows = [[0, *loaded.tokenizer(text)["input_ids"]] for text in CANDIDATES]
        (source,) = encode(loaded.model, [loaded.tokenizer(SOURCE)["input_ids"]])
        states = decode(loaded.model, rows, [source] * len(rows), None)
        results.append((source.states, states, judge_spans(loaded.model.edit_head, SPANS, list(states), source.states)))
    for plain, full in zip(*results):
        assert torch.equal(plain, full)


def test_the_signature_is_the_same(both):
    plain, full = both
    assert (plain.signature, plain.int8) == (full.signature, full.int8)


def test_it_is_read_without_the_models_of_transformers():
    code = (
        "import sys; from btr.rerankers import load_reranker; load_reranker('edit-btr:edit-btr-small', int8=True); "
        "print('transformers.modeling_utils' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False"]


def write_changed_model(folder, change):
    """Write the shipped model with another configuration."""
    from btr.models.locate import SHIPPED

    for file in (SHIPPED / "edit-btr-small").iterdir():
        if file.name != "config.json":
            (folder / file.name).symlink_to(file)
    config = json.loads((SHIPPED / "edit-btr-small" / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))


@pytest.mark.parametrize(
    "change",
    [{"btr_compact": None}, {"dense_act_fn": "relu"}, {"model_type": "mt5"}, {"bidirectional_decoder": False},
     {"num_layers": 0}, {"num_layers": 6.5}, {"num_layers": "8"}, {"architectures": 3}, {"layer_norm_epsilon": None},
     {"d_kv": 32}, {"num_heads": 8}, {"relative_attention_num_buckets": 64}],
    ids=str,
)  # fmt: skip
def test_any_other_model_is_left_to_transformers(tmp_path, change):
    """Also one whose configuration is not that of its weights: it would give other numbers."""
    write_changed_model(tmp_path, change)
    assert load_plain_t5(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"num_layers": "8"}, "its config.json can't be read (Validation error for field 'num_layers')."),
        ({"d_kv": 32}, "can't be loaded as edit-btr ("),
    ],
    ids=str,
)
def test_transformers_says_in_one_sentence_what_is_wrong(tmp_path, change, why):
    write_changed_model(tmp_path, change)
    with pytest.raises(InputError) as raised:
        load_reranker(f"edit-btr:{tmp_path}", int8=True)
    assert str(raised.value).startswith(f"{tmp_path}: {why}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", ["edit_head.last.bias", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
)
def test_a_missing_weight_is_left_to_transformers(tmp_path, name):
    from safetensors.torch import load_file, save_file

    from btr.models.locate import SHIPPED

    for file in (SHIPPED / "edit-btr-small").iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).symlink_to(file)
    weights = load_file(SHIPPED / "edit-btr-small" / "model.safetensors")
    del weights[name]
    save_file(weights, tmp_path / "model.safetensors")
    assert load_plain_t5(str(tmp_path)) is None


def test_a_config_nested_too_deeply_is_left_to_transformers(tmp_path):
    (tmp_path / "config.json").write_text("[" * 100_000)
    assert load_plain_t5(str(tmp_path)) is None


def test_no_weights_are_left_to_transformers_too(tmp_path):
    """Which says in one sentence what is wrong."""
    from btr.models.locate import SHIPPED

    for file in (SHIPPED / "edit-btr-small").iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).symlink_to(file)
    assert load_plain_t5(str(tmp_path)) is None
    with pytest.raises(InputError):
        load_reranker(f"edit-btr:{tmp_path}", int8=True)
