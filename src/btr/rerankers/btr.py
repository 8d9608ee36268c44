"""The paper's reranker: a T5 whose decoder sees both sides of the token that it predicts."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from btr.errors import InputError
from btr.models.decoder import decode, encode_groups
from btr.models.load import LoadedModel, start_token
from btr.rerankers.pll import BUDGET, MAX_TOKENS, Encoded, MaskedReranker, Plan, Row, read_source


class BTR(MaskedReranker):
    """PLL of a bidirectional T5.

    The decoder reads [start, y1 … yn, EOS], and the output at index j predicts the token at index j + 1. EOS is masked
    and scored like any other token; <extra_id_0> is the mask.
    """

    kind = "btr"

    def __init__(self, loaded: LoadedModel, budget: int = BUDGET) -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.signature = self.sign(loaded.signature)
        self.budget, self.by_length = budget, loaded.int8
        self.vocabulary = loaded.model.config.vocab_size
        self.mask = mask_token(self.tokenizer, loaded.signature)

    def encode_candidate(self, source: str, candidate: str) -> Encoded | None:
        tokens = self.tokenizer(candidate)["input_ids"]
        if len(tokens) > MAX_TOKENS:
            return None
        places = tuple((k + 1, k) for k in range(len(tokens)))
        return Encoded((start_token(self.model.config), *tokens), places)

    def plans(self, sources: Sequence[str]) -> Iterator[tuple[range, Plan]]:
        ids = [read_source(self.tokenizer, source) for source in sources]
        read = [tokens or [0] for tokens in ids]
        for group, memories in encode_groups(self.model, read, self.budget, same_length=self.by_length):
            yield group, Plan(self.mask, [memory if ids[k] else None for k, memory in zip(group, memories)])

    def logits(self, rows: Sequence[Row], sources: Sequence[Any]) -> Tensor:
        memories = [sources[row.source] for row in rows]
        states = decode(self.model, [row.ids for row in rows], memories, [row.position for row in rows])
        logits: Tensor = self.model.get_output_embeddings()(states)
        return logits


def mask_token(tokenizer: object, name: str) -> int:
    """The first sentinel of a T5's vocabulary (mT5 writes it with a leading space)."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()  # type: ignore[attr-defined]
    for token in ("<extra_id_0>", "▁<extra_id_0>"):
        if token in vocabulary:
            return vocabulary[token]
    raise InputError(f"{name}: its tokenizer has no <extra_id_0>, which is the BTR's mask.")
