"""Objectives, worked out by hand; the grid of sources and rows against the plain way."""

import math

import numpy as np
import pytest
import tiny
import torch
from transformers import T5ForConditionalGeneration

from btr.corpus.candidates import Candidates
from btr.models.bidirectional import make_bidirectional
from btr.models.initial import load_initial_model
from btr.models.load import load
from btr.models.loaded import LoadedModel
from btr.models.training_decoder import decoder_states, make_decoder_batch
from btr.rerankers.base import Ensemble
from btr.rerankers.contrast import ContrastBTR
from btr.rerankers.model_free import Base
from btr.training import OBJECTIVES
from btr.training.listwise import EagerContrast, Listwise
from btr.training.losses import gain, likelihood, listwise, unlikelihood
from btr.training.objective import TrainingPair
from btr.training.recipe import Recipe
from btr.training.t5_objectives import token_log_probs


def recipe(kind="btr", **objective):
    negatives = objective.get("negatives", 0)
    data = {"pairs": ["pairs.tsv"], "candidates": ["negatives.jsonl"] if negatives else []}
    return Recipe(kind=kind, model="tiny", epochs=1, data=data, objective=objective)


def generators(count, seed=0):
    return [np.random.default_rng([seed, k]) for k in range(count)]


def test_likelihood_and_unlikelihood_by_hand():
    log_probs = torch.tensor([0.5, 0.25, 1.0]).log()
    assert likelihood(log_probs).tolist() == pytest.approx([0.6931, 1.3863, 0.0], abs=1e-4)
    # 1 - p is at least 1e-12, whose logarithm is -27.63
    assert unlikelihood(log_probs).tolist() == pytest.approx([0.6931, 0.2877, 27.6310], abs=1e-4)


def test_listwise_by_hand():
    """Two sources; the first has gold (sum -1.0) and a negative (sum -1.5), the second gold only."""
    log_probs = torch.tensor([-0.25, -0.75, -1.5, -3.0])
    rows, sources = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 0, 1])
    nothing = torch.zeros(3)
    found = listwise(log_probs, rows, sources, torch.tensor([1.0, 0.0, 1.0]), nothing)
    assert found.tolist() == pytest.approx([math.log(1 + math.exp(-0.5)), 0.0], abs=1e-6)
    # a quarter of f is wanted for the negative, whose logarithm is lower by a half
    soft = listwise(log_probs, rows, sources, torch.tensor([0.75, 0.25, 1.0]), nothing)
    assert soft.tolist() == pytest.approx([math.log(1 + math.exp(-0.5)) + 0.25 * 0.5, 0.0], abs=1e-6)
    # the base model finds the negative more likely by 2: gold's sum is -4, the negative's -2.5
    both = listwise(log_probs, rows, sources, torch.tensor([1.0, 0.0, 1.0]), torch.tensor([-3.0, -1.0, -7.0]))
    assert both.tolist() == pytest.approx([math.log(1 + math.exp(1.5)), 0.0], abs=1e-6)


def test_gain_by_hand():
    """Gold makes two edits, each worth 1.25 - 0.45; an edit that gold does not make costs 0.45."""
    source, gold = [5, 6, 7, 8, 1], [5, 9, 7, 8, 4, 1]
    assert gain(source, gold, source) == 0
    assert gain(source, gold, gold) == pytest.approx(1.6)
    assert gain(source, gold, [5, 9, 7, 8, 1]) == pytest.approx(0.8)
    assert gain(source, gold, [5, 9, 7, 3, 1]) == pytest.approx(0.8 - 0.45)
    assert gain(source, gold, [5, 2, 7, 8, 1]) == pytest.approx(-0.45)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
def test_states_are_those_of_the_models_forward_pass(tmp_path, style, both):
    model = load("btr" if both else "seq2seq", tiny.save_t5(tmp_path, style, bidirectional=both)).model
    sources = [[4, 5, 6, 1], [7, 8, 1]]
    rows = [[[0, 5, 6, 7], [0, 9, 1], [0, 3]], [[0, 4, 4, 4, 4]]]
    asked = [[[0, 3], [1], [0, 1]], [[4, 2]]]
    grid = make_decoder_batch(sources, rows, asked, 0, torch.device("cpu"))
    found = model.lm_head(decoder_states(model, grid))
    plain = [
        model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([row]), use_cache=False).logits[0, place]
        for source, own, where in zip(sources, rows, asked)
        for row, places in zip(own, where)
        for place in places
    ]
    assert torch.allclose(found, torch.stack(plain), atol=1e-5)


