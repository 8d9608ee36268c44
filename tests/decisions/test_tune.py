"""`btr tune` on four sentences that can be scored by hand."""

import json

import pytest
from four import EQUAL, ROWS, write_gold, write_scores
from typer.testing import CliRunner

import btr
from btr.cli import app
from btr.decisions.search import WEIGHTS
from btr.decisions.settings import find_profile
from btr.errors import InputError


@pytest.fixture
def folder(tmp_path):
    write_gold(tmp_path / "gold.m2")
    write_scores(tmp_path / "good.jsonl", ROWS, "good")
    write_scores(tmp_path / "bad.jsonl", EQUAL, "bad")
    return tmp_path


def test_each_cell_is_what_rerank_gives(folder):
    gold = [folder / "gold.m2"]
    tuned = btr.tune([folder / "good.jsonl"], gold=gold, top=[1, 2, 20], step=0.1, folds=2)
    (model,) = tuned.models
    assert model.tops == (1, 2)  # there are no more candidates
    assert tuned.thresholds == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    for top, values, changed in zip(model.tops, model.grid, model.changed):
        for threshold, value, is_changed in zip(tuned.thresholds, values, changed):
            result = btr.rerank([folder / "good.jsonl"], threshold=threshold, top=top, gold=gold)
            assert result.evaluation.reranked.scores["f0.5"] == pytest.approx(value)
            assert is_changed == (result.shares["accept"] > 0)


def test_the_best_cell_by_hand(folder):
    """Of three gold edits the base makes one, and one that is wrong."""
    tuned = btr.tune([folder / "good.jsonl"], gold=[folder / "gold.m2"], top=[2], step=0.01, folds=2)
    assert tuned.base.counts == {"correct": 1, "proposed": 2, "gold": 3}
    (model,) = tuned.models
    # f rises by tanh of half the difference: 0.64, 0.05, 0.05. So λ = 0.04 changes three, and λ = 0.06 only the first.
    assert model.grid[0][4] == pytest.approx(100 * 1.25 * 3 / (4 + 0.25 * 3))
    assert model.grid[0][6] == pytest.approx(100 * 1.25 * 2 / (3 + 0.25 * 3))
    assert model.best.threshold == pytest.approx(0.04)  # the most careful of the best
    assert len(model.fold_settings) == 2
    assert "gold.m2#" in tuned.signature


def test_a_string_is_one_path(folder):
    single = btr.tune(str(folder / "good.jsonl"), gold=str(folder / "gold.m2"), folds=2)
    listed = btr.tune([str(folder / "good.jsonl")], gold=[str(folder / "gold.m2")], folds=2)
    assert single.to_dict() == listed.to_dict()


def test_a_mixture_finds_who_is_right_and_rerank_takes_its_weights(folder):
    files, gold = [folder / "bad.jsonl", folder / "good.jsonl"], [folder / "gold.m2"]
    tuned = btr.tune(files, gold=gold, mix=True, step=0.05, folds=2)
    best = tuned.mixture.best
    assert best.weights["good"] in WEIGHTS[1:]
    assert tuned.mixture.best_score.scores["f0.5"] == pytest.approx(100 * 1.25 * 3 / (4 + 0.25 * 3))
    result = btr.rerank(files, threshold=best.threshold, top=best.top, weights=best.weights, gold=gold)
    assert result.evaluation.reranked.scores == pytest.approx(tuned.mixture.best_score.scores)
    assert "|weights:" in result.signature


def test_scores_of_other_candidates_are_not_mixed(folder):
    write_scores(folder / "other.jsonl", ROWS[::-1], "other")
    with pytest.raises(InputError, match=r"other\.jsonl, line 2: has other candidates than .*good\.jsonl"):
        btr.tune([folder / "good.jsonl", folder / "other.jsonl"], gold=folder / "gold.m2", mix=True)


def run(folder, *arguments):
    """Run `btr tune` in this process."""
    command = ["tune", folder / "good.jsonl", folder / "bad.jsonl", "--gold", folder / "gold.m2", "--folds", 2]
    return CliRunner().invoke(app, [*map(str, command), *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_grids_are_drawn_and_drawn_alike(folder, kind):
    for name in ("one", "two"):
        run(folder, "--plot", folder / f"{name}.{kind}")
    assert (folder / f"one.{kind}").read_bytes() == (folder / f"two.{kind}").read_bytes()
    assert (folder / f"one.{kind}").stat().st_size > 2000


def test_a_figure_of_an_unknown_kind_is_refused(folder):
    with pytest.raises(InputError, match="name ends in one of"):
        run(folder, "--plot", folder / "x.doc")


def test_refusals(folder):
    gold, good = [folder / "gold.m2"], [folder / "good.jsonl"]
    for options, words in (
        ({"folds": 5}, "^4 sentences can't be dealt into 5 folds"),
        ({"mix": True}, "needs several"),
        ({"step": 0.0}, "the step between thresholds"),
        ({"top": [0]}, "must be 1 or more"),
    ):
        with pytest.raises(InputError, match=words):
            btr.tune(good, gold=gold, **options)
    write_scores(folder / "empty.jsonl", [], "good")
    for verb in (btr.tune, btr.rerank):
        with pytest.raises(InputError, match="header and no scores"):
            verb([folder / "empty.jsonl"], gold=gold)
    with pytest.raises(InputError, match="name at least one scores file"):
        btr.tune([], gold=gold)


def test_the_best_settings_are_a_profile_of_their_rerankers(folder):
    best = btr.tune(folder / "good.jsonl", gold=folder / "gold.m2", folds=2).models[0].best
    assert best.rerankers == ("good",)
    assert best.candidates >= best.top
    (folder / "profiles.json").write_text(json.dumps({"mine": best.to_dict()}))
    assert find_profile("mine", [folder], ["good"]) == (best, None)
    for name, folders in (("mine", []), ("other", [folder])):
        with pytest.raises(InputError, match=f"there is no profile '{name}'"):
            find_profile(name, folders, ["good"])
    _, note = find_profile("minimal", [], ["good"])
    assert note == (
        "profile minimal does not apply to good (the model has no profiles); the default settings are used: "
        "threshold 0, and all candidates compete."
    )


def test_weights_change_only_the_kinds_that_they_name():
    settings = btr.Settings(weights={"contrast": 2.0, "base": 3.0})
    assert settings.override(weights={"base": 1.0}).weights == {"contrast": 2.0, "base": 1.0}
