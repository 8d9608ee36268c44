"""`btr import`: checkpoints as the paper's authors published them, made here; and files that are refused."""

import argparse
import json
import os
import pickle
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import tiny
import torch
from checkpoints import PREFIX, content_of, save, state_of
from safetensors.torch import load_file
from transformers import AutoTokenizer, T5ForConditionalGeneration

import btr
from btr import BTR
from btr.candidates.decoding import DecodingSettings
from btr.candidates.transformers_engine import TransformersEngine
from btr.cli import app
from btr.corpus.candidates import Candidates
from btr.errors import InputError
from btr.models.bidirectional import is_bidirectional
from btr.models.initial import load_initial_model
from btr.models.load import load
from btr.rerankers import load_reranker

ROWS = [
    Candidates("he have two cat .", ("he has two cats .", "he have two cats .", "she goes .")),
    Candidates("I has a dog", ("I have a dog", "I has a dogs .")),
]
SHAPE = {"num_layers": 3, "num_decoder_layers": 2}  # unlike, to tell them apart


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("import")
    tiny.save_t5(folder / "btr", bidirectional=True, **SHAPE)
    tiny.save_t5(folder / "t5gec", seed=1, **SHAPE)
    return folder


def make(place, path, name="btr", **changes):
    return save(path, content_of(place / name, name == "btr", **changes))


def run(place, checkpoint, output):
    return btr.import_checkpoint(checkpoint, output, tokenizer=str(place / "btr"))


def test_an_imported_btr_scores_as_the_model_it_was_made_from(place, tmp_path):
    result = run(place, make(place, tmp_path / "best.pt"), tmp_path / "out")
    assert (result.kind, result.updates) == ("btr", 1234)
    before, after = (BTR.from_pretrained(str(folder)).scores(ROWS) for folder in (place / "btr", tmp_path / "out"))
    for one, other in zip(before, after, strict=True):
        assert one == pytest.approx(other, abs=1e-6)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["bidirectional_decoder"], config["tie_word_embeddings"]) == (True, False)
    loaded = load("btr", str(tmp_path / "out")).model  # checks that a later token moves an earlier logit
    assert is_bidirectional(loaded)
    assert result.parameters == sum(weight.numel() for weight in loaded.parameters())


