import math

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates
from btr.decisions import Settings, Verdict
from btr.errors import InputError
from btr.models.load import load
from btr.rerankers import RERANKERS, load_reranker
from btr.rerankers.base import Ensemble, Ranked
from btr.rerankers.encoders import BERT
from btr.rerankers.left_to_right import LeftToRight, RightToLeft
from btr.rerankers.model_free import MBR, Base, Vote, apply_edits, f_half, word_edits

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
    for row, scores in zip(ROWS, LeftToRight(loaded, budget).scores(ROWS), strict=True):
        for text, score in zip(row.texts, scores, strict=True):
            tokens = loaded.tokenizer(text)["input_ids"]
            assert score == pytest.approx(teacher_forced(loaded, row.source, tokens), abs=1e-5)


def test_right_to_left_reads_the_target_backwards(tmp_path):
    loaded = load("r2l", tiny.save_t5(tmp_path, right_to_left=True))
    row = Candidates("he go", ("he went on",))
    ((score,),) = RightToLeft(loaded).scores([row])
    he, went, on, end = loaded.tokenizer("he went on")["input_ids"]
    assert score == pytest.approx(teacher_forced(loaded, "he go", [on, went, he, end]), abs=1e-5)
    assert [len(values) for values in RightToLeft(loaded).token_log_probs([row])[0]] == [4]


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
    assert sum(values) / len(values) == pytest.approx(reranker.predict([(source, text)])[0], abs=1e-5)
    assert len(values) == (5 if kind == "roberta" else 6)
    if kind == "r2l":  # the last word is written first, so that it knows nothing of those before it
        ((other,),) = reranker.token_log_probs([Candidates(source, ("he goes on mat .",))])
        assert other[4] == pytest.approx(values[4], abs=1e-5)
        assert other[0] != pytest.approx(values[0], abs=1e-5)


@pytest.mark.parametrize(("kind", "whole"), [(kind, kind) for kind in ("btr", "l2r", "r2l", "roberta")] + [
    ("contrast", "btr"), ("contrast", "roberta"),
])  # fmt: skip
def test_tokens_of_many_are_those_of_each_alone(tmp_path, kind, whole):
    """Also by contrast, whose model gives every token here; none of what is too long."""
    if whole == "roberta":
        tiny.save_encoder(tmp_path, "roberta")
    else:
        tiny.save_t5(tmp_path, bidirectional=whole == "btr", **({"right_to_left": True} if kind == "r2l" else {}))
    reranker, alone = load_reranker(f"{kind}:{tmp_path}", budget=64), load_reranker(f"{whole}:{tmp_path}")
    long = Candidates("the cat", ("the cat sat", "a " * 600)), Candidates("a " * 2000, ("a b",))
    rows = [*ROWS, *long, *ROWS, Candidates("he go", ("she goes",))]
    each = [[alone.token_log_probs([Candidates(row.source, (text,))])[0][0] for text in row.texts] for row in rows]
    assert [[bool(values) for values in lists] for lists in each[2:4]] == [[True, False], [False]]
    for together, expected in zip(reranker.token_log_probs(rows * 10), each * 10, strict=True):
        assert together == [pytest.approx(values, abs=1e-5) for values in expected]


def test_bert_is_the_classifiers_log_probability(tmp_path):
    loaded = load("bert", tiny.save_classifier(tmp_path))
    for row, scores in zip(ROWS, BERT(loaded).scores(ROWS), strict=True):
        for text, score in zip(row.texts, scores, strict=True):
            with torch.no_grad():
                logits = loaded.model(**loaded.tokenizer(text, return_tensors="pt")).logits[0]
            assert score == pytest.approx(float(logits.log_softmax(-1)[1]), abs=1e-5)


def test_bert_needs_two_classes(tmp_path):
    with pytest.raises(InputError, match="has 3 classes"):
        BERT(load("bert", tiny.save_classifier(tmp_path, labels=3)))


def score(reranker, source, *texts):
    (scored,) = reranker.score([Candidates(source, texts)])
    (scores,) = scored.scores
    return scores


def test_base_is_the_base_models_log_probability():
    row = Candidates("a b", ("a c", "d"), (-3.0, -1.0))
    assert Base().scores([row]) == [row.log_probs]
    with pytest.raises(InputError, match="have no log_probs"):
        score(Base(), "a", "b", "c")
    assert score(Base(), "a", "a") == (0.0,)  # a source that was passed through


def test_edits_and_back():
    source, text = "I has two cat .", "Today I have two cats"
    edits = word_edits(source, text)
    assert edits == [(0, 0, "Today"), (1, 2, "have"), (3, 5, "cats")]
    assert apply_edits(source, edits) == text


