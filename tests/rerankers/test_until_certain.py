"""Scoring until the decision is certain gives the decision of full scores."""

import random

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates, read_candidates
from btr.errors import InputError
from btr.models.load import LoadedModel, load
from btr.rerankers.base import Decision, Rule
from btr.rerankers.btr import BTR
from btr.rerankers.contrast import Contrasting
from btr.rerankers.encoders import RoBERTa
from btr.rerankers.pll import Encoded, MaskedReranker, Plan
from btr.rerankers.until_decided import rerank_until_decided


def made_up(count):
    generator = random.Random(3)
    rows = []
    for _ in range(count):
        base = [generator.choice(tiny.WORDS) for _ in range(generator.randint(1, 9))]
        texts = [" ".join(base)]
        for _ in range(generator.randint(0, 4)):
            other = list(base)
            other[generator.randrange(len(other))] = generator.choice([*tiny.WORDS, ""])
            texts.append(" ".join(" ".join(other).split()))
        rows.append(Candidates(" ".join(base[:6]) or "a", tuple(texts)))
    return [*rows, Candidates("a b", ("", "a")), Candidates("a", ("",)), Candidates("a", ("a " * 600, "a"))]


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return BTR(load("btr", tiny.save_t5(tmp_path_factory.mktemp("model"), bidirectional=True)))


@pytest.mark.parametrize("rule", [Rule(), Rule(0.1), Rule(0.4), Rule(0.9), Rule(0.2, top=2), Rule(0.0, at_least=True)])
def test_decisions_are_those_of_full_scores(reranker, rule):
    rows = made_up(60)
    full = [rule.decide(s.source, s.candidates, s.means) for s in reranker.score_many(rows)]
    certain = rerank_until_decided(reranker, rows, rule)
    assert [(c.choice, c.decision) for c in certain] == [(d.choice, d.decision) for d in full]
    assert 0 < sum(c.computed for c in certain) < sum(c.rows for c in certain)


@pytest.mark.parametrize("budget", [1, 40])
def test_in_small_groups(reranker, budget):
    small = BTR(LoadedModel(reranker.model, reranker.tokenizer, "small"), budget)
    rows, rule = made_up(12), Rule(0.3, drop_runaways=True)
    assert rerank_until_decided(small, rows, rule) == rerank_until_decided(reranker, rows, rule)


def test_with_an_encoder(tmp_path):
    encoder = RoBERTa(load("roberta", tiny.save_encoder(tmp_path)))
    rows, rule = made_up(20), Rule(0.2)
    full = [rule.decide(s.source, s.candidates, s.means) for s in encoder.score_many(rows)]
    certain = rerank_until_decided(encoder, rows, rule)
    assert [(c.choice, c.decision) for c in certain] == [(d.choice, d.decision) for d in full]


def test_int8_is_refused(reranker):
    rough = BTR(LoadedModel(reranker.model, reranker.tokenizer, "x|int8"))
    with pytest.raises(InputError, match="needs exact scores"):
        rerank_until_decided(rough, made_up(1))


class Made(MaskedReranker):
    """A reranker whose log-probabilities are given: candidates are texts of one-letter words."""

    kind, mask, vocabulary, signature = "made", -1, 128, "made"

    def __init__(self, table):
        self.table = table  # (row's ids, token) → log-probability
        self.asked = 0

    def encode_candidate(self, source, candidate):
        ids = tuple(map(ord, candidate.replace(" ", "")))
        return Encoded(ids, tuple((k, k) for k in range(len(ids))))

    def plans(self, sources):
        yield range(len(sources)), Plan(self.mask, sources)

    def logits(self, rows, sources):
        raise AssertionError

    def run(self, plan, numbers):
        self.asked += len(numbers)
        return {n: [self.table(plan.rows[n].ids, token) for token in plan.wanted[n]] for n in numbers}


class MadeContrast(Contrasting, Made):
    """The same, asked only where candidates differ."""


def test_contrast_is_refused():
    with pytest.raises(InputError, match="few tokens as it is"):
        rerank_until_decided(MadeContrast(lambda ids, token: -1.0), made_up(1))


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.text("abc", min_size=1, max_size=6), min_size=2, max_size=5),
    st.integers(0, 10**6),
    st.sampled_from([0.05, 0.5, 3.0]),
    st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6]),
)
def test_whatever_the_scores_are(texts, seed, scale, threshold):
    """Sure models, unsure ones, margins on both sides of the threshold: never another decision."""

    def table(ids, token):
        return -random.Random(f"{seed} {ids} {token}").expovariate(1 / scale)

    rows = [Candidates("s", tuple(" ".join(text) for text in texts))]
    reranker, rule = Made(table), Rule(threshold)
    scored = reranker.score_many(rows)[0]
    reranked = rule.decide(scored.source, scored.candidates, scored.means)
    (certain,) = rerank_until_decided(reranker, rows, rule)
    assert (certain.choice, certain.decision) == (reranked.choice, reranked.decision)


def test_margins_that_unknown_candidates_decide():
    """The winner is certain early, and whether it is accepted hangs on a third candidate alone."""
    tokens = {"a": -2.0, "b": -0.5, "c": None}
    for third, decision in ((-0.6, Decision.REJECT), (-9.0, Decision.ACCEPT)):
        tokens["c"] = third
        reranker = Made(lambda ids, token: tokens[chr(token)])
        # f of b less f of a: (e^-0.5 - e^-2) / (e^-0.5 + e^-2 + e^third) = 0.364 or 0.635
        (certain,) = rerank_until_decided(reranker, [Candidates("s", ("a", "b", "c"))], Rule(0.5))
        assert certain.decision == decision


def test_on_real_candidates(data, reranker):
    rows = list(read_candidates(data / "conll13" / "t5gec-candidates.jsonl"))[:40]
    rule = Rule(0.4)
    full = [rule.decide(s.source, s.candidates, s.means) for s in reranker.score_many(rows)]
    certain = rerank_until_decided(reranker, rows, rule)
    assert [(c.choice, c.decision) for c in certain] == [(d.choice, d.decision) for d in full]
