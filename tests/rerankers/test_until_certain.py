"""Scoring until the decision is certain gives the decision of full scores."""

import random
from dataclasses import replace

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates, read_candidates
from btr.decisions import Settings, Verdict, decide
from btr.models.load import load
from btr.rerankers import load_reranker
from btr.rerankers.btr import BTR
from btr.rerankers.contrast import DifferenceReranker
from btr.rerankers.pll import EncodedCandidate, MaskedReranker, RowPlan
from btr.rerankers.until_certain import choose_until_certain


def random_rows(count):
    generator = random.Random(3)
    rows = []
    for _ in range(count):
        base = [generator.choice(tiny.WORDS) for _ in range(generator.randint(1, 9))]
        texts = [" ".join(base)]
        for _ in range(generator.randint(0, 4)):
            other = list(base)
            other[generator.randrange(len(other))] = generator.choice([*tiny.WORDS, ""])
            texts.append(" ".join(" ".join(other).split()))
            if generator.random() < 0.2:  # a duplicate but for spaces
                texts.append(f" {texts[generator.randrange(len(texts))]}  ")
        rows.append(Candidates(" ".join(base[:6]) or "a", tuple(texts)))
    return [*rows, Candidates("a b", ("", "a")), Candidates("a", ("",)), Candidates("a", ("a " * 600, "a"))]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.save_t5(tmp_path_factory.mktemp("model"), bidirectional=True)


@pytest.fixture(scope="module")
def reranker(model):
    return BTR(load("btr", model))


def summary(choices):
    return [(choice.text, choice.index, choice.verdict) for choice in choices]


def by_full_scores(reranker, rows, rule):
    return summary(decide(scored, reranker.kinds, rule) for scored in reranker.score(rows))


RULES = [
    Settings(),
    Settings(threshold=0.1),
    Settings(threshold=0.4),
    Settings(threshold=0.9),
    Settings(threshold=0.2, top=2),
    Settings(at_least=True),
    Settings(threshold=0.1, drop_runaways=True),
]


@pytest.mark.parametrize("rule", RULES, ids=Settings.signature)
def test_choices_are_those_of_full_scores(reranker, rule):
    rows = random_rows(60)
    choices, computed, needed = choose_until_certain(reranker, rows, rule)
    assert summary(choices) == by_full_scores(reranker, rows, rule)
    assert summary(reranker.choose(rows, rule)) == summary(choices)
    assert 0 < computed < needed


def test_the_gap_counts(reranker):
    rows = [replace(row, log_probs=tuple(-0.3 * k for k in range(len(row.texts)))) for row in random_rows(30)]
    rule = Settings(gap=0.5)
    choices = summary(reranker.choose(rows, rule))
    assert choices == by_full_scores(reranker, rows, rule)
    assert choices != summary(reranker.choose(rows, Settings()))


@pytest.mark.parametrize("budget", [1, 40])
def test_in_small_groups(reranker, model, budget):
    small = BTR(load("btr", model), budget)
    rows, rule = random_rows(12), Settings(threshold=0.3, drop_runaways=True)
    assert small.choose(rows, rule) == reranker.choose(rows, rule)


def test_with_an_encoder(tmp_path):
    encoder = load_reranker(f"roberta:{tiny.save_encoder(tmp_path)}")
    rows, rule = random_rows(20), Settings(threshold=0.2)
    choices, computed, needed = choose_until_certain(encoder, rows, rule)
    assert summary(choices) == by_full_scores(encoder, rows, rule)
    assert 0 < computed < needed