def test_mbr_by_hand():
    # Edits: {x}, {x}, {x, y}. F0.5 of {x} against {x, y}: P 1, R 1/2; of {x, y} against {x}: P 1/2, R 1.
    half_recall, half_precision = 1.25 * 0.5 / 0.75, 1.25 * 0.5 / 1.125
    scores = score(MBR(), "a b c", "x b c", "x b c", "x b y")
    assert f_half({(0, 1, "x")}, {(0, 1, "x"), (2, 3, "y")}) == pytest.approx(half_recall)
    assert [math.exp(each) for each in scores] == pytest.approx(
        [(2 + half_recall) / 3, (2 + half_recall) / 3, (1 + 2 * half_precision) / 3]
    )
    assert score(MBR(), "a", "a", "a") == (0, 0)


def test_empty_candidates_have_no_voice_in_mbr():
    scores = score(MBR(), "a b c", "x b c", "x b y")
    assert score(MBR(), "a b c", "x b c", "x b y", "", " ")[:2] == scores
    assert score(MBR(), "a", "", "") == (0, 0)


def test_vote_may_add_a_candidate():
    (scored,) = Vote().score([Candidates("a b c", ("x b c", "x b z", "a b z"))])
    assert scored.candidates.texts == ("x b c", "x b z", "a b z")  # x and z have two of three votes
    assert scored.scores == ((-1, 0, -1),)
    (combined,) = Vote().score([Candidates("a b c d e", ("x b y d e", "x b c d z", "a b y d z"), (-1.0, -2.0, -3.0))])
    assert combined.candidates.texts == ("x b y d e", "x b c d z", "a b y d z", "x b y d z")
    assert combined.candidates.log_probs == (-1.0, -2.0, -3.0, None)
    assert combined.candidates.is_flagged(3, "proposed")
    assert combined.scores == ((-1, -1, -1, 0),)


TEXTS = ["x b y d e", "x b c d z", "a b y d z"]  # vote adds "x b y d z"


def test_a_decision_has_the_chosen_text_also_if_vote_wrote_it():
    """An index never means another text of the caller's list: what vote adds comes after all of them."""
    decision = Vote().decide("a b c d e", TEXTS)
    assert (decision.text, decision.verdict) == ("x b y d z", Verdict.ACCEPT)
    assert decision.index == decision.suggestion == len(TEXTS)
    assert decision.probabilities[:3] == pytest.approx([decision.probabilities[0]] * 3)
    kept = Vote().decide("a b c d e", TEXTS, Settings(threshold=1.0))
    assert (kept.text, kept.index, kept.suggestion) == (TEXTS[0], 0, 3)


def test_ranking_has_the_texts():
    ranked = Vote().rank("a b c d e", TEXTS)
    assert ranked[0] == Ranked("x b y d z", 3, 0.0, pytest.approx(1 / (1 + 3 * math.exp(-1))))
    assert [(each.text, each.index) for each in ranked[1:]] == [(text, k) for k, text in enumerate(TEXTS)]
    assert sum(each.probability for each in ranked) == pytest.approx(1)


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=4).map(" ".join), min_size=1, max_size=5))
def test_an_index_is_that_of_its_text(texts):
    for name in ("vote", "mbr", ["vote", "mbr"], ["mbr", "vote"]):
        reranker = load_reranker(name)
        decision = reranker.decide("a b c d", texts)
        assert decision.text == texts[decision.index] if decision.index < len(texts) else decision.text not in texts
        for each in reranker.rank("a b c d", texts):
            assert each.text == texts[each.index] if each.index < len(texts) else each.text not in texts


def test_what_could_not_be_scored_ranks_last(tmp_path):
    reranker = load_reranker(f"btr:{tiny.save_t5(tmp_path, bidirectional=True)}")
    ranked = reranker.rank("he go", ["a " * 600, "he goes", "he went"])
    assert [(each.index, each.score) for each in ranked[2:]] == [(0, None)]
    assert ranked[0].score >= ranked[1].score


@pytest.mark.parametrize("kind", ["l2r", "mbr"])
def test_an_ensemble_with_base_takes_log_probabilities(tmp_path, kind):
    """The shipped default is one: contrast + base."""
    names = [kind if kind == "mbr" else f"{kind}:{tiny.save_t5(tmp_path)}", "base"]
    reranker, (member, _) = load_reranker(names), load_reranker(names).members
    texts, log_probs = ["he goes", "he went on"], [-1.0, -0.5]
    expected = [each + log_prob for each, log_prob in zip(score(member, "he go", *texts), log_probs)]
    ranked = {each.index: each.score for each in reranker.rank("he go", texts, log_probs)}
    assert [ranked[k] for k in range(2)] == pytest.approx(expected)
    best = expected.index(max(expected))
    decision = reranker.decide("he go", texts, log_probs=log_probs)
    assert decision.suggestion == best
    certain = reranker.decide("he go", texts, Settings(weights={"base": 1000.0}), log_probs)
    assert (certain.text, certain.index) == ("he went on", 1)
    (scored,) = reranker.score([Candidates("he go", tuple(texts), tuple(log_probs))])
    assert scored.scores[1] == tuple(log_probs)
    with pytest.raises(InputError, match="have no log_probs"):
        reranker.rank("he go", texts)


