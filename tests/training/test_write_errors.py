"""`btr write-errors`: a model that has learnt reversed pairs writes errors into clean text."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
import torch
import toy
from hypothesis import given
from hypothesis import strategies as st

import btr
from btr.corpus.parallel import read_tsv
from btr.errors import InputError, Interrupted
from btr.training import write_errors as module
from btr.training.write_errors import KEPT, PairLimits, count_changed

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
CLEAN = ["I have two cats .", "I have a dog .", "I go on the mat .", "I have two dogs ."]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model that has learnt to make learners' sentences of right ones, and clean paragraphs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("errors")
    pairs, _ = toy.write(folder, 400)
    data = {"pairs": [pairs], "reverse": True}
    recipe = toy.write_recipe(folder / "r.yaml", "seq2seq", tiny.save_t5(folder / "t5"), pairs, data=data, epochs=30)
    btr.train(recipe, folder / "run")
    paragraphs = [" ".join(CLEAN), "no sentence", " ".join(reversed(CLEAN)), "I have a Zebra ."] * 20
    (folder / "text.txt.gz").write_bytes(gzip.compress("\n".join(paragraphs).encode()))
    yield folder
    torch.set_num_threads(threads)


def model(place: Path) -> str:
    return str(place / "run" / "model")


def test_both_engines_write_errors(place, tmp_path, monkeypatch):
    """CTranslate2's errors are of the same kinds, and depend on the seed and not on where windows begin again."""

    def write(name, **options):
        output = tmp_path / name
        btr.write_errors(place / "text.txt.gz", model(place), output, engine="ctranslate2", top_p=0.9, **options)
        return output.read_text()

    pairs = write("a.tsv")
    assert write("b.tsv") == pairs != write("c.tsv", seed=1)
    wrong = {"I has two cats .", "I have two cat .", "I has two cat ."}
    sources = [line.split("\t")[0] for line in pairs.splitlines() if line.endswith(CLEAN[0])]
    assert sum(source in wrong for source in sources) > 10
    windows = []
    draft = module.draft_pairs

    def interrupted(*arguments):
        windows.append(arguments)
        if len(windows) == 2:
            raise KeyboardInterrupt
        return draft(*arguments)

    monkeypatch.setattr(module, "draft_pairs", interrupted)
    with pytest.raises(Interrupted):
        write("d.tsv")
    assert write("d.tsv") == pairs


def test_the_model_writes_errors(place, tmp_path):
    """What it writes for a right sentence is one of the wrong ones of the toy language, never the right one."""
    result = btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "pairs.tsv", top_p=0.9)
    pairs = list(read_tsv(tmp_path / "pairs.tsv"))
    assert result.pairs == len(pairs) > 40
    assert result.sentences == 180
    assert result.pairs + sum(result.dropped.values()) == 180
    assert result.dropped["unreadable"] == 20  # the zebra
    assert {target for _, target in pairs} <= set(CLEAN)
    assert all(source != target for source, target in pairs)
    wrong = {"I has two cats .", "I have two cat .", "I has two cat ."}
    assert sum(source in wrong for source, target in pairs if target == CLEAN[0]) > 10
    assert not (tmp_path / "pairs.tsv.drafts").exists()


def test_the_card_says_what_the_model_is_for(place):
    card = (place / "run" / "model" / "README.md").read_text()
    assert "A model that writes errors into clean sentences" in card
    assert "btr write-errors TEXT.txt --model FOLDER -o PAIRS.tsv" in card
    assert "btr generate" not in card


