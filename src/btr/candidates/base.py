"""What all engines share: the settings of a search, and what an engine does."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from btr.errors import InputError

METHODS = "beam", "diverse", "top-k", "nucleus"
MAX_LENGTH = 200  # tokens of a candidate, as in the paper's predictions; its training data had 128

Tokens = list[int]


@dataclass(frozen=True, slots=True)
class Search:
    """How candidates are looked for; the numbers are the paper's (section 3.2)."""

    method: str = "beam"
    size: int = 5  # candidates, and beams
    max_length: int = MAX_LENGTH
    groups: int = 5  # of diverse beam search
    penalty: float = 0.4  # of a token that an earlier group has chosen
    top_k: int = 50
    top_p: float = 0.95
    seed: int = 0
    early_stopping: bool = False  # stop once `size` candidates are complete, though a better one might follow
    length_penalty: float = 1.0  # candidates are ranked by log-probability over length to this power; 0: by itself

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}.")
        for name in ("size", "max_length", "groups", "top_k"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p:g}.")
        if self.penalty < 0:
            raise InputError(f"the penalty can't be negative, but is {self.penalty:g}.")
        if self.method == "diverse" and self.size % self.groups:
            raise InputError(f"{self.size} candidates can't be shared out evenly to {self.groups} groups.")

    def signature(self) -> str:
        """What the candidates depend on, beside the model."""
        own: dict[str, str] = {
            "beam": "",
            "diverse": f"|groups:{self.groups}|penalty:{self.penalty:g}",
            "top-k": f"|k:{self.top_k}|seed:{self.seed}",
            "nucleus": f"|p:{self.top_p:g}|seed:{self.seed}",
        }
        if self.method in ("beam", "diverse") and self.length_penalty != 1:
            own[self.method] += f"|length-penalty:{self.length_penalty:g}"
        stop = "|early-stopping" if self.early_stopping and self.method in ("beam", "diverse") else ""
        return f"{self.method}|size:{self.size}|max-length:{self.max_length}{own[self.method]}{stop}"


class Found(NamedTuple):
    """A candidate as an engine finds it, and its log-probability (the sum over its tokens) if that is known."""

    tokens: Tokens
    log_prob: float | None = None


class Engine(ABC):
    """A seq2seq model that writes candidates, and says how likely they are. Both work on tokens' numbers."""

    signature: str
    tokenizer: Any
    ends: Sequence[int]  # tokens that end a text
    limit: int | None = None  # tokens that the model can read or write; None if there is no such limit

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """Texts as the model reads and writes them, with their end."""
        return [self.tokenizer(text)["input_ids"] for text in texts]

    def write(self, tokens: Sequence[Tokens]) -> list[str]:
        """Tokens as text."""
        texts: list[str] = self.tokenizer.batch_decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return texts

    def is_complete(self, tokens: Tokens) -> bool:
        """Whether the model has ended the text itself."""
        return bool(tokens) and tokens[-1] in self.ends

    @abstractmethod
    def search(self, sources: Sequence[Tokens], search: Search) -> list[list[Found]]:
        """The candidates of each source of a batch, best first."""

    @abstractmethod
    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        """The log-probability of each target given its source, teacher-forced: the sum over all its tokens."""
