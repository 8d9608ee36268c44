import math

import pytest
import tiny
import torch

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.errors import InputError
from btr.models.load import load
from btr.rerankers.encoders import BERT
from btr.rerankers.ensemble import Ensemble, average_means, combine
from btr.rerankers.free import MBR, Base, Vote, apply_edits, f_half, token_edits
from btr.rerankers.left_to_right import LeftToRight, RightToLeft
from btr.rerankers.score import load_reranker

ROWS = [
    Candidates("I has two cat .", ("I have two cats .", "I have two cat .", "", "I have two cats .")),
    Candidates("he go", ("he goes", "he went on")),
]


def teacher_forced(loaded, source, tokens):
    """The library's own loss for these labels is the mean negative log-probability."""
    ids = torch.tensor([loaded.tokenizer(source)["input_ids"]])
    with torch.no_grad():
        return -float(loaded.model(input_ids=ids, labels=torch.tensor([tokens]), use_cache=False).loss)


@pytest.mark.parametrize("budget", [1, 4096])
def test_left_to_right_is_teacher_forcing(tmp_path, budget):
    loaded = load("l2r", tiny.save_t5(tmp_path))
    for row, scored in zip(ROWS, LeftToRight(loaded, budget).score_many(ROWS), strict=True):
        for text, mean in zip(row.candidates, scored.means, strict=True):
            tokens = loaded.tokenizer(text)["input_ids"]
            assert mean == pytest.approx(teacher_forced(loaded, row.source, tokens), abs=1e-5)


def test_right_to_left_reads_the_target_backwards(tmp_path):
    loaded = load("r2l", tiny.save_t5(tmp_path, right_to_left=True))
    scored = RightToLeft(loaded).score("he go", ["he went on"])
    he, went, on, end = loaded.tokenizer("he went on")["input_ids"]
    assert scored.means[0] == pytest.approx(teacher_forced(loaded, "he go", [on, went, he, end]), abs=1e-5)
    assert scored.lengths == (4,)


@pytest.mark.parametrize("kind", ["btr", "l2r", "r2l", "roberta"])
def test_log_probabilities_of_tokens(tmp_path, kind):
    """Their mean is the score; and whichever way a model reads, they stand in the order of the tokens."""
    if kind == "roberta":
        tiny.save_encoder(tmp_path, "roberta")
    else:
        tiny.save_t5(tmp_path, bidirectional=kind == "btr", **({"right_to_left": True} if kind == "r2l" else {}))
    reranker = load_reranker(f"{kind}:{tmp_path}")
    source, text = "I has two cat .", "I have two cats ."
    ((values,),) = reranker.token_log_probs([Candidates(source, (text,))])
    assert sum(values) / len(values) == pytest.approx(reranker.score(source, [text]).means[0], abs=1e-5)
    assert len(values) == (5 if kind == "roberta" else 6)
    if kind == "r2l":  # the last word is written first, so that it knows nothing of those before it
        ((other,),) = reranker.token_log_probs([Candidates(source, ("he goes on mat .",))])
        assert other[4] == pytest.approx(values[4], abs=1e-5)
        assert other[0] != pytest.approx(values[0], abs=1e-5)


@pytest.mark.parametrize(("kind", "whole"), [(own, own) for own in ("btr", "l2r", "r2l", "roberta")] + [
    ("contrast", "btr"), ("contrast", "roberta"),
])  # fmt: skip
def test_tokens_of_many_are_those_of_each_alone(tmp_path, kind, whole):
    """Also by contrast, which is asked about every token of its model here; none of what is too long."""
    if whole == "roberta":
        tiny.save_encoder(tmp_path, "roberta")
    else:
        tiny.save_t5(tmp_path, bidirectional=whole == "btr", **({"right_to_left": True} if kind == "r2l" else {}))
    reranker, alone = load_reranker(f"{kind}:{tmp_path}", budget=64), load_reranker(f"{whole}:{tmp_path}")
    long = Candidates("the cat", ("the cat sat", "a " * 600)), Candidates("a " * 2000, ("a b",))
    rows = [*ROWS, *long, *ROWS, Candidates("he go", ("she goes",))]
    each = [[alone.token_log_probs([Candidates(row.source, (text,))])[0][0] for text in row.candidates] for row in rows]
    assert [[bool(values) for values in own] for own in each[2:4]] == [[True, False], [False]]
    for own, expected in zip(reranker.token_log_probs(rows * 10), each * 10, strict=True):
        assert own == [pytest.approx(values, abs=1e-5) for values in expected]


def test_bert_is_the_classifiers_log_probability(tmp_path):
    loaded = load("bert", tiny.save_classifier(tmp_path))
    scored = BERT(loaded).score_many(ROWS)
    for row, ours in zip(ROWS, scored, strict=True):
        for text, mean in zip(row.candidates, ours.means, strict=True):
            with torch.no_grad():
                logits = loaded.model(**loaded.tokenizer(text, return_tensors="pt")).logits[0]
            assert mean == pytest.approx(float(logits.log_softmax(-1)[1]), abs=1e-5)


