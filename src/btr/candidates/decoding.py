"""Decoding methods and their settings. Defaults are the paper's (section 3.2).

Another distribution adds a method by an entry point of the group `btr.decoding` that names a `DecodingMethod`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from btr.errors import InputError
from btr.registry import Registry

if TYPE_CHECKING:
    from btr.candidates.engine import Hypothesis, Tokens
    from btr.candidates.transformers_engine import TransformersEngine

MAX_LENGTH = 200  # tokens per candidate, as in the paper's predictions; its training data had 128


class DecodingMethod(ABC):
    """A way to decode candidates with the engine `transformers`."""

    def check(self, settings: "DecodingSettings") -> None:  # noqa: B027 (most methods need no check)
        """Refuse settings that make no sense together for this method."""

    @abstractmethod
    def signature(self, settings: "DecodingSettings") -> str:
        """Return the settings that only this method reads, each as "|name:value"."""

    @abstractmethod
    def generate(
        self, engine: "TransformersEngine", sources: Sequence["Tokens"], settings: "DecodingSettings"
    ) -> "list[list[Hypothesis]]":
        """Return the hypotheses of each source of a batch, best first, or in the order in which they were drawn."""


DECODING: Registry[type[DecodingMethod]] = Registry(
    "btr.decoding",
    {
        "beam": "btr.candidates.methods:BeamSearch",
        "diverse": "btr.candidates.methods:DiverseBeamSearch",
        "top-k": "btr.candidates.methods:TopKSampling",
        "nucleus": "btr.candidates.methods:NucleusSampling",
    },
)


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """How candidates are decoded."""

    method: str = "beam"
    size: int = 5  # candidates per source, and beams
    max_length: int = MAX_LENGTH
    groups: int = 5  # of diverse beam search
    penalty: float = 0.4  # diverse beam search: for each beam of an earlier group that has just chosen the token
    top_k: int = 50
    top_p: float = 0.95
    seed: int = 0  # of sampling
    early_stopping: bool = False  # stop once `size` candidates are complete, though a better one might follow
    length_penalty: float = 1.0  # beams are ranked by log-probability / length ** length_penalty

    def __post_init__(self) -> None:
        if self.method not in DECODING:
            raise InputError(f"method must be one of {', '.join(DECODING.names())}, not {self.method!r}.")
        for name in ("size", "max_length", "groups", "top_k"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}.")
        for name in ("penalty", "length_penalty"):
            if not math.isfinite(getattr(self, name)):
                raise InputError(f"{name} must be a finite number, not {getattr(self, name)}.")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p:g}.")
        if self.penalty < 0:
            raise InputError(f"the penalty can't be negative, but is {self.penalty:g}.")
        DECODING[self.method]().check(self)

    def signature(self) -> str:
        """Return what the candidates depend on, beside the model."""
        return f"{self.method}|size:{self.size}|max-length:{self.max_length}{DECODING[self.method]().signature(self)}"
