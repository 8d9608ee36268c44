"""Correction of raw text: what a model says of tokens, brought back to the user's own characters."""
