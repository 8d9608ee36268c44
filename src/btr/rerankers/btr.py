"""The paper's reranker: a T5 whose decoder sees both sides of the token that it predicts."""

from collections.abc import Iterator, Sequence

from torch import Tensor

from btr.errors import InputError
from btr.models.decoder import Memory, decode, encode
from btr.models.load import Loaded
from btr.rerankers.pll import BUDGET, MAX_TOKENS, Encoded, MaskedReranker, Row


class BTR(MaskedReranker):
    """PLL of a bidirectional T5.

    The decoder reads [start, y1 … yn, EOS], and the output at index j predicts the token at index j + 1. EOS is masked
    and scored like any other token; <extra_id_0> is the mask.
    """

    kind = "btr"

    def __init__(self, loaded: Loaded, budget: int = BUDGET) -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.signature = loaded.signature
        self.budget = budget
        self.mask = mask_token(self.tokenizer, loaded.signature)
        self._memories: list[Memory] = []

    def encode_candidate(self, source: str, candidate: str) -> Encoded | None:
        tokens = self.tokenizer(candidate)["input_ids"]
        if len(tokens) > MAX_TOKENS:
            return None
        places = tuple((k + 1, k) for k in range(len(tokens)))
        return Encoded((self.model.config.decoder_start_token_id, *tokens), places)

    def groups(self, sources: Sequence[str]) -> Iterator[range]:
        ids = [self.tokenizer(source)["input_ids"] for source in sources]
        start = 0
        while start < len(ids):
            stop = start + 1
            while stop < len(ids) and (stop + 1 - start) * max(map(len, ids[start : stop + 1])) <= self.budget:
                stop += 1
            self._memories = encode(self.model, ids[start:stop])
            yield range(start, stop)
            start = stop
        self._memories = []

    def logits(self, rows: Sequence[Row]) -> Tensor:
        memories = [self._memories[row.source] for row in rows]
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
