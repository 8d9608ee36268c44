"""Many settings at once give what `decide` gives; the best of them, and cross-validation."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates, tokens_of
from btr.corpus.m2 import Edit, Sentence
from btr.corpus.scores import Scored
from btr.decisions import Settings, competing, decide
from btr.decisions.grid import DecisionGrid
from btr.decisions.search import SearchSpace, best_settings, cross_validate
from btr.errors import InputError
from btr.metrics.m2 import M2

FINE = tuple(k / 20 for k in range(21))


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
        rows.append(Scored(Candidates(source, (source, other)), ((-margin, 0.0),)))
    return M2(sentences, processes=1), rows


texts = st.sampled_from(["a b", "a  b ", "a c", "", "a", "b b b", " ", "a b c d e f g h i j k l m n o p q r s t"])
scores = st.one_of(st.none(), st.floats(-30, 0), st.just(-1.0))
log_probs = st.one_of(st.none(), st.floats(-5, 0))
candidate = st.tuples(texts, log_probs, scores, scores, scores)
KINDS = "btr", "btr", "base"


@given(
    st.lists(
        st.lists(st.tuples(texts, log_probs, scores, scores, scores), min_size=1, max_size=4), min_size=1, max_size=4
    ),
    st.builds(
        Settings,
        top=st.sampled_from([None, 1, 2, 3]),
        threshold=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
        at_least=st.booleans(),
        gap=st.sampled_from([None, 0.0, 1.0]),
        drop_runaways=st.booleans(),
        average=st.sampled_from(["log", "probability", "f"]),
        weights=st.sampled_from([{}, {"base": 0.0}, {"btr": 0.5, "base": 2.0}]),
    ),
    st.booleans(),
)
def test_the_grid_decides_as_decide_does(drawn, settings, has_log_probs):
    """A reranker gives texts of equal tokens equal scores."""
    rows = []
    for drawn_candidates in drawn:
        known = {tokens_of(text): values for text, *values in drawn_candidates}
        chosen = tuple(text for text, *_ in drawn_candidates)
        first, *columns = zip(*(known[tokens_of(text)] for text in chosen))
        rows.append(Scored(Candidates("a b", chosen, first if has_log_probs else None), tuple(columns)))
    grid = DecisionGrid(M2([Sentence("a b", {0: ()})] * len(drawn), processes=1), rows, KINDS)
    choices = grid.choose([settings])[0]
    decisions = [decide(row, KINDS, settings) for row in rows]
    assert grid.texts(choices) == [decision.text for decision in decisions]  # the source, for a runaway base candidate
    assert grid.accepted(choices).tolist() == [decision.verdict == "accept" for decision in decisions]
    assert grid.score(choices) == grid.metric.score([decision.text for decision in decisions])
    for number, (row, decision) in enumerate(zip(rows, decisions)):
        candidates = row.candidates
        indices = competing(candidates, settings)
        if any(decision.probabilities):  # decide gives equal texts the same f, the grid gives it to the first of them
            expected = [decision.probabilities[k] for k in indices]
            assert grid.probabilities(settings)[number, indices] == pytest.approx(expected)
        assert choices[number] in (0, *indices, *([grid.width] if settings.drop_runaways else []))


def test_values_are_the_scores_of_the_texts_chosen():
    metric, rows = corpus()
    grid = DecisionGrid(metric, rows, ["btr"])
    choices = grid.choose([Settings(top=2, threshold=threshold) for threshold in FINE])
    by_hand = [metric.score(grid.texts(chosen)).value for chosen in choices]
    assert grid.values(choices) == pytest.approx(by_hand, abs=1e-9)
    assert grid.score(choices[3]) == metric.score(grid.texts(choices[3]))
    some = np.array([0, 5, 7])
    part = M2([metric.sentences[k] for k in some], processes=1)
    expected = part.score([grid.texts(choices[0])[k] for k in some]).value
    assert grid.values(choices, some)[0] == pytest.approx(expected)


def test_rows_of_different_numbers_of_candidates():
    metric, rows = corpus(3)
    rows[1] = Scored(rows[1].candidates.first(1), ((-1.0,),))
    third = Candidates(rows[2].candidates.source, (*rows[2].candidates.texts, "no"))
    rows[2] = Scored(third, ((-2.0, -1.0, 0.0),))
    grid = DecisionGrid(metric, rows, ["btr"])
    (choices,) = grid.choose([Settings()])
    assert choices.tolist() == [1, 0, 2]
    assert grid.score(choices) == metric.score([rows[0].candidates.texts[1], rows[1].candidates.texts[0], "no"])


def test_cross_validated_settings_are_best_on_the_other_folds():
    metric, rows = corpus()
    space = SearchSpace(tops=(1, 2), thresholds=FINE)
    grid = DecisionGrid(metric, rows, ["btr"])
    crossed = cross_validate(grid, space, folds=3)
    for fold, settings in enumerate(crossed.settings):
        others = [k for k in range(len(rows)) if k % 3 != fold]
        metric_of_others = M2([metric.sentences[k] for k in others], processes=1)
        part = DecisionGrid(metric_of_others, [rows[k] for k in others], ["btr"])
        every = part.values(part.choose(space.settings()))
        assert part.values(part.choose([settings]))[0] == pytest.approx(every.max())
    assert crossed.score.value <= grid.values(grid.choose(space.settings())).max()
    assert crossed.score == grid.score(crossed.choices)


def test_a_reranker_that_knows_nothing_keeps_the_base():
    """All its suggestions are wrong, so that every fold rejects them."""
    metric, rows = corpus()
    wrong = []
    for row in rows:
        source = row.candidates.source
        wrong.append(Scored(Candidates(source, (source.replace("have", "has"), source + " no")), ((-1.0, 0.0),)))
    crossed = cross_validate(DecisionGrid(metric, wrong, ["btr"]), SearchSpace(thresholds=FINE), folds=5)
    assert crossed.score.value == 100
    assert all(settings.threshold == 1 for settings in crossed.settings)


def test_a_mixture_leaves_out_who_knows_nothing_and_takes_in_who_does():
    metric, rows = corpus()
    luck = random.Random(7)
    mixed = []
    for row in rows:
        noise = luck.uniform(-9, 0), luck.uniform(-9, 0)
        sure = -1.0, 0.0 if "has" in row.candidates.texts[1] else -2.0
        mixed.append(Scored(row.candidates, (noise, sure)))
    grid = DecisionGrid(metric, mixed, ["noise", "sure"])
    settings = best_settings(grid, SearchSpace(thresholds=FINE, mix=True))
    assert settings.weight("sure") > 0
    best = grid.values(grid.choose([settings]))[0]
    perfect = Settings(weights={"noise": 0.0, "sure": 1.0})
    assert best == pytest.approx(grid.values(grid.choose([perfect]))[0])  # all that can be had


def test_all_other_settings_of_a_search_stay():
    metric, rows = corpus(6)
    start = Settings(gap=0.5, drop_runaways=True, at_least=True)
    best = best_settings(DecisionGrid(metric, rows, ["btr"]), SearchSpace(start=start))
    assert (best.gap, best.drop_runaways, best.at_least) == (0.5, True, True)


def test_rows_that_are_not_the_golds_are_refused():
    metric, rows = corpus(3)
    with pytest.raises(InputError, match="the gold has 3 sentences, but the scores have 2"):
        DecisionGrid(metric, rows[:2], ["btr"])
    with pytest.raises(InputError, match="sentence 1 of the scores has another source"):
        DecisionGrid(metric, rows[::-1], ["btr"])