def test_gradients_are_those_of_the_models_forward_pass(tmp_path):
    """With gold and a negative of one source, whose encoder is shared."""
    folder = tiny.save_t5(tmp_path)
    ours, plain = (T5ForConditionalGeneration.from_pretrained(folder).eval() for _ in range(2))
    source, rows = [4, 5, 6, 1], [[0, 5, 6], [0, 9]]
    grid = make_decoder_batch([source], [rows], [[[0, 2], [1]]], 0, torch.device("cpu"))
    ours.lm_head(decoder_states(ours, grid)).log_softmax(-1)[:, 7].sum().backward()
    for row, places in zip(rows, [[0, 2], [1]]):
        out = plain(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([row]), use_cache=False)
        out.logits[0, places].log_softmax(-1)[:, 7].sum().backward()
    own = dict(ours.named_parameters())
    for name, weight in plain.named_parameters():
        assert torch.allclose(own[name].grad, weight.grad, atol=1e-4), name


def test_dropout_only_in_training(tmp_path):
    model = T5ForConditionalGeneration.from_pretrained(tiny.save_t5(tmp_path))
    grid = make_decoder_batch([[4, 1]], [[[0, 5]]], [[[0, 1]]], 0, torch.device("cpu"))
    model.eval()
    assert torch.equal(decoder_states(model, grid), decoder_states(model, grid))
    model.train()
    assert not torch.equal(decoder_states(model, grid), decoder_states(model, grid))


def pair(source, target, *negatives, candidates=None, log_probs=None):
    """A training pair; candidates with their log-probabilities, if any."""
    known = Candidates(source, tuple(candidates), log_probs and tuple(log_probs)) if candidates else None
    return TrainingPair(source, target, negatives, known)


def make(tmp_path, kind, **objective):
    if kind in ("roberta", "bert"):
        folder = tiny.save_encoder(tmp_path, "bert")
    else:
        folder = tiny.save_t5(tmp_path)
    entry = OBJECTIVES[kind] if isinstance(kind, str) else kind
    kind = kind if isinstance(kind, str) else "listwise"
    model, tokenizer = load_initial_model(entry.model_kind, folder, 0.0, 0)
    return entry(recipe(kind, **objective), model.eval(), tokenizer)


def test_a_seq2seq_learns_every_token(tmp_path):
    task = make(tmp_path, "seq2seq")
    example = task.encode(pair("the cat sit .", "the cat sits ."))
    batch = task.draw([example], generators(1))
    ids = task.tokenizer("the cat sits .")["input_ids"]
    assert batch.labels.tolist() == ids
    assert batch.inputs.rows.tolist() == [[0, *ids[:-1]]]  # shifted by one
    assert batch.count == len(ids)
    loss = task.model(input_ids=torch.tensor([example["source"]]), labels=torch.tensor([ids])).loss
    assert float(task.loss(batch)) == pytest.approx(float(loss) * len(ids), abs=1e-4)


def test_an_r2l_learns_the_last_word_first(tmp_path):
    task = make(tmp_path, "r2l")
    batch = task.draw([task.encode(pair("he go", "he goes ."))], generators(1))
    he, goes, stop, end = task.tokenizer("he goes .")["input_ids"]
    assert batch.labels.tolist() == [stop, goes, he, end]
    assert batch.inputs.rows.tolist() == [[0, stop, goes, he]]
    assert task.model.config.right_to_left


def test_a_btr_predicts_a_masked_token_from_the_output_before_it(tmp_path):
    task = make(tmp_path, "btr", negatives=2)
    gold, other = "the cat sits on the mat .", "the cat sit on the mat ."
    example = task.encode(pair("the cat sit on mat .", gold, other))
    batch = task.draw([example], generators(1))
    width = batch.inputs.rows.shape[1]
    columns = batch.inputs.positions, batch.labels, batch.is_negative
    for position, label, is_negative in zip(*(column.tolist() for column in columns)):
        row, output = divmod(position, width)
        assert example["targets"][row][output] == label  # the output at j predicts input j + 1
        assert is_negative == (row == 1)
    hidden = batch.inputs.rows[:, 1:].tolist()
    changed = sum(a != b for target, row in zip(example["targets"], hidden) for a, b in zip(target, row))
    assert changed <= len(batch.labels) == batch.count == 2  # 15 % of 8 is one, in each row


def test_the_btrs_loss_by_hand(tmp_path):
    """Likelihood of gold's masked tokens and unlikelihood of the negatives', each from its own forward pass."""
    task = make(tmp_path, "btr", negatives=2, mask_share=0.4)
    example = task.encode(pair("a b c", "a b c d", "a b d", "a e"))
    batch = task.draw([example], generators(1, 3))
    width, expected = batch.inputs.rows.shape[1], 0.0
    for place, wanted in zip(batch.inputs.positions.tolist(), batch.labels.tolist()):
        row, output = divmod(place, width)
        ids = batch.inputs.rows[row, : batch.inputs.lengths[row]]
        logits = task.model(
            input_ids=torch.tensor([example["source"]]), decoder_input_ids=ids[None], use_cache=False
        ).logits[0, output]
        p = float(logits.softmax(-1)[wanted])
        expected += -math.log(p) if row == 0 else -math.log(max(1 - p, 1e-12))
    assert float(task.loss(batch)) == pytest.approx(expected, abs=1e-4)


