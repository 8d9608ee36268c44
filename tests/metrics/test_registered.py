"""A metric of another distribution, by its name."""

from pathlib import Path

import pytest

import btr
from btr.metrics import METRICS, Metric

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = {"source": EXAMPLES / "source.txt", "reference": [EXAMPLES / f"reference{k}.txt" for k in range(2)]}


@pytest.fixture
def exact(tmp_path, monkeypatch):
    """The metric, installed: a registry that has not yet looked reads its entry point."""
    folder = tmp_path / "exact-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: exact\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[btr.metrics]\nexact = exact_match:ExactMatch\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    monkeypatch.setattr(METRICS, "_has_entry_points", False)
    return "exact"


def test_evaluate(exact):
    result = btr.evaluate(EXAMPLES / "base.txt", metric=exact, **FILES)
    texts, first, second = (
        (EXAMPLES / name).read_text().splitlines() for name in ("base.txt", "reference0.txt", "reference1.txt")
    )
    equal = sum(text in pair for text, *pair in zip(texts, first, second, strict=True))
    assert 0 < equal < 20
    assert result.value == pytest.approx(100 * equal / 20)
    assert result.counts == {"equal": equal, "sentences": 20}
    assert result.signature.startswith("exact|files:source.txt#")
    low, high = result.confidence.intervals["exact"]
    assert low < result.value < high


def test_oracle_and_rank(exact):
    base, oracle = (
        btr.evaluate(EXAMPLES / "candidates.jsonl", metric=exact, oracle=oracle, **FILES) for oracle in (False, True)
    )
    assert oracle.value == pytest.approx(oracle.oracle.gold_percent)
    assert oracle.value > base.value


def test_compare(exact):
    result = btr.compare(EXAMPLES / "base.txt", EXAMPLES / "second.txt", metric=exact, **FILES)
    assert result.difference["exact"] == pytest.approx(result.b.value - result.a.value)


def test_rerank_and_tune(exact, tmp_path):
    scores = tmp_path / "scores.jsonl"
    btr.score(EXAMPLES / "candidates.jsonl", "mbr", scores)
    reranked = btr.rerank(scores, output=tmp_path / "out.txt", metric=exact, **FILES)
    assert reranked.evaluation.reranked.scores == btr.evaluate(tmp_path / "out.txt", metric=exact, **FILES).scores
    tuned = btr.tune(scores, metric=exact, top=[2, 3], folds=2, **FILES)
    assert tuned.base.value == btr.evaluate(EXAMPLES / "base.txt", metric=exact, **FILES).value
    assert max(map(max, tuned.models[0].grid)) == pytest.approx(tuned.models[0].best_score.value)


def test_what_is_built_in_is_registered():
    for name in ("m2", "errant", "gleu"):
        assert METRICS[name].name == name
        assert issubclass(METRICS[name], Metric)
