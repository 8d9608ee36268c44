"""Correction of raw text: what models say of tokens, brought back to the user's own characters."""

DEFAULT_MODEL = "t5gec-small"  # the shipped base model
DEFAULT_PROFILE = "minimal"
NO_RERANKER = "none"
