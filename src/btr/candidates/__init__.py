"""N-best lists: the paper's decoding methods, with `transformers` or CTranslate2."""
