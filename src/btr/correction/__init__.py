"""Correction of raw text: what a model says of tokens, brought back to the user's own characters."""

from collections.abc import Sequence

NONE = "none"
MODEL, RERANKER = "t5gec-small", ("contrast:btr-small", "base")  # what is shipped


def as_list(reranker: str | Sequence[str]) -> list[str]:
    """Rerankers by name, one or several."""
    return [reranker] if isinstance(reranker, str) else list(reranker)
