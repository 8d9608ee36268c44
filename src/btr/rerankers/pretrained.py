"""Rerankers that have a model: how it is loaded, and what they share."""

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from btr.rerankers.base import Reranker

if TYPE_CHECKING:
    from btr.models.loaded import LoadedModel

BUDGET = 4096  # tokens per batch
MAX_TOKENS = 512  # of a candidate; a longer one is not scored
MAX_SOURCE_TOKENS = 1024  # candidates of a longer source are not scored


class PretrainedReranker(Reranker):
    """A reranker with a model of `transformers` and its tokenizer."""

    loads_as: ClassVar[str]  # the kind of model that `load` checks and loads

    def __init__(self, loaded: "LoadedModel", budget: int | None = None, model_name: str | None = None) -> None:
        self.model: Any = loaded.model
        self.tokenizer: Any = loaded.tokenizer
        depends = loaded.signature.partition("|")[2]
        self.signature = f"{self.kind}|{depends}"
        self.token_signature = f"{self.loads_as}|{depends}"  # of `token_log_probs`, which have no part in `contrast`
        self.budget = budget or BUDGET
        self.same_length = loaded.int8  # int8 sums depend on padding, so only rows of one length are batched
        self.model_name = model_name

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
        reranker = cls(cls.load(name, dtype=dtype, device=device, int8=int8), budget, name)
        reranker.loaded_by = partial(
            cls.from_pretrained, name, dtype=dtype, device=device, int8=int8, budget=budget
        )  # fmt: skip
        return reranker

    @classmethod
    def load(cls, name: str, *, dtype: str, device: str | None, int8: bool) -> "LoadedModel":
        """Load the model and its tokenizer."""
        from btr.models.load import load

        return load(cls.loads_as, name, dtype=dtype, device=device, int8=int8)


def encode_source(tokenizer: Any, source: str) -> list[int] | None:
    """Return a source's tokens; None if they are too many to read."""
    tokens: list[int] = tokenizer(source)["input_ids"]
    return tokens if len(tokens) <= MAX_SOURCE_TOKENS else None
