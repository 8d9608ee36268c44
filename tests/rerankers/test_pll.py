"""The engine against plain masking: one row at a time, with the library's own calls and nothing else."""

import pytest
import tiny
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from btr.corpus.candidates import Candidates
from btr.models.batches import make_batches
from btr.models.load import load
from btr.rerankers.btr import BTR
from btr.rerankers.encoders import RoBERTa
from btr.rerankers.pll import EncodedCandidate, RowPlan

ROWS = [
    Candidates("I has two cat .", ("I have two cats .", "I have two cat .", "I has two cats .", "I have two cats .")),
    Candidates("he go", ("he goes", "", "he", "he went on")),
    Candidates("猫 が 二 匹", ("猫 が 二 匹", "it has cats")),  # another script: unknown words are tokens, too
    Candidates("the cat sat on the mat .", ("the cat sits on the mat .",)),
]


def plain_btr(model, tokenizer, source, candidate):
    """The mean log-probability of the candidate's tokens, each masked in its own forward pass."""
    tokens = tokenizer(candidate)["input_ids"]
    mask = next(number for token, number in tokenizer.get_vocab().items() if "extra_id_0" in token)
    total = 0.0
    for k, token in enumerate(tokens):
        decoder = [0, *tokens]
        decoder[k + 1] = mask
        logits = model(
            input_ids=torch.tensor([tokenizer(source)["input_ids"]]),
            decoder_input_ids=torch.tensor([decoder]),
            use_cache=False,
        ).logits
        total += float(logits[0, k].log_softmax(-1)[token])
    return total / len(tokens)


def plain_roberta(model, tokenizer, source, candidate):
    pair = tokenizer(source, candidate, return_tensors="pt")
    positions = [k for k, side in enumerate(tokenizer(source, candidate).sequence_ids()) if side == 1]
    total = 0.0
    for k in positions:
        ids = pair["input_ids"].clone()
        token, ids[0, k] = int(ids[0, k]), tokenizer.mask_token_id
        total += float(model(**{**pair, "input_ids": ids}).logits[0, k].log_softmax(-1)[token])
    return total / len(positions)


@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
@pytest.mark.parametrize("budget", [1, 16, 4096])
def test_btr_is_plain_masking(tmp_path, style, budget):
    loaded = load("btr", tiny.save_t5(tmp_path, style, bidirectional=True))
    scores = BTR(loaded, budget).scores(ROWS)
    with torch.no_grad():
        for row, each in zip(ROWS, scores, strict=True):
            for text, score in zip(row.texts, each, strict=True):
                assert score == pytest.approx(plain_btr(loaded.model, loaded.tokenizer, row.source, text), abs=1e-5)


@pytest.mark.parametrize("style", ["bert", "roberta", "mpnet"])
@pytest.mark.parametrize("budget", [1, 4096])
def test_roberta_is_plain_masking(tmp_path, style, budget):
    folder = tiny.save_encoder(tmp_path, style)
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    scores = RoBERTa(load("roberta", folder), budget).scores(ROWS)
    with torch.no_grad():
        for row, each in zip(ROWS, scores, strict=True):
            for text, score in zip(row.texts, each, strict=True):
                expected = plain_roberta(model, tokenizer, row.source, text) if text else None
                assert score == (pytest.approx(expected, abs=1e-5) if text else None)


def test_one_source_at_a_time_is_all_at_once(tmp_path):
    reranker = BTR(load("btr", tiny.save_t5(tmp_path, bidirectional=True)))
    for row, scores in zip(ROWS, reranker.scores(ROWS), strict=True):
        assert reranker.scores([row])[0] == pytest.approx(scores, abs=1e-6)


def test_long_candidates(tmp_path):
    """512 tokens are scored, more are not."""
    reranker = BTR(load("btr", tiny.save_t5(tmp_path, bidirectional=True, num_layers=1)), budget=2048)
    long, too_long = " ".join(["cat"] * 511), " ".join(["cat"] * 512)
    row = Candidates("cat " * 40, (long, too_long))
    ((score, none),) = reranker.scores([row])
    ((tokens, no_tokens),) = reranker.token_log_probs([row])
    assert (len(tokens), len(no_tokens)) == (512, 0)
    assert score < 0
    assert none is None
    ((alone,),) = BTR(load("btr", str(tmp_path)), budget=100_000).scores([row.first(1)])
    assert score == pytest.approx(alone, abs=1e-5)


def test_equal_rows_are_planned_once():
    """Two candidates that differ in one token share the row in which it is masked."""
    plan = RowPlan(mask=9)
    first = plan.add(0, EncodedCandidate((0, 5, 6, 1), ((1, 0), (2, 1), (3, 2))))
    second = plan.add(0, EncodedCandidate((0, 5, 7, 1), ((1, 0), (2, 1), (3, 2))))
    assert [row.ids for row in plan.rows] == [(0, 9, 6, 1), (0, 5, 9, 1), (0, 5, 6, 9), (0, 9, 7, 1), (0, 5, 7, 9)]
    assert first == [(0, 0), (1, 0), (2, 0)]
    assert second == [(3, 0), (1, 1), (4, 0)]
    assert plan.tokens[1] == [6, 7]
    plan.add(1, EncodedCandidate((0, 5, 6, 1), ((1, 0),)))  # another source shares nothing
    assert len(plan.rows) == 6


def test_batches_keep_to_the_budget():
    lengths = [5, 1, 9, 3, 3, 8, 20]
    batches = list(make_batches(lengths, 10))
    assert sorted(item for batch in batches for item in batch) == list(range(7))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[item] for item in batch) <= 10
    assert [6] in batches  # alone, though over the budget


def test_int8_gives_other_scores_that_do_not_depend_on_the_batch(tmp_path):
    folder = tiny.save_t5(tmp_path, bidirectional=True)
    exact, rounded = (BTR(load("btr", folder, int8=int8)) for int8 in (False, True))
    assert rounded.signature == exact.signature + "|int8:rows"
    scores = rounded.scores(ROWS)
    assert all(x != y for a, b in zip(exact.scores(ROWS), scores, strict=True) for x, y in zip(a, b, strict=True))
    assert [rounded.scores([row])[0] for row in ROWS] == scores  # bit by bit
    assert rounded.scores([*ROWS[::-1], *ROWS])[: len(ROWS)] == scores[::-1]


def test_bfloat16_runs(tmp_path):
    reranker = BTR(load("btr", tiny.save_t5(tmp_path, bidirectional=True), dtype="bfloat16"))
    exact = BTR(load("btr", str(tmp_path)))
    assert "dtype:bfloat16" in reranker.signature
    for a, b in zip(exact.scores(ROWS), reranker.scores(ROWS), strict=True):
        assert a == pytest.approx(b, abs=0.2)
