"""Correction of raw text: what models say of tokens, brought back to the user's own characters."""

DEFAULT_MODEL = "t5gec-small"  # the shipped base model
DEFAULT_RERANKERS = ("contrast:btr-small", "base")  # what is shipped to rerank its candidates
NO_RERANKER = "none"
