"""Config.json and tokenizer.json are read without `transformers`, with its results; else it reads them."""

import json
from functools import cache
from pathlib import Path

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoTokenizer

from btr.errors import InputError
from btr.models import config as configurations
from btr.models.config import EDIT_JUDGING_CLASS, check_kind, is_t5, judges_edits, read_facts
from btr.models.edit_judging import EditJudgingT5
from btr.models.locate import SHIPPED, fetched_folder
from btr.models.tokenizer import PlainTokenizer, load_plain_tokenizer, read_plain_tokenizer

T5 = str(SHIPPED / "t5gec-small")
SPECIAL = st.sampled_from(["</s>", "<pad>", "<unk>", "<extra_id_0>", "▁", " ", "\n", "<|endoftext|>", "<|im_end|>"])
TEXTS = st.lists(st.one_of(st.text(max_size=20), SPECIAL), max_size=5).map("".join)


@cache
def both(folder):
    """Return a tokenizer as it is read here and as `transformers` loads it."""
    return load_plain_tokenizer(folder, read_facts(folder, folder), folder), AutoTokenizer.from_pretrained(folder)


def same_results(plain, whole, text):
    assert isinstance(plain, PlainTokenizer)
    for add in (True, False):
        tokens = whole(text, add_special_tokens=add)["input_ids"]
        assert plain(text, add_special_tokens=add) == {"input_ids": tokens}
        names = whole.convert_ids_to_tokens(tokens)
        assert plain.convert_ids_to_tokens(tokens) == names
        assert plain.convert_tokens_to_ids([*names, "no such token"]) == whole.convert_tokens_to_ids(
            [*names, "no such token"]
        )
        options = {"skip_special_tokens": add, "clean_up_tokenization_spaces": False}
        assert plain.batch_decode([tokens, tokens[1:], []], **options) == whole.batch_decode(
            [tokens, tokens[1:], []], **options
        )


@given(TEXTS)
@settings(deadline=None)
def test_tokens_are_those_of_transformers(text):
    same_results(*both(T5), text)


@given(TEXTS)
@settings(deadline=None)
def test_tokens_of_the_fetched_model_are_those_of_transformers(text):
    folder = fetched_folder("smollm2-135m")
    if not folder.is_dir():
        pytest.skip("needs the fetched language model: btr fetch smollm2-135m")
    same_results(*both(str(folder)), text)


@pytest.mark.parametrize("name", ["eos_token", "eos_token_id", "bos_token", "bos_token_id", "unk_token_id"])
def test_special_tokens_are_those_of_transformers(name):
    plain, whole = both(T5)
    assert getattr(plain, name) == getattr(whole, name)
    assert plain.get_vocab() == whole.get_vocab()


def change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"tokenizer_class": "T5Tokenizer"},
        {"add_prefix_space": True},
        {"extra_special_tokens": ["<new>"]},
        {"extra_special_tokens": {"new": "</s>"}},
        {"eos_token": {"content": "</s>"}},
        {"eos_token": "cat"},
    ],
)
def test_a_tokenizer_that_transformers_would_change_is_left_to_it(tmp_path, changes):
    folder = Path(tiny.save_t5(tmp_path))
    assert read_plain_tokenizer(folder) is not None
    change(folder / "tokenizer_config.json", **changes)
    assert read_plain_tokenizer(folder) is None


def test_files_that_say_more_leave_a_tokenizer_to_transformers(tmp_path):
    folder = Path(tiny.save_t5(tmp_path))
    (folder / "added_tokens.json").write_text("{}")
    assert read_plain_tokenizer(folder) is None
    (folder / "added_tokens.json").unlink()
    change(folder / "tokenizer.json", post_processor=None)
    assert read_plain_tokenizer(folder) is None
    (folder / "tokenizer.json").write_text("{")
    assert read_plain_tokenizer(folder) is None
    with pytest.raises(InputError, match=r"its tokenizer can't be loaded"):
        load_plain_tokenizer(str(folder), read_facts(str(folder), "tiny"), "tiny")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"^tiny: has no tokenizer"):
        load_plain_tokenizer(str(folder), read_facts(str(folder), "tiny"), "tiny")


def test_a_tokenizer_without_an_end_is_refused(tmp_path):
    folder = Path(tiny.save_t5(tmp_path))
    facts = read_facts(str(folder), "tiny")
    change(folder / "config.json", eos_token_id=5)
    load_plain_tokenizer(str(folder), facts, "tiny")
    with pytest.raises(InputError, match="does not end a text with </s>"):
        load_plain_tokenizer(str(folder), read_facts(str(folder), "tiny"), "tiny")


def saved_models(folder):
    tiny.save_t5(folder / "t5")
    tiny.save_t5(folder / "mt5", "mt5")
    tiny.save_t5(folder / "btr", bidirectional=True)
    tiny.save_edit_btr(folder / "edit-btr")
    tiny.save_language_model(folder / "llama")
    tiny.save_language_model(folder / "gpt2", "gpt2")
    tiny.save_encoder(folder / "bert")
    return sorted(folder.iterdir())


def test_facts_are_those_of_transformers(tmp_path):
    for folder in saved_models(tmp_path):
        facts, config = read_facts(str(folder), folder.name), AutoConfig.from_pretrained(folder)
        for name in facts.__slots__:
            assert getattr(facts, name) == getattr(config, name, False), (folder.name, name)
        for kind in ("seq2seq", "btr", "edit-btr", "l2r", "r2l", "roberta", "lm"):
            assert refusal(kind, facts) == refusal(kind, config)
        assert is_t5(str(folder)) == (folder.name in ("t5", "mt5", "btr", "edit-btr"))
        assert judges_edits(facts) == (folder.name == "edit-btr")
    assert EditJudgingT5.__name__ == EDIT_JUDGING_CLASS


def refusal(kind, config):
    try:
        check_kind(kind, config, "model")
    except InputError as error:
        return str(error)
    return None


def test_what_config_json_leaves_open_is_read_by_transformers(tmp_path, monkeypatch):
    """The default of is_encoder_decoder is that of the model's type, which only `transformers` knows."""
    folder = Path(tiny.save_t5(tmp_path))
    read = []
    original = configurations.read_config
    monkeypatch.setattr(configurations, "read_config", lambda *names: read.append(names) or original(*names))
    assert read_facts(str(folder), "tiny").is_encoder_decoder
    assert not read
    content = json.loads((folder / "config.json").read_text())
    content.pop("is_encoder_decoder")
    (folder / "config.json").write_text(json.dumps(content))
    assert read_facts(str(folder), "tiny").is_encoder_decoder
    assert read == [(str(folder), "tiny")]
    for broken in ("[]", "[" * 100_000, "{", json.dumps({**content, "auto_map": None})):
        (folder / "config.json").write_text(broken)
        with pytest.raises(InputError, match=r"^tiny: its config\.json can't be read \("):
            read_facts(str(folder), "tiny")
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"^tiny: has no config\.json"):
        read_facts(str(folder), "tiny")


@pytest.mark.parametrize("content", ["[]", "[" * 100_000, "{"])
def test_a_broken_tokenizer_config_is_refused_in_a_sentence(tmp_path, content):
    folder = tiny.save_t5(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(InputError, match=r"^tiny: its tokenizer can't be loaded \(.*\)\.$"):
        load_plain_tokenizer(str(folder), read_facts(str(folder), "tiny"), "tiny")
