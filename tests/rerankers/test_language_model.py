"""Language models: the library's own numbers, whatever is shared; int8 close; bad input in one sentence."""

import json

import numpy as np
import pytest
import tiny
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import btr
from btr.corpus.candidates import Candidates
from btr.corpus.spacing import detokenize
from btr.errors import InputError
from btr.models.locate import fetched_folder
from btr.models.token_tree import TokenTree, plant_trees
from btr.rerankers import load_reranker
from btr.rerankers.language_model import begin_token

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


def test_a_tree_by_hand():
    """Two texts share 7 and then part; a third one is the beginning of the first."""
    tree = TokenTree(0)
    for text in ([7, 8, 9], [7, 5], [7, 8]):
        tree.add(text)
    assert (tree.tokens, tree.parents, tree.depths) == ([0, 7, 8, 9, 5], [-1, 0, 1, 2, 1], [0, 1, 2, 3, 2])
    assert tree.ancestors().astype(int).tolist() == [
        [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 0, 0, 1],
    ]  # fmt: skip
    assert tree.sums([-1.0, -2.0, -4.0, -8.0]) == [-7.0, -9.0, -3.0]


def test_a_full_tree_is_followed_by_another():
    texts = [[1, 2, 3], [1, 2, 4], [1, 2, 5], [9] * 20]
    assert [len(tree) for tree in plant_trees(texts, 0, 100)] == [26]
    assert [tree.leaves for tree in plant_trees(texts, 0, 7)] == [[3, 4], [3], [20]]
    assert [len(tree) for tree in plant_trees(texts, 0, 1)] == [4, 4, 4, 21]
    assert [len(tree) for tree in plant_trees(texts, 0, 100, shared=False)] == [4, 4, 4, 21]
    assert plant_trees([], 0, 100) == []


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


def test_candidates_are_read_as_a_writer_spaces_them(tmp_path):
    reranker = load_reranker(f"lm:{tiny.save_language_model(tmp_path)}")
    names = reranker.tokenizer.convert_ids_to_tokens(reranker.encode("the cat , the mat ."))
    assert names == ["the", "Ġcat", ",", "Ġthe", "Ġmat", "."]


@pytest.mark.parametrize("int8", [False, True])
def test_what_cannot_be_scored_is_none(tmp_path, int8):
    """An empty text has no token, and is not the most probable of all; texts of over 512 tokens are not read."""
    reranker = load_reranker(f"lm:{tiny.save_language_model(tmp_path)}", int8=int8)
    row = Candidates("he go", ("he goes", "", "a " * 513, "a " * 512))
    scored, empty, too_long, longest = reranker.scores([row])[0]
    assert (empty, too_long) == (None, None)
    assert longest < scored < 0
    assert reranker.scores([Candidates("he", ("",))]) == [(None,)]
    assert reranker.scores([]) == []


@pytest.mark.parametrize("tied", [True, False])
def test_int8_is_close_and_does_not_depend_on_other_texts(tmp_path, tied):
    folder = tiny.save_language_model(tmp_path, tied=tied)
    reranker = load_reranker(f"lm:{folder}", int8=True)
    together = reranker.scores(ROWS * 20)
    assert together[: len(ROWS)] == together[-len(ROWS) :]
    for row, scores in zip(ROWS, together):
        alone = [reranker.scores([Candidates(row.source, (text,))])[0][0] for text in row.texts]
        assert list(scores) == alone
        exact = [plain_sum(folder, text) for text in row.texts]
        assert scores == pytest.approx(exact, abs=1)
        assert scores != pytest.approx(exact, abs=1e-6)
    assert "|dtype:int8" in reranker.signature


def test_bfloat16_is_close(tmp_path):
    folder = tiny.save_language_model(tmp_path)
    for row, scores in zip(ROWS, load_reranker(f"lm:{folder}", dtype="bfloat16").scores(ROWS)):
        assert scores == pytest.approx([plain_sum(folder, text) for text in row.texts], abs=1)