def test_the_same_seed_gives_the_same_bytes(place, tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        btr.write_errors([place / "text.txt.gz"], model(place), tmp_path / name, seed=seed)
    one, again, two = ((tmp_path / name).read_bytes() for name in ("one", "again", "two"))
    assert one == again != two


def test_interrupted_and_continued(place, tmp_path, monkeypatch):
    """Stopped in a window, and again when all is sampled: the same bytes, and no window is sampled twice."""
    btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "whole")
    sampled, sample, keep = [], module.generate_hypotheses, module.write_kept

    def stopping(engine, readable, settings):
        sampled.append(len(readable))
        if len(sampled) == 2:
            raise KeyboardInterrupt
        return sample(engine, readable, settings)

    monkeypatch.setattr(module, "WINDOW", 128)
    monkeypatch.setattr(module, "generate_hypotheses", stopping)
    with pytest.raises(btr.errors.Interrupted, match="the same command continues"):
        btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "cut")
    assert not (tmp_path / "cut").exists()

    def failing(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_kept", failing)
    with pytest.raises(Interrupted):
        btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "cut")
    monkeypatch.setattr(module, "write_kept", keep)
    btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "cut")
    assert len(sampled) == 3
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_part_of_the_text(place, tmp_path):
    every = btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "a", sentences=12, skip_sentences=3)
    assert every.sentences == 12


def test_a_language_model_drops_improbable_sources(place, tmp_path):
    """With a bound of nearly nothing, only sources that it prefers to their targets are kept."""
    name = f"lm:{tiny.save_language_model(tmp_path / 'lm')}"
    options = {"sentences": 60, "language_model": name}
    strict = btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "few", max_log_ratio=1e-9, **options)
    lax = btr.write_errors(place / "text.txt.gz", model(place), tmp_path / "all", max_log_ratio=1e9, **options)
    assert 0 < strict.pairs < lax.pairs
    assert strict.dropped["improbable"] == lax.pairs - strict.pairs
    assert "improbable" not in lax.dropped
    assert "lm|model:lm#" in lax.signature
    reranker = btr.load_reranker(name, int8=True)
    for source, target in read_tsv(tmp_path / "few"):
        right, wrong = reranker.predict([(target, target), (target, source)])
        assert wrong > right


@pytest.mark.parametrize(
    ("source", "target", "verdict"),
    [
        ("a b c d e", "a b c d e", "unchanged"),
        ("a  b", "a b", "unchanged"),
        ("", "a b", "length"),
        ("a b c", "a b c d e", "length"),  # 5 / 3 > 1.5
        ("a b c d", "a b c d e f", KEPT),  # 6 / 4 = 1.5; 2 of 6 changed
        ("a x y d e", "a b c d e", KEPT),  # 2 of 5
        ("x y z d e", "a b c d e", "changed"),
    ],
)
def test_limits(source, target, verdict):
    assert PairLimits().verdict(source, target) == verdict


def test_count_changed():
    assert count_changed(["he", "go", "to", "school"], ["he", "goes", "to", "the", "school"]) == 2
    assert count_changed([], ["a", "b"]) == 2


@given(words=st.lists(st.sampled_from("abc")), others=st.lists(st.sampled_from("abc")))
def test_changed_words_are_at_most_all(words, others):
    assert abs(len(words) - len(others)) <= count_changed(words, others) <= max(len(words) + len(others), 0)
    assert (count_changed(words, others) == 0) == (words == others)


def test_the_command(place, tmp_path):
    command = [sys.executable, "-m", "btr.cli", "write-errors", place / "text.txt.gz", "--model", model(place)]
    options = ["--sentences", "20", "-o", tmp_path / "pairs.tsv"]
    done = subprocess.run([*command, *options, "--json"], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pairs"] == len(list(read_tsv(tmp_path / "pairs.tsv")))
    done = subprocess.run([*command, *options], env=ENVIRONMENT, capture_output=True, text=True)
    assert "pairs of 20 sentences." in done.stdout


def test_what_is_refused(place, tmp_path):
    def refusal(text=place / "text.txt.gz", **options):
        with pytest.raises(InputError) as error:
            btr.write_errors(text, model(place), tmp_path / "no.tsv", **options)
        assert not list(tmp_path.glob("no.tsv*"))
        return str(error.value)

    assert "no such file" in refusal(tmp_path / "nothing.txt")
    assert "name one as lm:MODEL" in refusal(language_model="mbr")
    assert "max_changed above 0" in refusal(max_changed=0.0)
    assert "top_p must be above 0" in refusal(top_p=2.0)
    (tmp_path / "titles.txt").write_text("History\n")
    assert "the text has no sentence to write errors in" in refusal(tmp_path / "titles.txt")
