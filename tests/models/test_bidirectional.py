import json
from pathlib import Path

import pytest
import tiny
import torch
from transformers import AutoModelForSeq2SeqLM

from btr.errors import InputError
from btr.models.bidirectional import check_bidirectional, is_bidirectional, make_bidirectional
from btr.models.decoder import decode, encode
from btr.models.load import load


@pytest.fixture(autouse=True)
def _no_gradients():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
def test_saved_folder_says_that_it_is_bidirectional(tmp_path, style):
    folder = tiny.save_t5(tmp_path, style, bidirectional=True)
    assert json.loads((Path(folder) / "config.json").read_text())["bidirectional_decoder"] is True
    loaded = load("btr", folder)
    assert is_bidirectional(loaded.model)
    # `transformers` alone ignores the key, and gives a causal decoder.
    assert not is_bidirectional(AutoModelForSeq2SeqLM.from_pretrained(folder))


def test_a_later_token_moves_an_earlier_output_only_if_bidirectional(tmp_path):
    model = AutoModelForSeq2SeqLM.from_pretrained(tiny.save_t5(tmp_path))
    source, first, second = torch.tensor([[3, 4, 1]]), torch.tensor([[0, 5, 6, 1]]), torch.tensor([[0, 5, 7, 1]])

    def moved():
        a, b = (model(input_ids=source, decoder_input_ids=target, use_cache=False).logits for target in (first, second))
        return (a - b).abs().amax(-1)[0] > 1e-6

    assert moved().tolist() == [False, False, True, True]
    make_bidirectional(model)
    assert moved().tolist() == [True, True, True, True]


def test_positions_are_those_of_an_encoder(tmp_path):
    """Relative positions ahead have several buckets, where a causal decoder has one for all of them."""
    model = AutoModelForSeq2SeqLM.from_pretrained(tiny.save_t5(tmp_path))
    attention = model.decoder.block[0].layer[0].SelfAttention
    assert attention.compute_bias(5, 5)[0, 0, 0].unique().numel() == 1
    make_bidirectional(model)
    expected = attention._relative_position_bucket(torch.arange(5), bidirectional=True)
    assert torch.equal(attention.compute_bias(5, 5)[0, 0, 0], attention.relative_attention_bias.weight[expected, 0])


def test_a_causal_decoder_is_refused_whatever_its_configuration_says(tmp_path):
    """`load` makes this check after it has changed the decoder."""
    folder = tiny.save_t5(tmp_path, bidirectional=True)
    causal = AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert causal.config.bidirectional_decoder
    with pytest.raises(InputError, match="a model: its decoder does not attend to later tokens"):
        check_bidirectional(causal, "a model")
    check_bidirectional(make_bidirectional(causal), "a model")


@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
@pytest.mark.parametrize("open_", [False, True])
def test_our_decoder_equals_the_models_forward_pass(tmp_path, style, open_):
    """States from shared keys and values, in a padded batch, give the logits of the library's plain forward pass."""
    model = AutoModelForSeq2SeqLM.from_pretrained(tiny.save_t5(tmp_path, style))
    if open_:
        make_bidirectional(model)
    sources = [[5, 6, 7, 1], [9, 10, 1]]
    rows, whose, at = [[0, 4, 5, 1], [0, 8, 9, 10, 11, 1], [0, 20, 1]], [0, 1, 1], [2, 0, 1]
    memories = encode(model, sources)
    whole = decode(model, rows, [memories[k] for k in whose], None)
    one = decode(model, rows, [memories[k] for k in whose], at)
    for k, row in enumerate(rows):
        plain = model(
            input_ids=torch.tensor([sources[whose[k]]]), decoder_input_ids=torch.tensor([row]), use_cache=False
        ).logits[0]
        torch.testing.assert_close(model.lm_head(whole[k, : len(row)]), plain, rtol=0, atol=1e-5)
        torch.testing.assert_close(model.lm_head(one[k]), plain[at[k]], rtol=0, atol=1e-5)


def test_wrong_kinds_are_refused_in_one_sentence(tmp_path):
    causal = tiny.save_t5(tmp_path / "causal")
    btr = tiny.save_t5(tmp_path / "btr", bidirectional=True)
    r2l = tiny.save_t5(tmp_path / "r2l", right_to_left=True)
    encoder = tiny.save_encoder(tmp_path / "encoder")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for kind, name, message in [
        ("btr", causal, "writes left to right, so it is no BTR; train one from it, or score with l2r"),
        ("btr", r2l, "writes right to left, so it is no BTR; train one from it, or score with r2l"),
        ("l2r", r2l, "writes right to left, so it is not l2r"),
        ("l2r", btr, "is a BTR, not l2r"),
        ("r2l", causal, "writes left to right, so it is not r2l"),
        ("btr", encoder, "is a bert model, but btr needs a T5"),
        ("roberta", causal, "is a t5 model, but roberta needs an encoder only"),
        ("btr", str(tmp_path / "empty"), "has no config.json"),
        ("btr", str(tmp_path / "file"), "is a file"),
        ("btr", "/no/such/folder", "no such folder"),
        ("btr", "no/such-model", "no such folder, shipped model or model on the hub"),
    ]:
        with pytest.raises(InputError, match=message) as raised:
            load(kind, name)
        assert "\n" not in str(raised.value)


def test_untrained_parts_are_refused(tmp_path):
    """The library would make up weights that a folder does not have: noise, and another one each time."""
    encoder, classifier = tiny.save_encoder(tmp_path / "mlm"), tiny.save_classifier(tmp_path / "cls")
    with pytest.raises(InputError, match=r"has no weights for bert\.pooler"):
        load("bert", encoder)
    with pytest.raises(InputError, match="has no weights for cls"):
        load("roberta", classifier)


def test_broken_folders_are_refused(tmp_path):
    folder = Path(tiny.save_t5(tmp_path / "model"))
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-100])
    with pytest.raises(InputError, match="can't be loaded as l2r"):
        load("l2r", str(folder))
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="has no tokenizer"):
        load("l2r", str(folder))


def test_devices_and_types(tmp_path):
    folder = tiny.save_t5(tmp_path)
    for options, message in [
        ({"dtype": "float16"}, "dtype must be one of float32, bfloat16"),
        ({"device": "nowhere"}, "device 'nowhere' can't be used"),
        ({"int8": True, "dtype": "bfloat16"}, "int8 is for float32 models on a CPU"),
    ]:
        with pytest.raises(InputError, match=message):
            load("l2r", folder, **options)


def test_signature_changes_with_any_weight(tmp_path):
    first, second = (load("l2r", tiny.save_t5(tmp_path / str(seed), seed=seed)).signature for seed in (0, 1))
    again = load("l2r", tiny.save_t5(tmp_path / "again" / "0", seed=0)).signature
    assert first == again != second
