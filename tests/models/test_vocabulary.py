"""`btr compact --vocabulary`: the same tokens, the same numbers, and folders that load as others do."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import toy
from safetensors.torch import load_file

import btr
from btr import BTR
from btr.candidates.ctranslate2_engine import CTranslate2Engine
from btr.candidates.decoding import DecodingSettings
from btr.candidates.transformers_engine import TransformersEngine
from btr.cli import app
from btr.corpus.candidates import Candidates
from btr.decisions.edit_table import extract_tables
from btr.errors import InputError
from btr.models.load import load
from btr.models.tokenizer import read_plain_tokenizer
from btr.models.vocabulary import ROW_STEP
from btr.rerankers import load_reranker
from btr.rerankers.btr import mask_token

SHAPE = {"d_model": 144, "d_kv": 32, "d_ff": 64, "num_layers": 1}
ENGLISH = "the cats have two dog , he ."
WORDS = {"▁the", "▁cat", "s", "▁have", "▁two", "▁dog", "▁he"}  # what ENGLISH uses beside characters
CHARACTERS = set("▁abcdefghijklmnopqrtuvwxyzHIKS.,")
SPECIAL = {"<pad>", "</s>", "<unk>", *(f"<extra_id_{k}>" for k in range(4))}
FILLER, LEAST = "▁Haus", "Katzen"  # the first piece that is dropped, and the least probable one: both remain
ROWS = [Candidates("he have two cat .", ("he has two cats .", "he have two cats .", "nicht Straße ."))]


def write_text(folder, name="english.txt", text=ENGLISH):
    (folder / name).write_text(f"{text}\n", encoding="utf-8")
    return str(folder / name)


def make(folder, save=tiny.save_t5, **options):
    """A model of 96 rows, its compact copy, and one of fewer pieces, all by name."""
    plain = save(folder / "plain", tokenizer=tiny.unigram_tokenizer(), vocab_size=96, **SHAPE, **options)
    btr.compact(plain, folder / "compact")
    btr.compact(plain, folder / "small", vocabulary=write_text(folder))
    return plain, str(folder / "compact"), str(folder / "small")


def vocabulary_of(name):
    return load("l2r", name).tokenizer.get_vocab()


def former_rows(before, after):
    """The former row of each row, by the names of tokens."""
    former = vocabulary_of(before)
    return [former[token] for token, _ in sorted(vocabulary_of(after).items(), key=lambda item: item[1])]


def test_pieces_that_remain(tmp_path):
    plain, _, small = make(tmp_path)
    assert vocabulary_of(small).keys() == {*WORDS, *CHARACTERS, *SPECIAL, FILLER, LEAST}
    rows = former_rows(plain, small)
    assert rows == sorted(rows)
    assert len(rows) == json.loads((Path(small) / "config.json").read_text())["vocab_size"] == 48
    assert len(rows) % ROW_STEP == 0
    tokenizer = load("l2r", small).tokenizer
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id) == (0, 1, 2)
    assert mask_token(tokenizer, small) == 47


def test_tokens_of_a_text(tmp_path):
    """Other words are written with shorter pieces; nothing becomes unknown that was known."""
    plain, _, small = make(tmp_path)
    rows = former_rows(plain, small)
    before, after = (load("l2r", name).tokenizer for name in (plain, small))
    for text in (ENGLISH, "thes xHaus", "he <extra_id_0> two", "two ǂ dogs ž", "", "  the   I "):
        assert [rows[token] for token in after(text)["input_ids"]] == before(text)["input_ids"]
    assert before.tokenize("Straße nicht") == ["▁Straße", "▁nicht"]
    assert after.tokenize("nicht") == list("▁nicht")
    assert after.decode(after("he has nicht")["input_ids"], skip_special_tokens=True) == "he has nicht"
    fast = read_plain_tokenizer(Path(small))
    assert fast is not None
    assert fast(ENGLISH)["input_ids"] == after(ENGLISH)["input_ids"]


@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
def test_logits_of_the_pieces_that_remain(tmp_path, style):
    plain, compact, small = make(tmp_path, style=style)
    rows = former_rows(plain, small)
    before, after = (load("l2r", name).model for name in (compact, small))
    source, target = torch.tensor([[4, 9, 12, 1]]), torch.tensor([[0, 5, 47, 7, 1]])
    former = torch.tensor(rows)
    with torch.no_grad():
        expected = before(input_ids=former[source], decoder_input_ids=former[target]).logits
        logits = after(input_ids=source, decoder_input_ids=target).logits
    assert logits.shape[-1] == len(rows)
    torch.testing.assert_close(logits, expected[..., rows], rtol=1e-5, atol=1e-5)


def test_both_engines(tmp_path):
    _, _, small = make(tmp_path, seed=3)
    decoding = DecodingSettings(size=4, max_length=8)
    sources = [[3, 4, 5, 1], [46, 30, 8, 7, 6, 1]]
    engine, slow = CTranslate2Engine(small, "float32"), TransformersEngine(load("seq2seq", small))
    assert engine.encode(["he sat"]) == slow.encode(["he sat"])
    assert engine.log_probs(sources, sources) == pytest.approx(slow.log_probs(sources, sources), rel=1e-4)
    for row in CTranslate2Engine(small, "int8").generate(sources, decoding):
        assert all(0 <= token < 48 for each in row for token in each.tokens)


def test_rerankers_and_training(tmp_path):
    _, _, small = make(tmp_path, bidirectional=True)
    assert BTR.from_pretrained(small).mask == 47
    assert all(score < 0 for score in BTR.from_pretrained(small).scores(ROWS)[0])
    pairs, _ = toy.write(tmp_path, 20)
    recipe = toy.write_recipe(tmp_path / "r.yaml", "btr", small, pairs, steps=1, epochs=None)
    trained = btr.train(recipe, tmp_path / "run").model
    before, after = (load("btr", name) for name in (small, trained))
    assert after.tokenizer.get_vocab() == before.tokenizer.get_vocab()
    assert len(after.model.get_output_embeddings().weight) == 48


def test_a_model_without_output_layer(tmp_path):
    _, compact, small = make(tmp_path, save=tiny.save_edit_btr)
    assert "lm_head.weight.int8" not in load_file(Path(small) / "model.safetensors")
    table = extract_tables(ROWS)
    first, second = (load_reranker(f"edit-btr:{name}").edit_log_odds(table) for name in (compact, small))
    assert np.shape(first) == np.shape(second)


def test_a_compact_model_loses_pieces_too(tmp_path):
    _, compact, small = make(tmp_path)
    result = btr.compact(compact, tmp_path / "again", vocabulary=[write_text(tmp_path)])
    assert (result.pieces, result.original_pieces) == (48, len(vocabulary_of(compact)))
    for path in Path(small).iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_several_texts(tmp_path):
    plain, _, small = make(tmp_path)
    first = write_text(tmp_path, "first.txt", "he sat nicht")
    (tmp_path / "second.gz").write_bytes(gzip.compress(ENGLISH.encode()))
    btr.compact(plain, tmp_path / "two", vocabulary=[first, tmp_path / "second.gz"])
    assert vocabulary_of(str(tmp_path / "two")).keys() >= {*vocabulary_of(small), "▁nicht", "▁sat"}


def test_other_files_of_the_tokenizer(tmp_path):
    """Those that have the former numbers are left out."""
    plain, _, small = make(tmp_path)
    config = Path(plain) / "tokenizer_config.json"
    former = {"55": {"content": "<extra_id_0>", "special": True}}
    config.write_text(json.dumps({**json.loads(config.read_text()), "added_tokens_decoder": former}))
    (Path(plain) / "spiece.model").touch()
    btr.compact(plain, tmp_path / "again", vocabulary=write_text(tmp_path))
    assert {path.name for path in (tmp_path / "again").iterdir()} == {path.name for path in Path(small).iterdir()}
    assert vocabulary_of(str(tmp_path / "again")) == vocabulary_of(small)


def test_what_is_refused(tmp_path):
    plain, _, small = make(tmp_path)
    text, new = write_text(tmp_path), tmp_path / "new"
    (tmp_path / "blank.txt").write_text("\n \n")
    words = tiny.save_t5(tmp_path / "words", **SHAPE)
    bert = tiny.save_encoder(tmp_path / "bert")
    few = tiny.save_t5(tmp_path / "few", tokenizer=tiny.unigram_tokenizer(), vocab_size=40, **SHAPE)
    wrong = Path(shutil.copytree(plain, tmp_path / "wrong"))
    config = json.loads((wrong / "config.json").read_text())
    (wrong / "config.json").write_text(json.dumps({**config, "vocab_size": 88}))
    before = sorted(path.name for path in tmp_path.iterdir())
    for model, texts, message in [
        (plain, tmp_path / "missing.txt", "missing.txt: no such file"),
        (plain, [text, tmp_path / "blank.txt"], r"blank\.txt: is empty; expected text"),
        (words, text, r"has no tokenizer\.json of the type Unigram"),
        (bert, text, "is a bert model; only the vocabulary of a T5"),
        (few, text, "its tokenizer has 56 tokens, but the model 40"),
        (str(wrong), text, r"has 96 rows in shared\.weight, not 88"),
        (small, [], "is compact already"),
    ]:
        with pytest.raises(InputError, match=message) as raised:
            btr.compact(model, new, vocabulary=texts)
        assert "\n" not in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_command(tmp_path, capsys):
    plain, _, small = make(tmp_path)
    text = write_text(tmp_path)
    app(["compact", plain, "--output", small, "--vocabulary", text, "--vocabulary", text], standalone_mode=False)
    assert "MB in float32; 48 of 56 pieces)" in " ".join(capsys.readouterr().out.split())
    app(["compact", plain, "--output", small, "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out).keys() == {"model", "megabytes", "float32_megabytes"}