class ContrastWithoutNeighbours(ContrastBTR):
    neighbours = 0


class ListwiseWithoutNeighbours(Listwise):
    neighbours = 0


def test_listwise_masks_each_token_that_differs(tmp_path):
    task = make(tmp_path, ListwiseWithoutNeighbours, negatives=2)
    example = task.encode(pair("a b c d", "a b c d", "a b e d", "a b d"))
    batch = task.draw([example, example], generators(2))
    a, b, c, d, end = example["targets"][0]
    e = example["targets"][1][2]
    mask = task.mask
    assert batch.inputs.rows[:4].tolist() == [
        [0, a, b, mask, d, end],
        [0, a, b, mask, d, end],
        [0, a, mask, d, end, 0],  # beside the gap
        [0, a, b, mask, end, 0],
    ]
    assert batch.labels[:4].tolist() == [c, e, b, d]
    assert batch.extra["shares"].tolist() == [1, 0, 0, 1, 0, 0]
    assert batch.count == 2
    assert task.shape(example) == (4, 5, 5)
    assert task.size(example) == 5 + 5 + 5 + 2 * 4
    reranker = ContrastWithoutNeighbours(LoadedModel(task.model, task.tokenizer, "btr|x"))
    sums = reranker.predict([("a b c d", text) for text in ("a b c d", "a b e d", "a b d")])
    expected = math.log(sum(map(math.exp, sums))) - sums[0]
    assert float(task.loss(batch)) == pytest.approx(2 * expected, abs=1e-4)


def test_candidates_share_f_by_their_gain(tmp_path):
    """Gold is no candidate, and has no share of f."""
    task = make(tmp_path, ListwiseWithoutNeighbours, negatives=2, temperature=0.5)
    candidates = ["a b c d", "a b the d", "a b d"]
    example = task.encode(pair("a b c d", "a b e d", *candidates, candidates=candidates))
    share = 1 / (1 + math.exp(-0.45 / 0.5))  # the second makes an edit that gold does not make
    assert example["shares"] == pytest.approx([share, 1 - share])
    batch = task.draw([example], generators(1))
    first, second = task.log_probs(batch).tolist()
    expected = math.log(math.exp(first) + math.exp(second)) - share * first - (1 - share) * second
    assert float(task.loss(batch)) == pytest.approx(expected, abs=1e-4)


def test_with_a_gap_the_base_models_log_probabilities_are_added(tmp_path):
    task = make(tmp_path, "listwise", negatives=3, temperature=0.5, gap=1.0)
    candidates, log_probs = ["a b c d", "a b d", "a b the d"], [-1.5, -9.0, -2.25]
    example = task.encode(pair("a b c d", "a b e d", candidates=candidates, log_probs=log_probs))
    assert [task.tokenizer.decode(ids[:-1]) for ids in example["targets"]] == ["a b c d", "a b the d"]
    assert example["log_probs"] == [-1.5, -2.25]
    both = Ensemble([EagerContrast(LoadedModel(task.model, task.tokenizer, "btr|x")), Base()])
    row = Candidates("a b c d", ("a b c d", "a b the d"), (-1.5, -2.25))
    first, second = both.scores([row])[0]
    share = example["shares"][0]
    expected = math.log(math.exp(first) + math.exp(second)) - share * first - (1 - share) * second
    assert float(task.loss(task.draw([example], generators(1)))) == pytest.approx(expected, abs=1e-4)
    far = pair("a b c d", "a b e d", candidates=candidates, log_probs=[-1.5, -9.0, -9.0])
    assert task.encode(far) is None


def test_examples_from_which_listwise_can_learn_nothing_are_left_out(tmp_path):
    task = make(tmp_path, "listwise", negatives=2, temperature=0.5)
    assert task.encode(pair("a b c", "a b c", candidates=["a d c"])) is None  # one candidate
    assert task.encode(pair("a b c", "a b c")) is None  # none
    assert task.encode(pair("a b c", "a b c", candidates=["a d c", "a e c"])) is None  # both wrong
    assert task.encode(pair("a b c", "a b c", candidates=["a b c", "a  b c"])) is None  # the same tokens
    long = " ".join("abcde" * 13)
    assert task.encode(pair("a b c", "a b c", candidates=["a b c", long])) is None  # another sentence


