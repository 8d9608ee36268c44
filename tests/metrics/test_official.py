"""Counts and scores of the files in examples/ against the scorers' figures in tests/golden/examples.json."""

import json
from pathlib import Path

import numpy as np
import plain_maxmatch
import pytest

from btr.corpus import read_candidates, read_lines, read_m2
from btr.metrics.gold import load_gold

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FIGURES = json.loads((ROOT / "tests" / "golden" / "examples.json").read_text())
OUTPUTS = [name for name, figures in FIGURES.items() if isinstance(figures, dict)]


def read_output(name):
    if name == "candidates.jsonl, rank 3":
        return [row.texts[2] for row in read_candidates(EXAMPLES / "candidates.jsonl")]
    return list(read_lines(EXAMPLES / name))


@pytest.fixture(scope="module")
def metrics():
    errant = {
        f"errant {mode}": load_gold("errant", gold=EXAMPLES / "gold.m2", mode=mode).metric
        for mode in ("correction", "detection", "token-detection")
    }
    references = [EXAMPLES / "reference0.txt", EXAMPLES / "reference1.txt"]
    return {
        "m2": load_gold("m2", gold=EXAMPLES / "gold.m2").metric,
        **errant,
        "gleu": load_gold("gleu", source=EXAMPLES / "source.txt", reference=references).metric,
    }


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("metric", ["m2", "errant correction", "errant detection", "errant token-detection"])
def test_edits(metrics, metric, name):
    """The counts for every sentence and annotator, the annotators chosen, and the totals."""
    scorer, figures, texts = metrics[metric], FIGURES[name][metric], read_output(name)
    counts = scorer.counts(texts)
    assert counts.tolist() == figures["counts"]
    _, chosen = scorer.choose_annotators(counts, np.arange(len(texts))[None])
    assert chosen[0].tolist() == figures["chosen"]
    assert list(scorer.score(texts).counts.values()) == figures["totals"]


@pytest.mark.parametrize("name", OUTPUTS)
def test_gleu(metrics, name):
    """The counts for every sentence and reference, and the mean and deviation over draws."""
    figures, texts = FIGURES[name]["gleu"], read_output(name)
    assert metrics["gleu"].counts(texts).tolist() == figures["counts"]
    score = metrics["gleu"].score(texts)
    assert score.value == pytest.approx(100 * figures["mean"], abs=1e-9)
    assert score.details["std_over_draws"] == pytest.approx(100 * figures["std"], abs=1e-9)


def test_plain_maxmatch_is_official(golden):
    """What made the counts of M2 gives those of the official program, on real sentences of two annotators."""
    rows = [line.split("\t")[-1] for line in list(read_lines(golden / "m2" / "cweb-s-dev.tsv"))[1:]]
    texts = read_lines(golden / "m2" / "cweb-s-dev.hyp")
    checked = 0
    for sentence, text, row in zip(read_m2(golden / "m2" / "cweb-s-dev.m2"), texts, rows, strict=True):
        if sentence.source.split() != text.split() and max(map(len, (sentence.source.split(), text.split()))) <= 20:
            official = [tuple(map(int, counts.split(":")[1].split("/"))) for counts in row.split()]
            annotations = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)]
            assert plain_maxmatch.count_edits(sentence.source, text, annotations) == official
            checked += 1
    assert checked > 100