def test_alone_and_in_an_ensemble_from_file_to_choice(tmp_path):
    """`score`, `rerank` and `tune` take it as any other kind."""
    folder = tiny.save_language_model(tmp_path / "model")
    rows = [row for row in ROWS if len(row.texts) > 1]
    btr.write_candidates(tmp_path / "candidates.jsonl", rows)
    btr.score(tmp_path / "candidates.jsonl", f"lm:{folder}", tmp_path / "lm.jsonl")
    btr.score(tmp_path / "candidates.jsonl", [f"lm:{folder}", "mbr"], tmp_path / "both.jsonl")
    header, *lines = map(json.loads, (tmp_path / "both.jsonl").read_text().splitlines())
    assert [each["kind"] for each in header["rerankers"]] == ["lm", "mbr"]
    expected = [[plain_sum(folder, text) for text in row.texts] for row in rows]
    for line, sums in zip(lines, expected, strict=True):
        assert line["scores"][0] == pytest.approx(sums, abs=1e-4)
    best = [row.texts[int(np.argmax(sums))] for row, sums in zip(rows, expected)]
    btr.rerank(tmp_path / "lm.jsonl", tmp_path / "out.txt", threshold=0)
    assert (tmp_path / "out.txt").read_text().splitlines() == best
    (tmp_path / "references.txt").write_text("".join(f"{text}\n" for text in best))
    (tmp_path / "sources.txt").write_text("".join(f"{row.source}\n" for row in rows))
    gold = {"source": tmp_path / "sources.txt", "reference": [tmp_path / "references.txt"]}
    tuned = btr.tune([tmp_path / "lm.jsonl"], metric="gleu", folds=3, **gold)
    assert max(tuned.models[0].grid[-1]) == pytest.approx(100)


def test_the_begin_token():
    """The separator of documents, also where BOS is another token, as in chat models; else BOS."""
    chat = tiny.lm_tokenizer()
    chat.bos_token = "I"
    assert begin_token(chat, "chat") == 0
    assert begin_token(tiny.lm_tokenizer("<s>"), "llama") == 0
    with pytest.raises(InputError, match=r"^t5: its tokenizer has no token that begins a text\.$"):
        begin_token(tiny.t5_tokenizer(), "t5")


def test_other_models_are_refused(tmp_path):
    tiny.save_encoder(tmp_path / "bert")
    tiny.save_t5(tmp_path / "t5")
    for folder, what in (("bert", "BertForMaskedLM"), ("t5", "T5ForConditionalGeneration")):
        for int8 in (False, True):
            with pytest.raises(InputError, match=rf"{folder}: is a {what}, but lm needs a causal language model\.$"):
                load_reranker(f"lm:{tmp_path / folder}", int8=int8)
    with pytest.raises(InputError, match="int8 is for float32 models on a CPU"):
        load_reranker(f"lm:{tmp_path}", int8=True, dtype="bfloat16")


def test_the_fetched_model():
    """Its tokenizer adds nothing, and it knows English."""
    if not fetched_folder("smollm2-135m").is_dir():
        pytest.skip("needs the fetched language model: btr fetch smollm2-135m")
    reranker = load_reranker("lm:smollm2-135m")
    tokens = reranker.encode("It is n't 12 .")
    assert reranker.tokenizer.decode(tokens) == "It isn't 12."
    assert reranker.tokenizer.convert_ids_to_tokens(tokens)[-4:] == ["Ġ", "1", "2", "."]
    assert reranker.tokenizer.convert_ids_to_tokens(begin_token(reranker.tokenizer, "")) == "<|endoftext|>"
    row = Candidates("She have two dog .", ("She have two dog .", "She has two dogs .", "She have two dogs ."))
    first, right, half = reranker.scores([row])[0]
    assert first < half < right
    plain = plain_sum(fetched_folder("smollm2-135m"), row.texts[1])
    assert right == pytest.approx(plain, abs=1e-4)
