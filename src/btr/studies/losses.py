"""Cross-entropy by position of the token (the paper's figure 3)."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Protocol, cast

from btr.corpus.candidates import Candidates
from btr.metrics.gold import Gold
from btr.rerankers import load_reranker, parse_name
from btr.studies.records import Losses

LENGTHS = range(18, 21)  # of the targets that count, in tokens with EOS


class TokenScorer(Protocol):
    """A reranker whose model gives every token of a candidate a probability."""

    tokenizer: Any
    token_signature: str

    def token_log_probs(self, rows: Sequence[Candidates]) -> list[list[list[float]]]:
        """Return the log-probability of each token of each candidate."""


def scores_tokens(name: str) -> bool:
    """Return whether a kind of reranker gives every token a probability."""
    return hasattr(parse_name(name)[0], "token_log_probs")


def measure_losses(name: str, gold: Gold) -> Losses:
    """Return the mean loss at each position over targets of 18 to 20 tokens; targets are the first references."""
    reranker = cast(TokenScorer, load_reranker(name))
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
    return Losses(curve, len(measured), reranker.token_signature)