def test_bert_needs_two_classes(tmp_path):
    with pytest.raises(InputError, match="has 3 classes"):
        BERT(load("bert", tiny.save_classifier(tmp_path, labels=3)))


def test_base_is_the_models_own_score():
    row = Candidates("a b", ("a c", "d"), (-3.0, -1.0))
    assert Base().score_many([row])[0].means == row.log_probs
    with pytest.raises(InputError, match="have no log_probs"):
        Base().score("a", ["b", "c"])
    assert Base().score("a", ["a"]).means == (0.0,)  # a source that was passed through


def test_edits_and_back():
    source, text = "I has two cat .", "Today I have two cats"
    edits = token_edits(source, text)
    assert edits == [(0, 0, "Today"), (1, 2, "have"), (3, 5, "cats")]
    assert apply_edits(source, edits) == text


def test_mbr_by_hand():
    # Edits: {x}, {x}, {x, y}. F0.5 of {x} against {x, y}: P 1, R 1/2; of {x, y} against {x}: P 1/2, R 1.
    half_recall, half_precision = 1.25 * 0.5 / 0.75, 1.25 * 0.5 / 1.125
    scored = MBR().score("a b c", ["x b c", "x b c", "x b y"])
    assert f_half({(0, 1, "x")}, {(0, 1, "x"), (2, 3, "y")}) == pytest.approx(half_recall)
    assert [math.exp(mean) for mean in scored.means] == pytest.approx(
        [(2 + half_recall) / 3, (2 + half_recall) / 3, (1 + 2 * half_precision) / 3]
    )
    assert MBR().score("a", ["a", "a"]).means == (0, 0)


def test_mbr_does_not_ask_empty_candidates():
    asked = MBR().score("a b c", ["x b c", "x b y"]).means
    assert MBR().score("a b c", ["x b c", "x b y", "", " "]).means[:2] == asked
    assert MBR().score("a", ["", ""]).means == (0, 0)


def test_vote_may_make_a_new_candidate():
    scored = Vote().score("a b c", ["x b c", "x b z", "a b z"])
    assert scored.candidates == ("x b c", "x b z", "a b z")  # x and z have two of three votes
    assert scored.means == (-1, 0, -1)
    combined = Vote().score("a b c d e", ["x b y d e", "x b c d z", "a b y d z"])
    assert combined.candidates == ("x b y d e", "x b y d z", "x b c d z", "a b y d z")
    assert combined.means == (-1, 0, -1, -1)


def row(*means):
    return Scored("s", tuple("abc"[: len(means)]), means, (2,) * len(means))


def test_averages():
    means = [(-1.0, -2.0, None), (-3.0, -2.0, -1.0)]
    assert average_means(means, "log", [0, 1]) == [-2, -2, None]
    expected = math.log((math.exp(-1) + math.exp(-3)) / 2)
    assert average_means(means, "probability", [0, 1]) == [pytest.approx(expected), pytest.approx(-2), None]
    high, low = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))
    both = average_means(means, "f", [0, 1])
    assert both[:2] == pytest.approx([math.log((high + low) / 2)] * 2)
    assert both[2] is None
    assert average_means([(-800.0, -900.0)] * 2, "f", [0, 1])[1] == pytest.approx(-100)
    twice = average_means([(-1.0, -1.0, -2.0), (-3.0, -3.0, -2.0)], "f", [0, 2])  # a duplicate takes no part
    assert [twice[0], twice[2]] == pytest.approx(both[:2])


def test_seeds_are_averaged_and_kinds_are_added():
    together = combine([row(-1.0, -2.0), row(-3.0, -4.0), row(-10.0, -1.0)], ["r2l", "r2l", "l2r"])
    assert together.means == (-12.0, -4.0)
    with pytest.raises(InputError, match="did not score the same candidates"):
        combine([row(-1.0), row(-1.0, -2.0)], ["r2l", "r2l"])
    with pytest.raises(InputError, match="candidates of 's'; vote adds some of its own, so use it by itself"):
        combine([row(-1.0), row(-1.0, -2.0)], ["mbr", "vote"])


def test_ensemble(tmp_path):
    models = [LeftToRight(load("l2r", tiny.save_t5(tmp_path / str(seed), seed=seed))) for seed in (0, 1)]
    scored = Ensemble(models).score_many(ROWS)[1]
    each = [model.score_many(ROWS)[1].means for model in models]
    assert scored.means == pytest.approx([sum(pair) / 2 for pair in zip(*each, strict=True)])
    assert Ensemble(models).kind == "l2r"
    assert Ensemble(models).signature.endswith("|average:log")
