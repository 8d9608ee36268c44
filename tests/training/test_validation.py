"""Which score chooses the best epoch: at the best λ, or without λ and with a partner. Four sentences, by hand."""

import json

import four
import pytest
import tiny
import toy

import btr
from btr.rerankers.base import Reranker
from btr.training import OBJECTIVES, validation
from btr.training.recipe import Recipe
from btr.training.validation import Validator, best_threshold

SUGGESTED = [texts[1] for _, _, texts, _ in four.SENTENCES]
GOES, LIKES, WAS, IS = (
    SUGGESTED  # the first two are gold; the third changes what was right, and the fourth is the source
)
CERTAIN, UNCERTAIN = 1.5, 0.1  # f rises by tanh(1.5 / 2) = 0.64 and tanh(0.1 / 2) = 0.05


class Fixed(Reranker):
    """Gives the second candidates the scores that a test says, and the base candidates 0."""

    title = signature = "fixed"

    def __init__(self, kind, scores):
        self.kind, self.by_text = kind, scores

    def scores(self, rows):
        return [tuple(self.by_text.get(text, -9.0) if k else 0.0 for k, text in enumerate(row.texts)) for row in rows]


@pytest.fixture
def files(tmp_path):
    candidates = tmp_path / "candidates.jsonl"
    rows = ({"source": source, "candidates": texts} for source, _, texts, _ in four.SENTENCES)
    candidates.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"gold": [str(four.write_gold(tmp_path / "gold.m2"))], "candidates": str(candidates)}


def measure(kind, files, scores, **settings):
    recipe = Recipe(kind=kind, model="m", epochs=1, data={"pairs": ["p.tsv"]}, validation={**files, **settings})
    return Validator(recipe).measure_reranker(Fixed(kind, scores))


@pytest.mark.parametrize(("kind", "expected"), [("btr", 0.1), ("roberta", 0.1), ("bert", 0.0), ("r2l", 0.0)])
def test_the_kind_says_whether_the_best_threshold_counts(files, kind, expected):
    """Without λ three of four proposed edits are right (P 75, R 100); at 0.1 the wrong one, uncertain, is rejected."""
    measures = measure(kind, files, {GOES: CERTAIN, LIKES: CERTAIN, WAS: UNCERTAIN})
    assert measures.grid["0.0"] == pytest.approx(100 * 1.25 * 0.75 / (0.25 * 0.75 + 1))
    assert measures.grid["0.1"] == 100
    assert measures.base == pytest.approx(100 * 1.25 * 0.5 / 3 / (0.25 * 0.5 + 1 / 3))  # one of two, of three
    assert measures.threshold == expected
    assert measures.value == measures.grid[f"{expected:.1f}"]
    assert OBJECTIVES[kind].tunes_threshold == (expected > 0)


def test_a_threshold_that_accepts_nothing_does_not_count(files):
    """The paper ignores scores that are the base model's (its Table 15): here all but the one without λ."""
    measures = measure("btr", files, {WAS: UNCERTAIN})
    assert measures.grid["0.0"] < measures.grid["0.1"] == measures.base
    assert (measures.threshold, measures.value) == (0.0, measures.grid["0.0"])


def test_the_best_threshold_by_hand():
    assert best_threshold([46.48, 49.35, 49.36, 49.36], 49.36) == 1  # the paper's RoBERTa, whose λ is 0.1
    assert best_threshold([45.34, 49.36, 49.36], 49.36) == 0  # its BTR without negatives
    assert best_threshold([49.13, 50.22, 50.22, 49.36], 49.36) == 1  # the first of equals
    assert best_threshold([49.36, 49.36], 49.36) == 0


def test_r2l_is_measured_with_its_partner(files, monkeypatch):
    """R2L alone prefers a wrong suggestion; with L2R's scores added, it stays below the base candidate's."""
    loaded = []

    def load(names):
        loaded.append(names)
        return Fixed("l2r", {GOES: -0.5, LIKES: -0.5, WAS: -2 * UNCERTAIN})

    monkeypatch.setattr(validation, "load_reranker", load)
    scores = {GOES: CERTAIN, LIKES: CERTAIN, WAS: UNCERTAIN}
    assert measure("r2l", files, scores).value < 80
    assert loaded == []
    both = measure("r2l", files, scores, partner="base/model")
    assert (both.value, both.threshold) == (100, 0.0)
    assert loaded == [["l2r:base/model"]]


def test_an_r2ls_best_epoch_is_that_of_the_sum(tmp_path):
    """What is measured is what `btr score` and `btr rerank` give with both models and without λ."""
    rows = list(toy.sentences(60, 99))
    m2, held = tmp_path / "held.m2", tmp_path / "held.jsonl"
    toy.write_m2(m2, rows)
    toy.write_candidates(held, rows)
    pairs, _ = toy.write(tmp_path, 100)
    start, base = tiny.save_t5(tmp_path / "start"), tiny.save_t5(tmp_path / "base", seed=3)
    settings = {"gold": [str(m2)], "candidates": str(held), "partner": base}
    recipe = toy.write_recipe(tmp_path / "r.yaml", "r2l", start, pairs, epochs=3, validation=settings)
    result = btr.train(recipe, tmp_path / "run")
    btr.score(held, [f"r2l:{result.model}", f"l2r:{base}"], tmp_path / "both.jsonl")
    btr.score(held, [f"r2l:{result.model}"], tmp_path / "alone.jsonl")
    both, alone = (
        btr.rerank([tmp_path / name], threshold=0.0, gold=[m2]).evaluation.reranked.value
        for name in ("both.jsonl", "alone.jsonl")
    )
    assert result.best.value == pytest.approx(both)
    assert both != pytest.approx(alone)
    assert result.best.threshold == 0
    assert "- The epoch was chosen on the sentences" in (tmp_path / "run" / "model" / "README.md").read_text()