@pytest.mark.parametrize("rule", RULES, ids=Settings.signature)
def test_in_int8(model, rule):
    """Only rows of one length are batched, so that a row's value does not depend on the others."""
    rounded = load_reranker(f"btr:{model}", int8=True)
    rows = random_rows(60)
    choices, computed, needed = choose_until_certain(rounded, rows, rule)
    assert summary(choices) == by_full_scores(rounded, rows, rule)
    assert 0 < computed < needed


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("rule", [Settings(), Settings(threshold=0.4, top=2)], ids=Settings.signature)
def test_contrast_chooses_by_its_full_scores(model, rule, int8):
    contrast = load_reranker(f"contrast:{model}", int8=int8)
    rows = random_rows(30)
    assert summary(contrast.choose(rows, rule)) == by_full_scores(contrast, rows, rule)
    assert any(choice.index for choice in contrast.choose(rows, rule))


class Prepared(MaskedReranker):
    """A reranker whose log-probabilities are given: candidates are texts of one-letter words."""

    kind, title, mask, vocabulary_size, signature = "prepared", "prepared", -1, 128, "prepared"

    def __init__(self, table):
        self.table = table  # (row's ids, token) → log-probability
        self.computed = 0

    def encode_candidate(self, source, candidate):
        ids = tuple(map(ord, candidate.replace(" ", "")))
        return EncodedCandidate(ids, tuple((k, k) for k in range(len(ids))))

    def plans(self, sources):
        yield range(len(sources)), RowPlan(self.mask, sources)

    def logits(self, rows, sources):
        raise AssertionError

    def compute(self, plan, numbers):
        self.computed += len(numbers)
        return {n: [self.table(plan.rows[n].ids, token) for token in plan.tokens[n]] for n in numbers}


class PreparedContrast(DifferenceReranker, Prepared):
    """The same, but only the tokens in which candidates differ are scored."""

    def __init__(self, table):
        Prepared.__init__(self, table)


def random_table(seed, scale):
    return lambda ids, token: -random.Random(f"{seed} {ids} {token}").expovariate(1 / scale)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.text("abc", min_size=1, max_size=6), min_size=2, max_size=5),
    st.integers(0, 10**6),
    st.sampled_from([0.05, 0.5, 3.0]),
    st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6]),
    st.sampled_from([Prepared, PreparedContrast]),
)
def test_whatever_the_scores_are(texts, seed, scale, threshold, kind):
    """Sure models, unsure ones, margins on both sides of the threshold: never another choice."""
    rows = [Candidates("s", tuple(" ".join(text) for text in texts))]
    reranker, rule = kind(random_table(seed, scale)), Settings(threshold=threshold)
    assert summary(reranker.choose(rows, rule)) == by_full_scores(reranker, rows, rule)


def test_margins_that_unknown_candidates_decide():
    """The winner is certain early, and whether it is accepted hangs on a third candidate alone."""
    tokens = {"a": -2.0, "b": -0.5, "c": None}
    for third, verdict in ((-0.6, Verdict.REJECT), (-9.0, Verdict.ACCEPT)):
        tokens["c"] = third
        reranker = Prepared(lambda ids, token: tokens[chr(token)])
        # f of b less f of a: (e^-0.5 - e^-2) / (e^-0.5 + e^-2 + e^third) = 0.364 or 0.635
        (choice,) = reranker.choose([Candidates("s", ("a", "b", "c"))], Settings(threshold=0.5))
        assert choice.verdict == verdict


def test_on_real_candidates(data, reranker):
    rows = list(read_candidates(data / "conll13" / "t5gec-candidates.jsonl"))[:40]
    rule = Settings(threshold=0.4)
    assert summary(reranker.choose(rows, rule)) == by_full_scores(reranker, rows, rule)


@pytest.mark.parametrize("weight", [0.25, 8.0])
def test_weights_count(reranker, weight):
    """A weight changes how sure f is, and so which suggestions pass the threshold."""
    rows, rule = random_rows(40), Settings(threshold=0.1, weights={"btr": weight})
    assert summary(reranker.choose(rows, rule)) == by_full_scores(reranker, rows, rule)
    assert by_full_scores(reranker, rows, rule) != by_full_scores(reranker, rows, replace(rule, weights={}))
