"""Which examples make a batch, and which batches an update: the same for every process.

Tokens are counted in one of two ways (`batch_by` in a recipe):

- `both_sides`: the tokens of the source and of all its targets. Padding counts in a batch, but not in an update.
- `longer_side`, as fairseq's `--max-tokens`: a pair of a source and a target counts as its longer side, and a batch as
  its number of pairs times the longest of them. An update has a fixed number of batches, as with `--update-freq`. A
  source with n targets is n pairs; an encoder's row, with both texts in it, is one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

POOL = 50  # batches whose examples are sorted by shape among themselves
SHAPE = "rows", "longest", "length"  # of an example: its targets, the longest of them, and its source
ORDER, MASKS, DROPOUT = 1, 2, 3  # purposes of random numbers

Batches = list[list[int]]  # the batches of an update, by the examples' numbers
BatchBy = Literal["both_sides", "longer_side"]


def generator(*numbers: int) -> np.random.Generator:
    """Return random numbers that belong to a purpose, a seed and what they are drawn for."""
    return np.random.default_rng(numbers)


def plan_epoch(
    sizes: NDArray[Any],
    shapes: NDArray[Any],
    seed: int,
    epoch: int,
    micro_tokens: int,
    batch_tokens: int,
    batch_by: BatchBy = "both_sides",
) -> list[Batches]:
    """Return an epoch's updates: all examples in random order, batched with others of similar shape.

    Depends on the arguments only, and not on how many processes share the batches of an update.
    """
    random = generator(ORDER, seed, epoch)
    order = random.permutation(len(sizes))
    by_pairs = batch_by == "longer_side"
    counts = shapes[:, 0] * longer_sides(shapes) if by_pairs else sizes
    pool = max(1, POOL * micro_tokens // max(1, int(counts.mean())))
    pack = pack_pairs if by_pairs else pack_shapes
    batches = [
        [int(order[start + k]) for k in batch]
        for start in range(0, len(order), pool)
        for batch in pack(shapes[order[start : start + pool]], micro_tokens)
    ]
    batches = [batches[k] for k in random.permutation(len(batches))]
    if by_pairs:
        number = max(1, batch_tokens // micro_tokens)
        return [batches[start : start + number] for start in range(0, len(batches), number)]
    return group_updates(batches, sizes, batch_tokens)


def pack_shapes(shapes: NDArray[Any], budget: int) -> Iterator[list[int]]:
    """Make batches of similar examples whose tokens, padding included, are no more than the budget."""
    batch: list[int] = []
    largest = np.zeros(len(SHAPE), int)
    for k in np.lexsort((shapes[:, 2], shapes[:, 1], shapes[:, 0])):
        rows, longest, length = np.maximum(largest, shapes[k])
        if batch and (len(batch) + 1) * (length + rows * longest) > budget:
            yield batch
            batch, largest = [], np.zeros(len(SHAPE), int)
        batch.append(int(k))
        largest = np.maximum(largest, shapes[k])
    if batch:
        yield batch


def longer_sides(shapes: NDArray[Any]) -> NDArray[Any]:
    """Return the longer side of each example: its source, or the longest of its targets."""
    return np.maximum(shapes[:, 1], shapes[:, 2])


def pack_pairs(shapes: NDArray[Any], budget: int) -> Iterator[list[int]]:
    """Make batches of similar examples whose pairs, times the longest side among them, are no more than the budget."""
    batch: list[int] = []
    pairs = longest = 0
    sides = longer_sides(shapes)
    for k in np.lexsort((shapes[:, 0], sides)):
        rows, side = int(shapes[k, 0]), int(sides[k])
        if batch and (pairs + rows) * max(longest, side) > budget:
            yield batch
            batch, pairs, longest = [], 0, 0
        batch.append(int(k))
        pairs, longest = pairs + rows, max(longest, side)
    if batch:
        yield batch


def group_updates(
    batches: Iterable[list[int]], sizes: Sequence[int] | NDArray[Any], batch_tokens: int
) -> list[Batches]:
    """Group batches, one after another, into updates whose tokens come nearest to `batch_tokens`."""
    updates: list[Batches] = [[]]
    total = 0
    for batch in batches:
        tokens = sum(int(sizes[k]) for k in batch)
        if updates[-1] and total + tokens / 2 > batch_tokens:
            updates.append([])
            total = 0
        updates[-1].append(batch)
        total += tokens
    return updates
