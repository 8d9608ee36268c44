"""Correction of raw text: what a model says of tokens, brought back to the user's own characters."""

NONE = "none"
MODEL, RERANKER = "t5gec-small", ("contrast:btr-small", "base")  # what is shipped
