"""Cross-entropy by position of the token (the paper's figure 3)."""

import math
from itertools import zip_longest
from typing import Any

from btr.corpus.candidates import Candidates
from btr.metrics.gold import Gold
from btr.rerankers.score import load_reranker
from btr.studies.records import Losses

LENGTHS = range(18, 21)  # of the targets that count, in tokens with EOS
BY_POSITION = "btr", "contrast", "l2r", "r2l", "roberta"  # kinds whose models give every token a probability


def measure_losses(kind: str, model: str, gold: Gold) -> Losses:
    """Return the mean loss at each position over targets of 18 to 20 tokens; targets are the first references."""
    if kind == "contrast":  # the same model as a masked one, which gives every token a probability
        from btr.models.load import is_t5

        kind = "btr" if is_t5(model) else "roberta"
    reranker: Any = load_reranker(f"{kind}:{model}")
    targets = [references[0] for references in gold.references]
    ids = reranker.tokenizer(targets, add_special_tokens=False)["input_ids"]
    rows = [
        Candidates(gold.metric.source(index), (target,))
        for index, (target, tokens) in enumerate(zip(targets, ids))
        if len(tokens) + 1 in LENGTHS
    ]
    measured = [values for (values,) in reranker.token_log_probs(rows) if values]
    by_position = [[-value for value in values if value is not None] for values in zip_longest(*measured)]
    curve = [math.fsum(values) / len(values) for values in by_position]
    return Losses(curve, len(measured), reranker.signature)
