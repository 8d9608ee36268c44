"""Models that hold code: it never runs, and nobody is asked whether it may."""

import builtins
import json
import os

import pytest
import tiny
import torch

from btr.errors import InputError
from btr.models.convert import convert
from btr.models.load import load


class Touch:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture(autouse=True)
def no_questions(monkeypatch):
    """Libraries ask on standard input whether code may run; it would be answered with yes."""
    asked = []
    monkeypatch.setattr(builtins, "input", lambda question="": asked.append(question) or "y")
    yield
    assert not asked


def change(path, **values):
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **values}))


@pytest.fixture
def model(tmp_path):
    """A tiny T5, and beside it a module that makes a folder when it is imported."""
    folder = tmp_path / "model"
    tiny.save_t5(folder)
    classes = "".join(f"class {name}:\n    pass\n" for name in ("EvilConfig", "EvilModel", "EvilTokenizer"))
    (folder / "evil.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'ran')!r})\n{classes}")
    yield folder
    assert not (tmp_path / "ran").exists()


def load_both_ways(model):
    """Load a model with `transformers`, then convert it for CTranslate2; return what these say."""
    messages = []
    for attempt in (lambda: load("seq2seq", str(model)), lambda: convert(str(model))):
        with pytest.raises(InputError) as raised:
            attempt()
        assert "\n" not in str(raised.value)
        messages.append(str(raised.value))
    return messages


def test_pickled_code_is_refused(model, tmp_path):
    (model / "model.safetensors").unlink()
    torch.save({"shared.weight": Touch(tmp_path / "ran")}, model / "pytorch_model.bin")
    why = f"{model}: its weights are refused, since they have more than tensors; code in a model is not run."
    assert load_both_ways(model) == [why, why]


def test_code_for_an_own_type_of_model_is_refused(model):
    change(model / "config.json", model_type="evil", auto_map={"AutoConfig": "evil.EvilConfig"})
    load_both_ways(model)


def test_code_for_a_known_type_of_model_is_left_alone(model):
    names = {"AutoConfig": "evil.EvilConfig", "AutoModelForSeq2SeqLM": "evil.EvilModel"}
    change(model / "config.json", auto_map=names)
    assert type(load("seq2seq", str(model)).model).__name__ == "T5ForConditionalGeneration"
    convert(str(model))


def test_code_for_a_tokenizer_is_left_alone(model):
    names = {"AutoTokenizer": ["evil.EvilTokenizer", None]}
    change(model / "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=names)
    assert "Evil" not in type(load("seq2seq", str(model)).tokenizer).__name__
    convert(str(model))
