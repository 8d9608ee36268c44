"""What training minimises, as sums over tokens or sources: the loop divides them by the numbers of a whole update."""

import torch
from torch import Tensor

LEAST = 1e-12  # of 1 - p


def likelihood(log_probs: Tensor) -> Tensor:
    """-log p of each token: it should be likely."""
    return -log_probs


def unlikelihood(log_probs: Tensor) -> Tensor:
    """-log(1 - p) of each token: it should be unlikely. Computed in float32, 1 - p at least 1e-12."""
    return -(1 - log_probs.float().exp()).clamp(LEAST, 1).log()


def listwise(log_probs: Tensor, rows: Tensor, sources: Tensor, gold: Tensor) -> Tensor:
    """-log f(gold) of each source: a softmax over its rows of the mean log-probability of each row's tokens.

    `rows` is the row of each token, `sources` the source of each row, and `gold` says which rows are gold: one for each
    source, in order.
    """
    means = torch.zeros(len(sources), device=log_probs.device, dtype=torch.float32)
    means = means.index_add(0, rows, log_probs.float()) / torch.bincount(rows, minlength=len(sources)).clamp(min=1)
    highest = torch.full((int(sources.max()) + 1,), -torch.inf, device=means.device)
    highest = highest.scatter_reduce(0, sources, means.detach(), "amax")
    powers = torch.zeros_like(highest).index_add(0, sources, (means - highest[sources]).exp())
    return powers.log() + highest - means[gold]
