"""Grammatical error correction: rerank candidates with a bidirectional Transformer, and score them exactly."""
