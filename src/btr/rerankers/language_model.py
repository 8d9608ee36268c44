"""A causal language model as a reranker: how probable a candidate is as English, without the source."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scores
from btr.corpus.spacing import detokenize
from btr.errors import InputError
from btr.models.config import check_kind, read_facts
from btr.models.ctranslate2_scorer import CTranslate2Scorer
from btr.models.identity import model_hash
from btr.models.locate import locate_model
from btr.models.tokenizer import load_plain_tokenizer
from btr.rerankers.base import Reranker
from btr.rerankers.pretrained import BUDGET, MAX_TOKENS

DOCUMENT_SEPARATOR = "<|endoftext|>"  # stands before each document in the training of GPT-2, Qwen, SmolLM2 and others


class Scorer(Protocol):
    """What computes sums of log-probabilities."""

    def sums(self, sources: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        """Return the log-probability of each text of each source, given as tokens without the begin token."""
        ...


class LanguageModel(Reranker):
    """The log-probability of the detokenised candidate: the sum over its tokens, each given those before it.

    It is a sum, as the base model's log-probability is, so f is the language model's own probability of a candidate
    among the candidates. The first token is conditioned on the token that begins a document.
    """

    kind = "lm"
    title = "LM"

    def __init__(self, scorer: Scorer, tokenizer: Any, signature: str, model_name: str | None = None) -> None:
        self.scorer, self.tokenizer = scorer, tokenizer
        self.signature, self.model_name = signature, model_name

    @classmethod
    def from_pretrained(
        cls,
        name: str,
        *,
        dtype: str = "float32",
        device: str | None = None,
        int8: bool = False,
        budget: int | None = None,
    ) -> Self:
        """Load a language model by its folder, GGUF file, hub id or the name of a fetched model."""
        reranker = cls._load_int8(name, dtype, device) if int8 else cls._load(name, dtype, device, budget or BUDGET)
        reranker.loaded_by = partial(
            cls.from_pretrained, name, dtype=dtype, device=device, int8=int8, budget=budget
        )  # fmt: skip
        return reranker

    @classmethod
    def _load(cls, name: str, dtype: str, device: str | None, budget: int) -> Self:
        from btr.models.load import load
        from btr.models.token_tree import TreeScorer

        loaded = load("lm", name, dtype=dtype, device=device)
        tree = TreeScorer(loaded.model, begin_token(loaded.tokenizer, name), budget)
        return cls(tree, loaded.tokenizer, loaded.signature, name)

    @classmethod
    def _load_int8(cls, name: str, dtype: str, device: str | None) -> Self:
        if dtype != "float32" or device not in (None, "cpu"):
            raise InputError("int8 is for float32 models on a CPU.")
        path = locate_model(name)
        facts = read_facts(path, name)
        check_kind(cls.kind, facts, name)
        tokenizer = load_plain_tokenizer(path, facts, name)
        scorer = CTranslate2Scorer(name, tokenizer, begin_token(tokenizer, name))
        model = f"model:{Path(name).name}#{model_hash(name)}"
        return cls(scorer, tokenizer, f"{cls.kind}|{model}|ctranslate2:{scorer.version}|dtype:int8", name)

    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        encoded = [{text: self.encode(text) for text in row.texts} for row in rows]
        readable = [{text: ids for text, ids in each.items() if 0 < len(ids) <= MAX_TOKENS} for each in encoded]
        sums = self.scorer.sums([list(each.values()) for each in readable])
        by_text = [dict(zip(each, values)) for each, values in zip(readable, sums)]
        return [tuple(map(each.get, row.texts)) for row, each in zip(rows, by_text)]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of the detokenised text, without any begin or end."""
        tokens: list[int] = self.tokenizer(detokenize(text), add_special_tokens=False)["input_ids"]
        return tokens


def begin_token(tokenizer: Any, name: str) -> int:
    """Return the token that begins a document.

    It is the separator of documents where the vocabulary has one (the BOS of chat models such as SmolLM2-Instruct
    begins a message); else BOS.
    """
    separator = tokenizer.get_vocab().get(DOCUMENT_SEPARATOR, tokenizer.bos_token_id)
    if separator is None:
        raise InputError(f"{name}: its tokenizer has no token that begins a text.")
    return int(separator)
