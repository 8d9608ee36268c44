"""What training minimises, as sums over tokens or sources: the loop divides them by the numbers of a whole update."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import torch
from torch import Tensor

TYPICAL = 0.45  # F0.5 of a base model
LEAST = 1e-12  # of 1 - p


def likelihood(log_probs: Tensor) -> Tensor:
    """-log p of each token: it should be likely."""
    return -log_probs


def unlikelihood(log_probs: Tensor) -> Tensor:
    """-log(1 - p) of each token: it should be unlikely. Computed in float32, 1 - p at least 1e-12."""
    return -(1 - log_probs.float().exp()).clamp(LEAST, 1).log()


def listwise(log_probs: Tensor, rows: Tensor, sources: Tensor, shares: Tensor, before: Tensor) -> Tensor:
    """-log f of each source's rows, in the shares wanted; f is a softmax of the sums over each row's tokens.

    `rows` is the row of each token, `sources` the source of each row, and `shares` add up to 1 for each source: all of
    it is gold's, or each row's according to its use. What each row has `before` is added to its sum.
    """
    sums = before.float().index_add(0, rows, log_probs.float())
    highest = torch.full((int(sources.max()) + 1,), -torch.inf, device=sums.device)
    highest = highest.scatter_reduce(0, sources, sums.detach(), "amax")
    powers = torch.zeros_like(highest).index_add(0, sources, (sums - highest[sources]).exp())
    return powers.log() + highest - torch.zeros_like(highest).index_add(0, sources, shares * sums)


def use(source: Sequence[int], gold: Sequence[int], candidate: Sequence[int]) -> float:
    """What a candidate adds to F0.5: by how much it rises with each edit that gold has, and falls with each other one.

    F0.5 = 1.25 c / (p + 0.25 g) with c correct of p proposed and g gold edits. From a value F of it, another proposed
    edit moves it in proportion to 1.25 - F if it is correct, and to -F if it is not.
    """
    wanted, made = edits(source, gold), edits(source, candidate)
    correct = len(wanted & made)
    return (1.25 - TYPICAL) * correct - TYPICAL * (len(made) - correct)


def edits(source: Sequence[int], target: Sequence[int]) -> set[tuple[int, int, tuple[int, ...]]]:
    """What makes the target of the source: tokens from, to, and those that take their place."""
    matched = SequenceMatcher(None, source, target, autojunk=False).get_opcodes()
    return {(i, j, tuple(target[k:m])) for tag, i, j, k, m in matched if tag != "equal"}
