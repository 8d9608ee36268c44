"""The interface of all engines, and the hypotheses that they return."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from btr.candidates.decoding import DecodingSettings

Tokens = list[int]


class Hypothesis(NamedTuple):
    """A candidate as tokens, and its log-probability (the sum over its tokens) if the engine computed it."""

    tokens: Tokens
    log_prob: float | None = None


class Engine(ABC):
    """A seq2seq model that writes candidates and computes their log-probabilities. Texts are token ids here."""

    signature: str
    tokenizer: Any
    ends: Sequence[int]  # tokens that end a text
    stops_early: bool = False  # whether beam search always stops once `size` candidates are complete
    limit: int | None = None  # tokens that the model can read or write; None if there is no such limit
    device: str | None = None  # the device that was asked for; None if it is the default

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text, with the token that ends it."""
        return [self.tokenizer(text)["input_ids"] for text in texts]

    def decode(self, tokens: Sequence[Tokens]) -> list[str]:
        """Return the text of each sequence of tokens."""
        texts: list[str] = self.tokenizer.batch_decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return texts

    def is_complete(self, tokens: Tokens) -> bool:
        """Return whether the model itself ended the text."""
        return bool(tokens) and tokens[-1] in self.ends

    def decoding_signature(self, settings: DecodingSettings) -> str:
        """Return what the candidates depend on, beside the model."""
        return settings.signature()

    @abstractmethod
    def generate(self, sources: Sequence[Tokens], settings: DecodingSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each source of a batch, best first."""

    @abstractmethod
    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        """Return the log-probability of each target given its source, teacher-forced: the sum over all its tokens."""


def derive_seed(seed: int, sources: Sequence[Tokens]) -> int:
    """Return a seed that depends on the batch's sources, and not on the batches before it."""
    return int.from_bytes(hashlib.sha256(repr((seed, sources)).encode()).digest()[:6])
