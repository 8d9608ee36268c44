"""Linear layers in int8: numbers computed by hand, and rows that do not depend on other rows."""

import pytest
import tiny
import torch
from transformers import T5ForConditionalGeneration

from btr.corpus.candidates import Candidates
from btr.models.batches import make_batches
from btr.models.int8_layers import Int8Linear, Int8LinearTwoPass, quantise_weight
from btr.models.int8_weights import quantise_rows
from btr.models.load import load
from btr.rerankers import load_reranker

ROWS = [
    Candidates("I has two cat .", ("I have two cats .", "I have two cat .", "I has two cats .")),
    Candidates("he go", ("he goes", "he", "he went on")),
    Candidates("she go", ("she goes", "she goes on")),
    Candidates("the cat sat on the mat .", ("the cat sits on the mat .", "the cats sat on the mat .")),
]


def layer(weight, bias=None):
    linear = torch.nn.Linear(len(weight[0]), len(weight), bias=bias is not None)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(weight))
        if bias is not None:
            linear.bias.copy_(torch.tensor(bias))
    return linear


def test_numbers_by_hand():
    """Weights in 127ths of their row's largest, inputs in 63rds of theirs."""
    linear = layer([[1.27, 0.01], [-2.54, 1.005]], [10.0, 0.0])
    with torch.inference_mode():
        out = Int8Linear(linear)(torch.tensor([[6.3, 0.149], [0.0, 0.0], [0.0, -1e-3]]))
    # The first input is 63 and 1 times 0.1; the weights are 127 and 1 times 0.01, -127 and 50 times 0.02.
    expected = [[(63 * 127 + 1) * 1e-3 + 10, (-63 * 127 + 50) * 2e-3], [10, 0], [10 - 1e-5, -1e-3]]
    for row, numbers in zip(out.tolist(), expected, strict=True):
        assert row == pytest.approx(numbers, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("factor", [1e-37, 1e-3, 1.0, 1e30])
def test_pytorch_gets_our_numbers_and_scales(factor):
    """`torch.quantize_per_channel` rounds again; of multiples of the scale it must make the same int8 numbers."""
    weight = torch.randn(300, 200, generator=torch.Generator().manual_seed(3)) * factor
    weight[7] = 0
    numbers, scale = quantise_rows(weight)
    quantised = quantise_weight(weight)
    assert torch.equal(quantised.int_repr(), numbers)
    assert torch.equal(quantised.q_per_channel_scales(), scale.double())


def test_a_row_does_not_depend_on_other_rows():
    generator = torch.Generator().manual_seed(1)
    linear = torch.nn.Linear(64, 48, bias=False)
    rows = torch.randn(3, 64, generator=generator)
    others = 100 * torch.randn(50, 64, generator=generator)
    rough = Int8Linear(linear)
    with torch.inference_mode():
        assert torch.equal(rough(rows), rough(torch.cat([rows, others]))[:3])
        assert torch.equal(rough(rows)[1:2], rough(rows[1:2]))
        assert (rough(rows) - linear(rows)).abs().mean() < 0.02 * linear(rows).abs().mean()


def test_two_passes():
    """One number is a hundred times as large as the others: one pass of seven bits loses most of those, two do not."""
    linear = torch.nn.Linear(64, 8, bias=False)
    inputs = torch.randn(5, 64, generator=torch.Generator().manual_seed(2))
    inputs[:, 7] = 100
    with torch.inference_mode():
        exact = inputs @ Int8Linear(linear).multiply(torch.eye(64))  # with the weights already rounded to int8
        once, twice = ((kind(linear)(inputs) - exact).abs().mean() for kind in (Int8Linear, Int8LinearTwoPass))
    assert twice < 0.005 < 0.1 < once


def test_batches_of_one_length():
    lengths = [5, 3, 5, 3, 4, 5]
    assert list(make_batches(lengths, 10, same_length=True)) == [[1, 3], [4], [0, 2], [5]]
    assert list(make_batches([], 10, same_length=True)) == []


def save(kind, folder, seed=0):
    if kind in ("roberta", "bert"):
        return (tiny.save_encoder if kind == "roberta" else tiny.save_classifier)(folder, seed=seed)
    return tiny.save_t5(folder, bidirectional=kind in ("btr", "contrast"), seed=seed)


@pytest.mark.parametrize("kind", ["btr", "contrast", "l2r", "roberta", "bert"])
def test_int8_scores(tmp_path, kind):
    """They do not depend on the other sources, and are close to those of float32: far closer than another model's."""
    folder, other = save(kind, tmp_path / "model"), save(kind, tmp_path / "other", seed=1)
    reranker = load_reranker(f"{kind}:{folder}", int8=True)
    together = reranker.scores(ROWS)
    assert together == [reranker.scores([row])[0] for row in ROWS]
    rough, exact, others = (
        torch.tensor([score for row in scores for score in row])
        for scores in (
            together,
            load_reranker(f"{kind}:{folder}").scores(ROWS),
            load_reranker(f"{kind}:{other}").scores(ROWS),
        )
    )
    assert 0 < (rough - exact).abs().max() < 0.15 * (others - exact).abs().mean()


def test_our_gelu_equals_that_of_transformers(tmp_path):
    folder = tiny.save_t5(tmp_path)
    ours, theirs = load("seq2seq", folder).model, T5ForConditionalGeneration.from_pretrained(folder).eval()
    ids = torch.tensor([[5, 6, 7, 1]])
    with torch.no_grad():
        a, b = (model(input_ids=ids, decoder_input_ids=ids).logits for model in (ours, theirs))
    assert type(ours.encoder.block[0].layer[1].DenseReluDense.act) is not type(
        theirs.encoder.block[0].layer[1].DenseReluDense.act
    )
    assert torch.allclose(a, b, atol=1e-5)
