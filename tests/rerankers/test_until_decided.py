"""Scoring until the decision is certain gives the decision of full scores."""

import random

import pytest
import tiny

from btr.corpus.candidates import Candidates, read_candidates
from btr.models.load import load
from btr.rerankers.base import Rule
from btr.rerankers.btr import BTR
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
    assert [(c.choice, c.verdict) for c in certain] == [(d.choice, d.verdict) for d in full]
    assert 0 < sum(c.computed for c in certain) < sum(c.rows for c in certain)


def test_on_real_candidates(data, reranker):
    rows = list(read_candidates(data / "conll13" / "t5gec-candidates.jsonl"))[:40]
    rule = Rule(0.4)
    full = [rule.decide(s.source, s.candidates, s.means) for s in reranker.score_many(rows)]
    certain = rerank_until_decided(reranker, rows, rule)
    assert [(c.choice, c.verdict) for c in certain] == [(d.choice, d.verdict) for d in full]