def test_the_gap_counts_in_a_decision():
    reranker = load_reranker(["mbr", "base"])
    texts, log_probs = ["a c", "b", "b"], [-5.0, -1.0, -1.0]
    assert reranker.decide("a b", texts, Settings(gap=3.0), log_probs).text == "b"
    assert Vote().decide("a b", ["a", "b", "b"], Settings(gap=3.0), [-1.0, -5.0, -5.0]).text == "a"


def test_predict_is_the_score_of_each_pair(tmp_path):
    reranker = load_reranker(f"l2r:{tiny.save_t5(tmp_path)}")
    pairs = [("he go", "he goes"), ("I has", "I have"), ("he go", "he went"), ("he go", "he goes"), ("a", "a " * 600)]
    predicted = reranker.predict(pairs)
    expected = [score(reranker, *pair)[0] for pair in pairs[:4]]
    assert predicted[:4] == pytest.approx(expected, abs=1e-5)
    assert math.isnan(predicted[4])
    assert len(set(predicted[:3])) == 3
    assert predicted.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, ["a"]), "the source must be a text, not int"),
        (("a", "b"), "the candidates must be a list of texts"),
        (("a", [None]), "the candidates must be a list of texts"),
        (("a", []), "there is no candidate; the first one must be the base model's output"),
        (("a", ["b", "c"], None, [-1.0]), "there are 2 candidates, but 1 log-probabilities"),
    ],
)
def test_what_is_no_list_of_candidates_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        MBR().decide(*arguments)


def test_ensemble(tmp_path):
    models = [LeftToRight(load("l2r", tiny.save_t5(tmp_path / str(seed), seed=seed))) for seed in (0, 1)]
    ensemble = Ensemble(models)
    each = [model.scores(ROWS)[1] for model in models]
    assert ensemble.score(ROWS)[1].scores == tuple(each)
    assert ensemble.scores(ROWS)[1] == pytest.approx([sum(pair) / 2 for pair in zip(*each, strict=True)])
    assert ensemble.kinds == ("l2r", "l2r")
    assert ensemble.signature == "+".join(model.signature for model in models)


def test_what_vote_adds_is_scored_by_all_members():
    (scored,) = load_reranker(["mbr", "vote"]).score([Candidates("a b c d e", tuple(TEXTS))])
    assert scored.candidates.texts == (*TEXTS, "x b y d z")
    assert scored.scores[0] == score(MBR(), "a b c d e", *TEXTS, "x b y d z")
    assert scored.scores[1] == (-1, -1, -1, 0)


def test_every_kind_has_what_tables_and_headers_need():
    assert set(RERANKERS.names()) >= {"btr", "contrast", "l2r", "r2l", "roberta", "bert", "base", "mbr", "vote"}
    for kind in RERANKERS.names():
        assert RERANKERS[kind].kind == kind
        assert RERANKERS[kind].title


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("btr", "btr needs a model: name it as btr:MODEL"),
        ("mbr:x", "mbr needs no model; name it as mbr"),
        ("gpt:x", "'gpt:x' is no reranker; use KIND:MODEL or KIND, where KIND is one of btr, edit-btr, contrast"),
        ([], "name at least one reranker"),
    ],
)
def test_names_are_checked(name, message):
    with pytest.raises(InputError, match=message):
        load_reranker(name)


class Outside(Vote):
    """Stands for a reranker of another package, which may not keep to the protocol."""

    kind = "outside"

    def __init__(self, every=None):
        super().__init__()
        self.every = every

    def propose(self, candidates):
        return candidates

    def scores(self, rows):
        return super().scores(rows) if self.every is None else self.every


@pytest.mark.parametrize(
    ("every", "message"),
    [
        ([(0.0,)], "the reranker outside does not give each candidate of each source one score"),
        ([], "the reranker outside does not give each candidate of each source one score"),
        ([(0.0, math.nan)], "the reranker outside gives a score that is not a finite number"),
    ],
)
def test_scores_that_break_the_protocol_are_refused(every, message):
    for reranker in (Outside(every), Ensemble([MBR(), Outside(every)])):
        with pytest.raises(InputError, match=message):
            reranker.decide("a b", ["a c", "a d"])


def test_a_reranker_that_adds_candidates_has_no_log_probabilities_for_base():
    with pytest.raises(InputError, match="vote adds a candidate, of which there is no log-probability"):
        load_reranker(["vote", "base"])


def test_a_registered_name_is_the_kind():
    RERANKERS.register("another", Outside)
    with pytest.raises(InputError, match="the reranker 'another' calls its kind 'outside'"):
        load_reranker("another")