def test_by_hand_it_is_the_pll_of_both_sides(place, tmp_path):
    """The score of a candidate, with the plain model of `transformers` and one mask at a time."""
    run(place, make(place, tmp_path / "best.pt"), tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    model = load_initial_model("btr", str(place / "btr"), 0.0, 0)[0].eval()
    source = torch.tensor([tokenizer(ROWS[0].source)["input_ids"]])
    target = tokenizer(ROWS[0].texts[0])["input_ids"]
    mask, total = tokenizer.get_vocab()["<extra_id_0>"], 0.0
    for k, token in enumerate(target):
        row = torch.tensor([[0, *target[:k], mask, *target[k + 1 :]]])
        logits = model(input_ids=source, decoder_input_ids=row, use_cache=False).logits[0, k].detach()
        total += float(logits.log_softmax(-1)[token])
    assert BTR.from_pretrained(str(tmp_path / "out")).scores(ROWS)[0][0] == pytest.approx(total / len(target), abs=1e-5)


def test_an_imported_base_model_writes_and_scores_the_same(place, tmp_path):
    result = run(place, make(place, tmp_path / "best.pt", "t5gec"), tmp_path / "out")
    assert result.kind == "seq2seq"
    names = str(place / "t5gec"), str(tmp_path / "out")
    one, other = (load_reranker(f"l2r:{name}").scores(ROWS) for name in names)
    assert one[0] == pytest.approx(other[0], abs=1e-6)
    decoding = DecodingSettings(size=3, max_length=8)
    written = [TransformersEngine(load("seq2seq", name)).generate([[3, 4, 5, 1]], decoding) for name in names]
    assert [each.tokens for each in written[0][0]] == [each.tokens for each in written[1][0]]
    with pytest.raises(InputError, match="writes left to right, so it is no BTR"):
        load("btr", str(tmp_path / "out"))


def test_settings_in_cfg_and_the_old_file_format(place, tmp_path):
    for number, cfg in enumerate(
        ({"model": Namespace(bidirectional_decoder=True)}, {"task": {"bidirectional_decoder": True}, "model": None})
    ):
        content = content_of(place / "btr", args=None, cfg=cfg)
        path = save(tmp_path / f"{number}.pt", content, _use_new_zipfile_serialization=bool(number))
        assert run(place, path, tmp_path / f"out-{number}").kind == "btr"


def test_half_precision_becomes_float32(place, tmp_path):
    state = {name: weight.half() for name, weight in state_of(place / "btr").items()}
    run(place, make(place, tmp_path / "best.pt", model=state), tmp_path / "out")
    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == "float32"
    for name, weight in weights.items():
        assert torch.equal(weight, state[PREFIX + name].float())


def test_the_folder_is_as_others(place, tmp_path):
    run(place, make(place, tmp_path / "checkpoint_best.pt"), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    for part in ("# out", "--reranker btr:FOLDER", "`checkpoint_best.pt`", "| updates | 1,234 |", "license: other"):
        assert part in card
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint_best.pt", "out"]
    compact = btr.compact(str(tmp_path / "out"), tmp_path / "compact")  # as every other folder
    assert load("btr", compact.model)


def test_the_default_tokenizer_is_that_of_all_t5_models():
    """The numbers that T5's documentation in `transformers` shows for this text; and what the authors' mask is."""
    tokenizer = AutoTokenizer.from_pretrained(Path(btr.__file__).parent / "models" / "shipped" / "t5gec-small")
    text = "translate English to German: The house is wonderful."
    assert tokenizer(text)["input_ids"] == [13959, 1566, 12, 2968, 10, 37, 629, 19, 1627, 5, 1]
    assert (len(tokenizer), tokenizer.get_vocab()["<extra_id_0>"]) == (32100, 32099)
    assert tokenizer.convert_ids_to_tokens([0, 1, 2]) == ["<pad>", "</s>", "<unk>"]


def test_the_authors_sizes_with_the_default_tokenizer(place, tmp_path):
    """A vocabulary of 32,128, as theirs, and one layer of a small width."""
    folder = tiny.save_t5(tmp_path / "wide", bidirectional=True, vocab_size=32128, d_model=8, num_layers=1)
    result = btr.import_checkpoint(save(tmp_path / "best.pt", content_of(folder)), tmp_path / "out")
    assert result.tokenizer == "t5gec-small"
    assert BTR.from_pretrained(str(tmp_path / "out")).scores(ROWS)[0][0] < 0
    with pytest.raises(InputError, match=r"has 32,128 tokens, but the tokenizer .* has \d+;"):  # a smaller vocabulary
        btr.import_checkpoint(tmp_path / "best.pt", tmp_path / "other", tokenizer=str(place / "btr"))


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("key", ["args", "extra_state", "model"])
def test_code_in_a_checkpoint_is_refused_and_not_run(place, tmp_path, key, is_zip):
    content = content_of(place / "btr", **{key: {"x": Touch(tmp_path / "ran")}})
    path = save(tmp_path / "evil.pt", content, _use_new_zipfile_serialization=is_zip)
    with pytest.raises(InputError, match=r"refused, since it has more than tensors.*\((posix|nt)\.system\)") as raised:
        run(place, path, tmp_path / "out")
    assert "\n" not in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.pt"]
    torch.load(path, weights_only=False)  # the code is in the file: it would have run
    assert (tmp_path / "ran").exists()


def test_nothing_is_allowed_for_others_afterwards(place, tmp_path):
    path = make(place, tmp_path / "best.pt")
    run(place, path, tmp_path / "out")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)


class Subclass(argparse.Namespace):
    pass


def changed(place, name="btr", **changes):
    """Return a checkpoint some of whose weights are replaced, or removed (None)."""
    state = {**state_of(place / name), **{PREFIX + key.replace("__", "."): value for key, value in changes.items()}}
    return content_of(place / name, model={key: value for key, value in state.items() if value is not None})


def refused(place):
    width = 32
    final, head = "decoder__final_layer_norm__weight", "lm_head__weight"
    gate = "encoder__block__0__layer__1__DenseReluDense__wi_0__weight"
    query = "decoder__block__1__layer__1__EncDecAttention__q__weight"
    tied = {**state_of(place / "btr")}
    del tied[PREFIX + "lm_head.weight"]
    fairseq = {"encoder.layers.0.self_attn.k_proj.weight": torch.ones(2, 2)}
    yield content_of(place / "btr", args=Subclass()), r"more than tensors and plain values \(.*Subclass\)"
    yield content_of(place / "btr", args=None), "neither 'args' nor 'cfg'"
    yield content_of(place / "btr", model=None), "is no checkpoint of fairseq"
    yield [torch.ones(2)], "is no checkpoint of fairseq"
    yield torch.ones(2), "is no checkpoint of fairseq"
    yield content_of(place / "btr", model=fairseq), r"another architecture, since encoder\.layers\.0"
    yield content_of(place / "btr", model=tied), r"is not a T5 v1\.1"
    yield changed(place, **{final: None}), r"has no decoder\.final_layer_norm\.weight; is it complete\?"
    yield changed(place, **{final: None, query: None}), r"has no .* and 1 more weights; is it complete\?"
    yield changed(place, more=torch.ones(2)), r"has more, which a T5 v1\.1 does not have"
    yield changed(place, **{final: torch.ones(width + 1)}), r"final_layer_norm\.weight is 33, where .* need 32"
    yield changed(place, **{query: torch.ones(4, 4)}), r"q\.weight is 4 × 4, where the other weights need 32 × 32"
    yield changed(place, **{head: torch.full((30, width), torch.nan)}), "not finite, in decoder.model.lm_head"
    yield changed(place, **{final: torch.arange(width)}), "is no tensor of real numbers"
    yield changed(place, **{final: "weights"}), "is no tensor of real numbers"
    yield changed(place, **{final: torch.ones(1).expand(width)}), "is no tensor of real numbers"
    yield changed(place, **{gate: None}), "is no whole T5"
    yield changed(place, encoder__embed_tokens__weight=torch.ones(30, width)), "is not the same as shared.weight"
    yield changed(place, decoder__block__99999999__layer__0__x=torch.ones(2)), "but not of all layers before it"


def test_what_is_refused(place, tmp_path):
    for content, message in refused(place):
        path = save(tmp_path / "wrong.pt", content)
        with pytest.raises(InputError, match=message) as raised:
            run(place, path, tmp_path / "out")
        assert "\n" not in str(raised.value)
        assert str(raised.value).startswith(f"{path}: ")
        assert [path.name for path in tmp_path.iterdir()] == ["wrong.pt"]


def test_files_that_are_no_checkpoints(place, tmp_path):
    whole = make(place, tmp_path / "whole.pt").read_bytes()
    path = tmp_path / "file.pt"
    for content in (b"", b"hello", b"PK\x03\x04" + bytes(50), whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="another kind of file, or is the download incomplete") as raised:
            run(place, path, tmp_path / "out")
        assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="no such file"):
        run(place, tmp_path / "none.pt", tmp_path / "out")
    with pytest.raises(InputError, match="is a folder"):
        run(place, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_outputs_and_tokenizers_that_are_refused(place, tmp_path):
    path = make(place, tmp_path / "best.pt")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is not empty"):
        run(place, path, tmp_path / "full")
    with pytest.raises(InputError, match="is a file"):
        run(place, path, path)
    with pytest.raises(InputError, match=r"has 30 tokens, but the tokenizer t5gec-small has 32,100"):
        btr.import_checkpoint(path, tmp_path / "out")
    with pytest.raises(InputError, match="has no tokenizer"):
        btr.import_checkpoint(path, tmp_path / "out", tokenizer=str(tmp_path / "empty"))
    other = tiny.save(
        T5ForConditionalGeneration.from_pretrained(place / "btr"), tiny.t5_tokenizer("<m>"), tmp_path / "o"
    )
    with pytest.raises(InputError, match="has no <extra_id_0>"):
        btr.import_checkpoint(path, tmp_path / "out", tokenizer=other)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "full" / "thesis.txt").exists()
    run(place, path, tmp_path / "empty")  # an empty folder may be there


