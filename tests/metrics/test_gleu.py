import random

import numpy as np
import plain_gleu
import pytest

from btr.corpus import read_lines
from btr.metrics.gleu import GLEU

# On JFLEG dev with dev.src as the source, by the official script.
GOLDEN = [
    ("dev.src", [0, 1, 2, 3], 0.381965, 0.009597),
    ("dev.spellchecked.src", [0, 1, 2, 3], 0.434253, 0.009212),
    ("dev.ref0", [0, 1, 2, 3], 0.672755, 0.010892),
    ("dev.ref0", [1, 2, 3], 0.557593, 0.006890),
    ("dev.ref0", [1], 0.501777, 0.0),
]


@pytest.mark.parametrize(("hypotheses", "references", "mean", "deviation"), GOLDEN)
def test_golden(data, hypotheses, references, mean, deviation):
    folder = data / "jfleg-dev"
    texts = [list(read_lines(folder / f"dev.ref{k}")) for k in references]
    score = GLEU(list(read_lines(folder / "dev.src")), list(zip(*texts, strict=True))).score(
        list(read_lines(folder / hypotheses))
    )
    assert round(score.scores["gleu"] / 100, 6) == mean
    assert round(score.details["std_over_draws"] / 100, 6) == deviation


def test_by_hand():
    """Source a b c d e, reference a x c d e, hypothesis a x c d e: all n-grams match, nothing is kept."""
    assert GLEU(["a b c d e"], [["a x c d e"]]).score(["a x c d e"]).scores["gleu"] == pytest.approx(100)
    # The hypothesis is the source: matches 4, 2, 1, 0 less the kept n-grams 1, 2, 2, 2 is 3, 0, 0, 0.
    metric = GLEU(["a b c d e"], [["a x c d e"]])
    assert metric.counts(["a b c d e"]).tolist() == [[[5, 5, 3, 5, 0, 4, 0, 3, 0, 2]]]
    assert metric.score(["a b c d e"]).scores["gleu"] == 0


def make(generator, length):
    return " ".join(generator.choice("abcd") for _ in range(length))


def test_as_one_pass_a_draw():
    generator = random.Random(7)
    sources = [make(generator, generator.randint(4, 9)) for _ in range(12)]
    hypotheses = [make(generator, generator.randint(4, 9)) for _ in sources]
    references = [[make(generator, generator.randint(4, 9)) for _ in sources] for _ in range(3)]
    metric = GLEU(sources, list(zip(*references, strict=True)))
    draws = metric.draws(metric.counts(hypotheses), np.arange(12)[None])[0]
    assert draws.tolist() == pytest.approx(plain_gleu.gleu(sources, hypotheses, references), abs=1e-12)
    assert metric.score(hypotheses).scores["gleu"] == pytest.approx(100 * draws.mean())


def test_empty_texts():
    metric = GLEU(["a b c d", ""], [["a b c d"], [""]])
    assert metric.score(["", ""]).scores["gleu"] == 0
    assert metric.score(["a b c d", ""]).scores["gleu"] == pytest.approx(100)


def test_sentence_scores_are_smoothed():
    metric = GLEU(["a b", "a b"], [["a c"], ["a b"]])
    scores = metric.sentence_scores(metric.counts(["a c", "a b"]))
    assert scores.tolist() == pytest.approx([1, 1])
