"""An objective from outside the package: registered by its name, trained, validated and described."""

import pytest
import tiny
import torch
import toy

import btr
from btr.errors import InputError
from btr.rerankers import load_reranker
from btr.training import OBJECTIVES
from btr.training.objective import Batch, Objective
from btr.training.recipe import read_recipe


class PlainLoss(Objective):
    """A T5 learns targets by the loss that `transformers` computes."""

    model_kind, reranker = "seq2seq", "l2r"
    description, limits = "A T5 that scores corrections.", "It was trained in a test."

    def encode(self, pair):
        source, target = (self.tokenizer(text)["input_ids"] for text in (pair.source, pair.target))
        return {"source": source, "targets": [target]}

    def draw(self, examples, generators):
        pad = torch.nn.utils.rnn.pad_sequence
        sources = [torch.tensor(example["source"]) for example in examples]
        targets = [torch.tensor(example["targets"][0]) for example in examples]
        inputs = pad(sources, batch_first=True, padding_value=0)
        return Batch(inputs, pad(targets, batch_first=True, padding_value=-100), sum(map(len, targets)))

    def loss(self, batch):
        mask = (batch.inputs != 0).long()
        return self.model(input_ids=batch.inputs, attention_mask=mask, labels=batch.labels).loss * batch.count


OBJECTIVES.register("plain", PlainLoss)


def test_it_trains_is_validated_and_has_a_card(tmp_path):
    pairs, _ = toy.write(tmp_path, 400)
    rows = list(toy.sentences(20, 99))
    held = tmp_path / "held.jsonl"
    toy.write_candidates(held, rows)
    m2 = tmp_path / "held.m2"
    toy.write_m2(m2, rows)
    validation = {"gold": [str(m2)], "candidates": str(held)}
    recipe = toy.write_recipe(
        tmp_path / "r.yaml", "plain", tiny.save_t5(tmp_path / "t5"), pairs, epochs=8, validation=validation
    )
    result = btr.train(recipe, tmp_path / "run")
    assert result.complete
    assert result.best.threshold is not None
    assert toy.gold_first(load_reranker(f"l2r:{result.model}"), rows)[0] > 0.8
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "A T5 that scores corrections." in card
    assert "btr score CANDIDATES.jsonl --reranker l2r:FOLDER -o SCORES.jsonl" in card
    assert "- It was trained in a test." in card


def test_settings_that_it_does_not_have_are_refused(tmp_path):
    recipe = toy.write_recipe(tmp_path / "r.yaml", "plain", "t5", "pairs.tsv", objective={"mask_share": 0.5})
    with pytest.raises(InputError, match=r"objective\.mask_share is no setting of plain; it has none\."):
        read_recipe(recipe)
    with pytest.raises(InputError, match=r"kind: must be one of seq2seq, .*, plain, not 'other'"):
        read_recipe(recipe, {"kind": "other"})