def test_nothing_half_written_is_left(place, tmp_path, monkeypatch):
    path = make(place, tmp_path / "best.pt")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for name in ("models.import_checkpoint.save_file", "models.import_checkpoint.load", "corpus.files.replace_folder"):
        with monkeypatch.context() as patch:
            patch.setattr(f"btr.{name}", interrupt)
            with pytest.raises(KeyboardInterrupt):
                run(place, path, tmp_path / "out")
        assert [each.name for each in tmp_path.iterdir()] == ["best.pt"]


def test_the_command(place, tmp_path, capsys):
    path, output = str(make(place, tmp_path / "best.pt")), str(tmp_path / "out")
    app(["import", path, "--output", output, "--tokenizer", str(place / "btr")], standalone_mode=False)
    parameters = sum(weight.numel() for weight in load("btr", output).model.parameters())
    assert " ".join(capsys.readouterr().out.split()) == f"Model: btr:{output} (a BTR of {parameters:,} parameters)"
    save(tmp_path / "evil.pt", {"model": Touch(tmp_path / "ran")})
    command = [sys.executable, "-m", "btr.cli", "import", tmp_path / "evil.pt", "-o", tmp_path / "new"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"btr: {tmp_path / 'evil.pt'}: refused")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "new").exists()


def test_an_interrupted_command_leaves_nothing(place, tmp_path):
    """Ctrl-C while the folder is being written."""
    code = (
        "import btr.cli, btr.models.import_checkpoint as module, time\n"
        "def slow(*_):\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
        "module.write_card = slow\n"
        "btr.cli.main()"
    )
    path = make(place, tmp_path / "best.pt")
    arguments = ["import", path, "-o", tmp_path / "out", "--tokenizer", place / "btr"]
    started = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert started.stdout.readline() == "writing\n"
    assert (tmp_path / "out.part").is_dir()
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=60) == 130
    assert [each.name for each in tmp_path.iterdir()] == ["best.pt"]
