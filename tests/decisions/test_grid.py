import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.m2 import Edit, Sentence
from btr.corpus.scores import Scored
from btr.errors import InputError
from btr.metrics.m2 import M2
from btr.rerankers.base import Rule
from btr.rerankers.table import FINE, Setting, Table, cross_validate, tune


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


texts = st.sampled_from(["a b", "a c", "", "a", "b b b", " ", "a b c d e f g h i j k l m n o p q r s t"])
scores = st.one_of(st.none(), st.floats(-30, 0), st.just(-1.0))


@given(
    st.lists(st.lists(st.tuples(texts, scores, scores), min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(1.0, 0.0), (0.5, 2.0)]),
)
def test_table_decides_as_the_rule_does(drawn, top, threshold, at_least, drop, weights):
    """A reranker gives equal texts equal scores; a mixture's score is the weighted sum."""
    first, second = [], []
    for own in drawn:
        known = {text: (one, other) for text, one, other in own}
        candidates = tuple(text for text, _, _ in own)
        for k, rows in enumerate((first, second)):
            rows.append(Scored("a b", candidates, tuple(known[text][k] for text in candidates), (1,) * len(own)))
    metric = M2([Sentence("a b", {0: ()})] * len(drawn), processes=1)
    table = Table(metric, [first, second], Rule(at_least=at_least, drop_runaways=drop))
    chosen = table.choose([Setting(top, threshold, weights)])[0]
    rule = Rule(threshold, top, at_least, drop)
    for n, (one, other) in enumerate(zip(first, second)):
        used = [one.means, other.means] if weights[1] else [one.means]
        mixed = [
            None if None in together else sum(w * value for w, value in zip(weights, together))
            for together in zip(*used)
        ]
        decided = rule.decide(one.source, one.candidates, mixed)
        assert one.candidates[chosen[n]] == one.candidates[decided.choice]
        taking = rule.takes_part(one.source, one.candidates)
        if any(decided.f):  # the rule gives equal texts the same f, the table gives it to the first of them
            assert table.shares(top, weights)[n, taking] == pytest.approx([decided.f[k] for k in taking])
        assert chosen[n] in (0, *taking)


def test_values_are_the_scores_of_the_texts_chosen():
    metric, rows = corpus()
    table = Table(metric, [rows])
    settings = [Setting(2, threshold) for threshold in FINE]
    choices = table.choose(settings)
    by_hand = [metric.score(table.texts(own)).value for own in choices]
    assert table.values(choices) == pytest.approx(by_hand, abs=1e-9)
    assert table.score(choices[3]) == metric.score(table.texts(choices[3]))
    some = np.array([0, 5, 7])
    part = M2([metric.sentences[k] for k in some], processes=1)
    expected = part.score([table.texts(choices[0])[k] for k in some]).value
    assert table.values(choices, some)[0] == pytest.approx(expected)


def test_crossed_settings_are_best_on_the_other_folds():
    metric, rows = corpus()
    crossed = cross_validate(Table(metric, [rows]), tops=(1, 2), folds=3)
    for fold, setting in enumerate(crossed.settings):
        keep = [k for k in range(len(rows)) if k % 3 != fold]
        part = Table(M2([metric.sentences[k] for k in keep], processes=1), [[rows[k] for k in keep]])
        every = part.values(part.choose([Setting(top, threshold) for top in (1, 2) for threshold in FINE]))
        assert part.values(part.choose([setting]))[0] == pytest.approx(every.max())
    table = Table(metric, [rows])
    assert crossed.score.value <= table.values(table.choose([Setting(2, t) for t in FINE])).max()
    assert crossed.score == table.score(crossed.choices)


def test_a_reranker_that_knows_nothing_keeps_the_base():
    """All its suggestions are wrong, so that every fold rejects them."""
    metric, rows = corpus()
    wrong = [
        Scored(row.source, (row.source.replace("have", "has"), row.source + " no"), (-1.0, 0.0), (3, 4)) for row in rows
    ]
    crossed = cross_validate(Table(metric, [wrong]), folds=5)
    assert crossed.score.value == 100
    assert all(setting.threshold == 1 for setting in crossed.settings)


def test_a_mixture_leaves_out_who_knows_nothing_and_takes_in_who_does():
    metric, rows = corpus()
    luck = random.Random(7)
    noise = [Scored(row.source, row.candidates, (luck.uniform(-9, 0), luck.uniform(-9, 0)), (3, 3)) for row in rows]
    sure = [
        Scored(row.source, row.candidates, (-1.0, 0.0 if "has" in row.candidates[1] else -2.0), (3, 3)) for row in rows
    ]
    table = Table(metric, [noise, sure])
    setting = tune(table)
    assert setting.weights[1] > 0
    best = table.values(table.choose([setting]))[0]
    assert best == pytest.approx(table.values(table.choose([Setting(None, 0.0, (0.0, 1.0))]))[0])  # all that can be had


def test_rows_that_do_not_belong_together_are_refused():
    metric, rows = corpus(3)
    with pytest.raises(InputError, match="the gold has 3 sentences, but the scores have 2"):
        Table(metric, [rows[:2]])
    with pytest.raises(InputError, match="sentence 1 of the scores has another source"):
        Table(metric, [rows[::-1]])
    with pytest.raises(InputError, match="same candidates"):
        Table(metric, [rows, [Scored(row.source, row.candidates[::-1], row.means, row.lengths) for row in rows]])
