"""Linear layers in int8: numbers by hand, and rows that do not depend on those beside them."""

import pytest
import tiny
import torch
from transformers import T5ForConditionalGeneration

from btr.corpus.candidates import Candidates
from btr.models.batches import make_batches
from btr.models.int8_layers import Int8Linear, Int8LinearTwoPass
from btr.models.load import load
from btr.rerankers.score import load_reranker

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
    for row, own in zip(out.tolist(), expected, strict=True):
        assert row == pytest.approx(own, rel=1e-5, abs=1e-9)


def test_a_row_is_its_own():
    generator = torch.Generator().manual_seed(1)
    linear = torch.nn.Linear(64, 48, bias=False)
    rows = torch.randn(3, 64, generator=generator)
    others = 100 * torch.randn(50, 64, generator=generator)
    rough = Int8Linear(linear)
    with torch.inference_mode():
        assert torch.equal(rough(rows), rough(torch.cat([rows, others]))[:3])
        assert torch.equal(rough(rows)[1:2], rough(rows[1:2]))
        assert (rough(rows) - linear(rows)).abs().mean() < 0.02 * linear(rows).abs().mean()


def test_inputs_that_are_rounded_twice():
    """One number is a hundred times as large as the others: seven bits leave little of those, twice seven do."""
    linear = torch.nn.Linear(64, 8, bias=False)
    inputs = torch.randn(5, 64, generator=torch.Generator().manual_seed(2))
    inputs[:, 7] = 100
    with torch.inference_mode():
        exact = inputs @ Int8Linear(linear).multiply(torch.eye(64))  # the weights as int8 has them
        once, twice = ((own(linear)(inputs) - exact).abs().mean() for own in (Int8Linear, Int8LinearTwoPass))
    assert twice < 0.005 < 0.1 < once


def test_batches_of_one_length():
    lengths = [5, 3, 5, 3, 4, 5]
    assert list(make_batches(lengths, 10, same_length=True)) == [[1, 3], [4], [0, 2], [5]]
    assert list(make_batches([], 10, same_length=True)) == []


@pytest.mark.parametrize("kind", ["btr", "contrast", "l2r", "roberta", "bert"])
def test_scores_do_not_depend_on_the_company(tmp_path, kind):
    if kind in ("roberta", "bert"):
        folder = tiny.save_encoder(tmp_path) if kind == "roberta" else tiny.save_classifier(tmp_path)
    else:
        folder = tiny.save_t5(tmp_path, bidirectional=kind in ("btr", "contrast"))
    reranker = load_reranker(f"{kind}:{folder}", int8=True)
    together = reranker.score_many(ROWS)
    assert together == [reranker.score_many([row])[0] for row in ROWS]
    exact = load_reranker(f"{kind}:{folder}").score_many(ROWS)
    assert together != exact
    for a, b in zip(together, exact, strict=True):
        assert a.means == pytest.approx(b.means, abs=0.5)


def test_an_activation_in_one_step_is_the_library_s(tmp_path):
    folder = tiny.save_t5(tmp_path)
    ours, own = load("seq2seq", folder).model, T5ForConditionalGeneration.from_pretrained(folder).eval()
    ids = torch.tensor([[5, 6, 7, 1]])
    with torch.no_grad():
        a, b = (model(input_ids=ids, decoder_input_ids=ids).logits for model in (ours, own))
    assert type(ours.encoder.block[0].layer[1].DenseReluDense.act) is not type(
        own.encoder.block[0].layer[1].DenseReluDense.act
    )
    assert torch.allclose(a, b, atol=1e-5)
