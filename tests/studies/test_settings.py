"""Settings and profiles in a plan, and rerankers and metrics of other packages: as the other verbs have them."""

import csv
import json
from pathlib import Path

import pytest
import yaml

import btr
from btr.errors import InputError
from btr.metrics import METRICS
from btr.rerankers import RERANKERS

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(folder, rerankers, candidates=EXAMPLES / "candidates.jsonl", dataset=None):
    """Run a study of the example's letters; return Table 5's cells by row and column."""
    plan = {
        "sets": {"Letters": dataset or {"gold": [str(EXAMPLES / "gold.m2")]}},
        "validation": "Letters",
        "candidates": {"Base model": {"files": {"Letters": str(candidates)}}},
        "rerankers": rerankers,
        "folds": 5,
        "top": [2, 3],
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    btr.study(folder / "study.yaml", folder / "report")
    with open(folder / "report" / "table-05.csv", encoding="utf-8", newline="") as file:
        return {(row["row"], row["column"]): row for row in csv.DictReader(file)}


def test_settings_that_are_given_are_those_of_rerank(tmp_path):
    given = {"top": 3, "threshold": 0.05, "drop_runaways": True, "at_least": True}
    cells = run(tmp_path, {"MBR": {"models": ["mbr"], "settings": given}})
    btr.score(EXAMPLES / "candidates.jsonl", "mbr", tmp_path / "mbr.jsonl", top=3, drop_runaways=True)
    result = btr.rerank(tmp_path / "mbr.jsonl", gold=EXAMPLES / "gold.m2", **given)
    cell = cells["MBR (λ = 0.05)", "Letters F0.5"]
    assert float(cell["value"]) == pytest.approx(result.evaluation.reranked.value)
    assert cell["signature"].endswith(result.signature)
    report = (tmp_path / "report" / "report.md").read_text()
    assert "- MBR: the settings were given, not tuned (threshold:0.05|top:3|at-least|drop-runaways)." in report
    assert "**Table 26." in report
    assert "the settings of MBR were given, not tuned." in report


def test_what_is_not_given_is_tuned(tmp_path):
    """With a threshold that is given, the number of candidates is tuned; and the other way round."""
    cells = run(
        tmp_path,
        {
            "A": {"models": ["mbr"], "settings": {"threshold": 0.05}},
            "B": {"models": ["mbr"], "settings": {"top": 2, "average": "f"}},
        },
    )
    btr.score(EXAMPLES / "candidates.jsonl", "mbr", tmp_path / "mbr.jsonl", top=3)
    options = {"gold": EXAMPLES / "gold.m2", "threshold": 0.05}
    best = max(btr.rerank(tmp_path / "mbr.jsonl", top=top, **options).evaluation.reranked.value for top in (2, 3))
    assert float(cells["A (λ = 0.05)", "Letters F0.5"]["value"]) == pytest.approx(best)
    (row,) = {row for row, _ in cells if row.startswith("B (")}
    assert cells[row, "Letters F0.5"]["signature"].endswith("|top:2|average:f")


@pytest.fixture
def with_profile(tmp_path):
    """A tiny model with a profile, and candidates with log-probabilities, one of which is far behind."""
    tiny = pytest.importorskip("tiny")
    model = Path(tiny.save_t5(tmp_path / "model", bidirectional=True, seed=1))
    settings = {"top": 3, "threshold": 0.02, "gap": 1.0, "drop_runaways": True, "weights": {"contrast": 0.5}}
    profiles = {"minimal": {**settings, "rerankers": ["contrast", "base"]}}
    (model / "profiles.json").write_text(json.dumps(profiles))
    rows = [json.loads(line) for line in (EXAMPLES / "candidates.jsonl").read_text().splitlines()]
    for row in rows:
        row["log_probs"] = [-1.0 - 0.6 * k for k, _ in enumerate(row["candidates"])]
    (tmp_path / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return model


def test_a_profile_gives_what_rerank_gives_with_it(with_profile, tmp_path):
    names = [f"contrast:{with_profile}", "base"]
    candidates, scores = tmp_path / "candidates.jsonl", tmp_path / "scores.jsonl"
    cells = run(tmp_path, {"Shipped": {"models": names, "profile": "minimal"}}, candidates)
    btr.score(candidates, names, scores, profile="minimal")
    result = btr.rerank(scores, profile="minimal", gold=EXAMPLES / "gold.m2")
    assert 0 < result.shares["accept"] < 100
    cell = cells["Shipped (λ = 0.02)", "Letters F0.5"]
    assert float(cell["value"]) == pytest.approx(result.evaluation.reranked.value)
    assert cell["signature"].endswith(result.settings.signature())
    assert "|gap:1|" in cell["signature"]
    cells = run(tmp_path, {"File": {"scores": {"Base model": {"Letters": [str(scores)]}}, "profile": "minimal"}})
    assert float(cells["File (λ = 0.02)", "Letters F0.5"]["value"]) == float(cell["value"])


@pytest.mark.parametrize(
    ("reranker", "message"),
    [
        ({"models": ["mbr"], "profile": "minimal"}, "rerankers.A: profile minimal does not apply to mbr"),
        ({"models": ["mbr"], "settings": {"treshold": 0.1}}, "rerankers.A: settings: 'treshold' is no setting"),
        ({"models": ["mbr"], "settings": {"threshold": 2}}, "from 0 to 1, not 2"),
        ({"models": ["mbr"], "settings": {"threshold": 0.1}, "threshold": False}, "threshold: false means no λ"),
        ({"models": ["mbr", "base"], "settings": {"weights": {"base": 2.0}}, "mix": True}, "mix tunes the weights"),
        ({"models": ["mbr"], "settings": {"weights": {"base": 2.0}}}, "a weight for base, but the scores are of mbr"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, reranker, message):
    with pytest.raises(InputError) as error:
        run(tmp_path, {"A": reranker})
    assert message in str(error.value)


@pytest.fixture
def other_package(tmp_path, monkeypatch):
    """A reranker and a metric of another distribution; registries that have not yet looked read its entry points."""
    folder = tmp_path / "other-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    points = "[btr.metrics]\nexact = exact_match:ExactMatch\n[btr.rerankers]\nshortest = shortest:Shortest\n"
    (folder / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    for registry in (METRICS, RERANKERS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
        monkeypatch.setattr(registry, "_has_entry_points", False)


def test_a_reranker_and_a_metric_of_another_package(other_package, tmp_path):
    """A study has them in its tables and figures, without a word about either in the package."""
    references = [str(EXAMPLES / f"reference{k}.txt") for k in range(2)]
    files = {"metric": "exact", "source": str(EXAMPLES / "source.txt"), "reference": references}
    cells = run(tmp_path, {"Shortest": {"models": ["shortest"]}}, dataset=files)
    files["reference"] = references
    score = btr.evaluate(EXAMPLES / "candidates.jsonl", rank=1, **files)
    assert float(cells["Base model", "Letters Exact (%)"]["value"]) == pytest.approx(score.value)
    btr.score(EXAMPLES / "candidates.jsonl", "shortest", tmp_path / "scores.jsonl", top=3)
    (model,) = btr.tune(tmp_path / "scores.jsonl", top=[2, 3], folds=5, **files).models
    (row,) = {row for row, _ in cells if row.startswith("Shortest (")}
    assert float(cells[row, "Letters Exact (%)"]["value"]) == pytest.approx(model.best_score.value)
    report = (tmp_path / "report" / "report.md").read_text()
    assert "Letters (20 sentences, Exact match)" in report
    assert "shortest|1.0|" in cells[row, "Letters Exact (%)"]["signature"]
    assert (tmp_path / "report" / "figure-08-letters.svg").is_file()
