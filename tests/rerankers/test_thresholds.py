import random

from btr.corpus.m2 import Edit, Sentence
from btr.corpus.scores import Scored
from btr.metrics.m2 import M2
from btr.rerankers.thresholds import cross_validate, try_thresholds


def corpus(size=60, seed=1):
    """Sentences with one error; the base misses it, and the other candidate is right in two of three cases."""
    luck = random.Random(seed)
    sentences, rows = [], []
    for k in range(size):
        source = f"word{k} have it"
        sentences.append(Sentence(source, {0: (Edit(1, 2, "X", ("has",)),)}))
        right = luck.random() < 0.67
        other = source.replace("have", "has" if right else "had")
        margin = luck.uniform(1.0, 3.0) if right else luck.uniform(0.0, 2.0)
        rows.append(Scored(source, (source, other), (-margin, 0.0), (3, 3)))
    return M2(sentences, processes=1), rows


def test_crossed_settings_are_best_on_the_other_folds():
    metric, rows = corpus()
    crossed = cross_validate(metric, rows, tops=(1, 2), folds=3)
    for fold, (top, threshold) in enumerate(crossed.settings):
        keep = [k for k in range(len(rows)) if k % 3 != fold]
        part = M2([metric.sentences[k] for k in keep], processes=1)
        own = [rows[k] for k in keep]
        values = {(t, value): score.value for t in (1, 2) for value, score in try_thresholds(part, own, top=t).items()}
        best = try_thresholds(part, own, (threshold,), top)[threshold].value
        assert best >= max(values.values()) - 1e-9
    assert crossed.score.value <= max(
        score.value for score in try_thresholds(metric, rows, [k / 20 for k in range(21)]).values()
    )


def test_a_reranker_that_knows_nothing_keeps_the_base():
    """All its suggestions are wrong, so that every fold rejects them."""
    metric, rows = corpus()
    wrong = [
        Scored(row.source, (row.source.replace("have", "has"), row.source + " no"), (-1.0, 0.0), (3, 4)) for row in rows
    ]
    crossed = cross_validate(metric, wrong, folds=5)
    assert crossed.score.value == 100
    assert all(threshold == 1 for _, threshold in crossed.settings)
