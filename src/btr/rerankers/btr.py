"""The paper's reranker: a T5 whose decoder sees both sides of the token that it predicts."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from btr.errors import InputError
from btr.models.config import start_token
from btr.models.decoder import decode, encode_groups
from btr.models.loaded import LoadedModel
from btr.rerankers.pll import EncodedCandidate, MaskedReranker, Row, RowPlan
from btr.rerankers.pretrained import MAX_TOKENS, encode_source


class BTR(MaskedReranker):
    """PLL / |y| of a bidirectional T5.

    The decoder reads [start, y1 … yn, EOS], and the output at index j predicts the token at index j + 1. EOS is masked
    and scored like any other token; <extra_id_0> is the mask.
    """

    kind = loads_as = "btr"
    title = "BTR"

    def __init__(self, loaded: LoadedModel, budget: int | None = None, model_name: str | None = None) -> None:
        super().__init__(loaded, budget, model_name)
        self.vocabulary_size = self.model.config.vocab_size
        self.mask = mask_token(self.tokenizer, loaded.signature)

    def encode_candidate(self, source: str, candidate: str) -> EncodedCandidate | None:
        tokens = self.tokenizer(candidate)["input_ids"]
        if len(tokens) > MAX_TOKENS:
            return None
        positions = tuple((k + 1, k) for k in range(len(tokens)))
        return EncodedCandidate((start_token(self.model.config), *tokens), positions)

    def plans(self, sources: Sequence[str]) -> Iterator[tuple[range, RowPlan]]:
        tokens = [encode_source(self.tokenizer, source) for source in sources]
        readable = [ids or [0] for ids in tokens]
        for group, encoded in encode_groups(self.model, readable, self.budget, same_length=self.same_length):
            yield group, RowPlan(self.mask, [memory if tokens[k] else None for k, memory in zip(group, encoded)])

    def logits(self, rows: Sequence[Row], sources: Sequence[Any]) -> Tensor:
        encoded = [sources[row.source] for row in rows]
        states = decode(self.model, [row.ids for row in rows], encoded, [row.position for row in rows])
        logits: Tensor = self.model.get_output_embeddings()(states)
        return logits


def mask_token(tokenizer: Any, name: str) -> int:
    """Return the first sentinel of a T5's vocabulary (mT5 writes it with a leading space)."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    for token in ("<extra_id_0>", "▁<extra_id_0>"):
        if token in vocabulary:
            return vocabulary[token]
    raise InputError(f"{name}: its tokenizer has no <extra_id_0>, which is the BTR's mask.")
