"""What training minimises, as sums over tokens or sources; the loop divides them by the counts of a whole update."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import torch
from torch import Tensor

TYPICAL_F = 0.45  # F0.5 of a base model
MIN_COMPLEMENT = 1e-12  # smallest value of 1 - p whose logarithm is taken


def likelihood(log_probs: Tensor) -> Tensor:
    """Return -log p of each token, which should be likely."""
    return -log_probs


def unlikelihood(log_probs: Tensor) -> Tensor:
    """Return -log(1 - p) of each token, which should be unlikely. Computed in float32, with 1 - p at least 1e-12."""
    return -(1 - log_probs.float().exp()).clamp(MIN_COMPLEMENT, 1).log()


def likelihood_and_unlikelihood(log_probs: Tensor, is_negative: Tensor | None) -> Tensor:
    """Return the paper's loss of each token (equation 7): gold's should be likely, those of negatives unlikely."""
    if is_negative is None:
        return likelihood(log_probs)
    return torch.where(is_negative, unlikelihood(log_probs), likelihood(log_probs))


def listwise(log_probs: Tensor, rows: Tensor, sources: Tensor, shares: Tensor, offsets: Tensor) -> Tensor:
    """Return the cross-entropy of each source: f(y|x) of its candidates against the shares they should have.

    f is a softmax over the sums of each candidate's token log-probabilities, with the candidate's offset added.
    `rows` is the candidate of each token and `sources` the source of each candidate; `shares` add up to 1 per source.
    """
    sums = offsets.float().index_add(0, rows, log_probs.float())
    highest = torch.full((int(sources.max()) + 1,), -torch.inf, device=sums.device)
    highest = highest.scatter_reduce(0, sources, sums.detach(), "amax")
    powers = torch.zeros_like(highest).index_add(0, sources, (sums - highest[sources]).exp())
    return powers.log() + highest - torch.zeros_like(highest).index_add(0, sources, shares * sums)


def gain(source: Sequence[int], gold: Sequence[int], candidate: Sequence[int]) -> float:
    """Return by how much a candidate raises F0.5: each correct edit raises it, and each other edit lowers it.

    F0.5 = 1.25 c / (p + 0.25 g) with c correct of p proposed and g gold edits. From a value F of it, another proposed
    edit moves it in proportion to 1.25 - F if it is correct, and to -F if it is not.
    """
    correct, proposed = edits(source, gold), edits(source, candidate)
    hits = len(correct & proposed)
    return (1.25 - TYPICAL_F) * hits - TYPICAL_F * (len(proposed) - hits)


def edits(source: Sequence[int], target: Sequence[int]) -> set[tuple[int, int, tuple[int, ...]]]:
    """Return the edits that turn the source into the target: start, end, and the new tokens."""
    matched = SequenceMatcher(None, source, target, autojunk=False).get_opcodes()
    return {(i, j, tuple(target[k:m])) for tag, i, j, k, m in matched if tag != "equal"}