def test_without_negatives_the_focus_is_where_gold_differs_from_the_source(tmp_path):
    task = make(tmp_path, "btr", focus_share=1.0, mask_share=0.2)
    example = task.encode(pair("a b c d e", "a b the d e"))
    batch = task.draw([example] * 20, generators(20))
    assert set(batch.labels.tolist()) == {task.tokenizer("the")["input_ids"][0]}


def test_negatives_are_at_most_one_fewer_than_the_sources_tokens(tmp_path):
    task = make(tmp_path, "btr", negatives=5)
    texts = ["a", "b", "c", "d", "e", "the"]
    assert len(task.encode(pair("a", *texts))["targets"]) == 2  # two tokens, the end included
    assert len(task.encode(pair("a b c", *texts))["targets"]) == 4
    assert len(task.encode(pair("a b c d e the", *texts))["targets"]) == 6
    assert task.encode(pair("a " * 200, *texts)) is None


def test_robertas_negatives_are_capped_as_a_btrs(tmp_path):
    """Unique as tokens, not gold, in beam order; at most a_train, and no more than the source has tokens."""
    negatives = "a", "b", "b ", "c", "the cat", "d", "e"
    found = {}
    for kind in ("btr", "roberta"):
        task = make(tmp_path / kind, kind, negatives=4)
        sources = "the", "the cat", "the cat sat on the mat ."
        examples = [task.encode(pair(source, "the cat", *negatives)) for source in sources]
        rows = [example["targets"] for example in examples]
        if kind == "roberta":
            assert [len(example["positions"]) for example in examples] == [2, 3, 5]
            rows = [
                [[row[k] for k in positions] for row, positions in zip(example["targets"], example["positions"])]
                for example in examples
            ]
        found[kind] = [[task.tokenizer.decode(row, skip_special_tokens=True) for row in part] for part in rows]
    assert found["btr"] == found["roberta"] == [["the cat", *"abcd"[:count]] for count in (1, 2, 4)]


def test_an_r2l_reverses_pieces_and_not_words(tmp_path):
    """A word of two pieces is written with its second piece first."""
    task = make(tmp_path, "r2l")
    assert task.order([11, 12, 21, 22, 1]) == [22, 21, 12, 11, 1]  # two words of two pieces each, and EOS


def test_a_smaller_vocabulary():
    torch.manual_seed(0)
    hidden, head = torch.randn(3, 4), torch.nn.Linear(4, 10, bias=False)
    pieces, wanted = torch.tensor([1, 4, 7]), torch.tensor([4, 7, 1])
    full = token_log_probs(hidden, head, wanted, None)
    assert torch.allclose(full, head(hidden).log_softmax(-1)[range(3), wanted], atol=1e-6)
    small = token_log_probs(hidden, head, wanted, pieces)
    assert torch.allclose(small, head(hidden)[:, pieces].log_softmax(-1)[range(3), [1, 2, 0]], atol=1e-6)


def test_roberta_masks_the_target_only(tmp_path):
    task = make(tmp_path, "roberta", negatives=1, mask_share=0.9)
    example = task.encode(pair("the cat sit .", "the cat sits .", "the cat sit ."))
    batch = task.draw([example], generators(1))
    places = batch.extra["masked"].tolist()
    assert {row for row, _ in places} == {0, 1}
    assert min(place for _, place in places) > 5  # [CLS] the cat sit . [SEP]
    assert batch.is_negative.tolist() == [row == 1 for row, _ in places]
    logits = task.model(**batch.inputs).logits.log_softmax(-1)
    expected = 0.0
    for (row, place), wanted in zip(places, batch.labels.tolist()):
        p = float(logits[row, place, wanted].exp())
        expected -= math.log(1 - p) if row else math.log(p)
    assert float(task.loss(batch)) == pytest.approx(expected, rel=1e-4)


def test_bert_learns_which_of_two_is_grammatical(tmp_path):
    task = make(tmp_path, "bert")
    examples = [task.encode(pair("he go .", "he goes .")), task.encode(pair("he goes .", "he goes ."))]
    batch = task.draw(examples, generators(2))
    assert batch.labels.tolist() == [1, 0, 1]  # a source that needs no correction is not called ungrammatical
    loss = task.model(**batch.inputs, labels=batch.labels).loss
    assert float(task.loss(batch)) == pytest.approx(3 * float(loss), abs=1e-4)


def test_a_btr_starts_from_any_t5(tmp_path):
    folder = tiny.save_t5(tmp_path)
    model, _ = load_initial_model("btr", folder, None, 0)
    plain = make_bidirectional(T5ForConditionalGeneration.from_pretrained(folder))
    ids = torch.tensor([[4, 1]]), torch.tensor([[0, 5, 6]])
    outs = [own.eval()(input_ids=ids[0], decoder_input_ids=ids[1], use_cache=False).logits for own in (model, plain)]
    assert torch.allclose(*outs)
    assert model.config.bidirectional_decoder
