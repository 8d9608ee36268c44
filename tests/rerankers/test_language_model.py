"""Language models: the library's own numbers, whatever is shared; int8 close; bad input in one sentence."""

import pytest
import tiny
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from btr.corpus.candidates import Candidates
from btr.corpus.spacing import detokenize
from btr.rerankers import load_reranker

ROWS = [
    Candidates("I has two cat .", ("I have two cats .", "I have two cat .", "I has two cats .", "I have two cats .")),
    Candidates("he go", ("he goes", "he", "he went on , the cat sat")),
    Candidates("she go", ("she goes on the mat", "it goes on the mat")),
    Candidates("the cat", ("the cat sits",)),
]


def plain_sum(folder, text, begin=0):
    """The library's own loss, one text at a time."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(detokenize(text), add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[begin, *tokens]])
    with torch.no_grad():
        return -float(model(input_ids=ids, labels=ids).loss) * len(tokens)


@pytest.mark.parametrize("budget", [1, 12, 4096])
@pytest.mark.parametrize(
    ("style", "tied"), [("llama", True), ("llama", False), ("qwen2", True), ("gpt2", True), ("bloom", True)]
)
def test_scores_are_the_librarys(tmp_path, style, tied, budget):
    """Also of a model that can't read a tree (bloom)."""
    folder = tiny.save_language_model(tmp_path, style, tied=tied)
    reranker = load_reranker(f"lm:{folder}", budget=budget)
    assert reranker.scorer.shares_prefixes == (style != "bloom")
    for row, scores in zip(ROWS, reranker.scores(ROWS), strict=True):
        assert scores == pytest.approx([plain_sum(folder, text) for text in row.texts], abs=1e-4)
