"""`btr cross-fit`: candidates by models that have not seen the sources, in the order of the pairs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
import toy
from hypothesis import given
from hypothesis import strategies as st

import btr
from btr.corpus.candidates import read_candidates
from btr.corpus.m2 import read_m2
from btr.corpus.pairs import read_pairs, read_sources
from btr.errors import InputError
from btr.training import cross_fit as module
from btr.training.cross_fit import fold_of

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
DECODING = {"beam": 2, "engine": "transformers"}


@pytest.fixture
def recipe(tmp_path):
    """A recipe whose pairs are two M2 files that share some sentences."""
    rows = list(toy.sentences(60, 3))
    toy.write_m2(tmp_path / "one.m2", rows[:40])
    toy.write_m2(tmp_path / "two.m2", rows[30:])
    model = tiny.save_t5(tmp_path / "t5")
    path = toy.write_recipe(
        tmp_path / "r.yaml", "seq2seq", model, "", epochs=None, steps=2, batch_tokens=256, validation=DECODING
    )
    content = path.read_text().replace("- ''", f"- {tmp_path}/one.m2\n  - {tmp_path}/two.m2")
    path.write_text(content)
    return path


def every_pair(folder: Path) -> list[tuple[str, str]]:
    return [pair for name in ("one.m2", "two.m2") for pair in read_pairs(folder / name)]


def test_from_pairs_to_candidates(tmp_path, recipe):
    result = btr.cross_fit(recipe, tmp_path / "out")
    pairs = every_pair(tmp_path)
    rows = list(read_candidates(result.candidates))
    assert [row.source for row in rows] == [source for source, _ in pairs]
    assert all(len(row.texts) == 2 for row in rows)
    assert list(read_m2(result.gold)) == [s for name in ("one.m2", "two.m2") for s in read_m2(tmp_path / name)]
    assert sum(result.sources) == len(pairs)
    for number, model in enumerate(result.models, 1):
        fold = tmp_path / "out" / f"fold-{number}"
        unseen, trained = list(read_sources(fold / "sources.txt")), list(read_pairs(fold / "pairs.m2"))
        assert not set(unseen) & {source for source, _ in trained}
        assert len(unseen) + len(trained) == len(pairs)
        assert [pair for pair in pairs if pair[0] not in unseen] == trained  # in their order
        btr.generate(fold / "sources.txt", model, tmp_path / f"{number}.jsonl", size=2)
        assert list(read_candidates(tmp_path / f"{number}.jsonl")) == [row for row in rows if row.source in unseen]


def test_what_is_done_is_not_done_again(tmp_path, recipe, monkeypatch):
    """Interrupted between the stages, the command goes on with what is missing, and gives the same files."""
    whole = btr.cross_fit(recipe, tmp_path / "whole")
    written = []

    def generate(sources, model, output, **options):
        written.append(Path(output).parent.name)
        if len(written) == 2:
            raise KeyboardInterrupt
        return btr.generate(sources, model, output, **options)

    monkeypatch.setattr(module, "generate", generate)
    with pytest.raises(KeyboardInterrupt):
        btr.cross_fit(recipe, tmp_path / "cut")
    assert not (tmp_path / "cut" / "candidates.jsonl").exists()
    logs = [(tmp_path / "cut" / f"fold-{k}" / "run" / "log.jsonl").read_bytes() for k in (1, 2)]
    result = btr.cross_fit(recipe, tmp_path / "cut")
    assert written == ["fold-1", "fold-2", "fold-2"]
    assert [(tmp_path / "cut" / f"fold-{k}" / "run" / "log.jsonl").read_bytes() for k in (1, 2)] == logs
    assert Path(result.candidates).read_bytes() == Path(whole.candidates).read_bytes()


def test_three_folds_of_a_tsv_by_the_command(tmp_path):
    pairs, _ = toy.write(tmp_path, 40)
    model = tiny.save_t5(tmp_path / "t5")
    path = toy.write_recipe(tmp_path / "r.yaml", "seq2seq", model, pairs, validation=DECODING)
    command = [sys.executable, "-m", "btr.cli", "cross-fit", path, "--output", tmp_path / "out", "--json"]
    options = ["--folds", "3", "--set", "epochs=null", "--set", "steps=1"]
    done = subprocess.run([*command, *options], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result["sources"]) == len(result["models"]) == 3
    assert list(read_pairs(result["gold"])) == list(read_pairs(pairs))
    assert len(list(read_candidates(result["candidates"]))) == 40


@given(source=st.text(), folds=st.integers(2, 9))
def test_equal_sentences_are_in_one_fold(source, folds):
    assert fold_of(source, folds) == fold_of(f"  {source} ".replace(" ", "  "), folds) < folds


def test_folds_are_the_same_on_every_machine():
    """The numbers are those of SHA-256, not of Python's own hash, which differs between processes."""
    assert [fold_of(text, 2) for text in ("I has two dogs .", "he go .", "a", "")] == [1, 1, 0, 0]


def test_what_is_refused(tmp_path, recipe, monkeypatch):
    def refusal(**options):
        with pytest.raises(InputError) as error:
            btr.cross_fit(recipe, tmp_path / "no", **options)
        assert not (tmp_path / "no" / "candidates.jsonl").exists()
        return str(error.value)

    assert "name a recipe of the kind seq2seq" in refusal(changes={"kind": "r2l"})
    assert "there must be at least 2" in refusal(folds=1)
    (tmp_path / "few.tsv").write_text("a .\tb .\n")
    assert "has no source; take fewer folds, or more pairs" in refusal(changes={"data.pairs": [f"{tmp_path}/few.tsv"]})
    (tmp_path / "no.file").write_text("")
    with pytest.raises(InputError, match="can't be a folder"):
        btr.cross_fit(recipe, tmp_path / "no.file")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "runs in one process" in refusal()


def test_other_pairs_than_before_are_refused(tmp_path, recipe):
    btr.cross_fit(recipe, tmp_path / "out")
    toy.write_m2(tmp_path / "one.m2", toy.sentences(35, 8))
    with pytest.raises(InputError, match="the data or the first weights are not those that it began with"):
        btr.cross_fit(recipe, tmp_path / "out")
