"""Candidates of sources: decoding methods, and engines that run a model with `transformers` or CTranslate2."""
