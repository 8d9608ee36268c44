"""The worked example of docs/rerank.md: its numbers are those that the code computes."""

import re
from pathlib import Path

import pytest

from btr.corpus.candidates import Candidates
from btr.decisions import Settings, decide
from btr.rerankers.pll import EncodedCandidate, MaskedReranker, RowPlan

PAGE = Path(__file__).parents[2] / "docs" / "rerank.md"
EOS = "EOS"


def section():
    text = PAGE.read_text(encoding="utf-8")
    return text[text.index("## One sentence by hand") : text.index("## Long runs")].replace("\n   ", " ")


def rows(table):
    """Return the cells of a table's rows, by the name of the candidate."""
    lines = [line.strip(" |").split(" | ") for line in re.findall(r"\| y\d .*?\|(?= \||\n)", table)]
    return {name: cells for name, *cells in lines}


@pytest.fixture(scope="module")
def example():
    """The candidates, the log-probabilities of their tokens, and the table of scores."""
    first, second = section().split("2. PLL is their sum")
    texts, tokens = {}, {}
    for name, (text, said) in rows(first).items():
        texts[name] = text.replace("&nbsp;", " ")
        tokens[texts[name]] = [(token, float(value)) for token, value in re.findall(r"(\S+) (-[\d.]+)", said)]
    scores = {name: [float(cell) for cell in cells] for name, cells in rows(second).items()}
    return texts, tokens, scores


class Prepared(MaskedReranker):
    """A BTR whose log-probabilities are those of the page. A token is the number of its word."""

    kind, title, mask, vocabulary_size, signature = "btr", "BTR", -1, 100, "prepared"

    def __init__(self, tokens):
        self.words = sorted({token for each in tokens.values() for token, _ in each})
        self.log_prob = {}
        for each in filter(None, tokens.values()):
            ids = [self.words.index(token) for token, _ in each]
            for k, (_, value) in enumerate(each):
                self.log_prob[(*ids[:k], self.mask, *ids[k + 1 :]), ids[k]] = value

    def encode_candidate(self, source, candidate):
        ids = tuple(self.words.index(word) for word in [*candidate.split(), EOS])
        return EncodedCandidate(ids, tuple((k, k) for k in range(len(ids))))

    def plans(self, sources):
        yield range(len(sources)), RowPlan(self.mask, sources)

    def logits(self, rows, sources):
        raise AssertionError

    def compute(self, plan, numbers):
        return {n: [self.log_prob[plan.rows[n].ids, token] for token in plan.tokens[n]] for n in numbers}


def test_from_tokens_to_scores_to_f(example):
    texts, tokens, table = example
    assert list(texts) == ["y1", "y2", "y3", "y4"]
    assert list(table) == ["y1", "y2", "y3"]
    candidates = Candidates("He go to school .", tuple(texts.values()))
    (scored,) = Prepared(tokens).score([candidates])
    decision = decide(scored, ("btr",), Settings())
    for k, (name, (pll, length, score, power, f)) in enumerate(table.items()):
        assert [token for token, _ in tokens[texts[name]]] == [*texts[name].split(), EOS]
        assert len(tokens[texts[name]]) == length
        assert sum(value for _, value in tokens[texts[name]]) == pytest.approx(pll)
        assert scored.scores[0][k] == pytest.approx(score, abs=5e-5)
        assert 2.718281828459045**score == pytest.approx(power, abs=5e-5)
        assert decision.probabilities[k] == pytest.approx(f, abs=5e-5)
    assert decision.probabilities[3] == decision.probabilities[1]  # the duplicate
    assert sum(power for *_, power, _ in table.values()) == pytest.approx(2.0798)
    assert "here 2.0798 (0.5488 + 0.8607 + 0.6703)" in section()


def test_from_f_to_the_choice(example):
    texts, tokens, _ = example
    candidates = Candidates("He go to school .", tuple(texts.values()))
    reranker = Prepared(tokens)
    (scored,) = reranker.score([candidates])
    margin = float(re.search(r"0\.4138 - 0\.2639 = (0\.\d+)", section())[1])
    said = re.findall(r"λ = ([\d.]+) it is (\w+)ed.*?\*(.*?)\*", section())
    assert [verdict for _, verdict, _ in said] == ["accept", "reject"]
    for threshold, verdict, text in said:
        settings = Settings(threshold=float(threshold))
        decision = decide(scored, ("btr",), settings)
        assert (decision.text, decision.verdict, decision.suggestion) == (text, verdict, 1)
        assert decision.margin == pytest.approx(margin, abs=5e-4)
        (choice,) = reranker.choose([candidates], settings)
        assert (choice.text, choice.verdict) == (text, verdict)
