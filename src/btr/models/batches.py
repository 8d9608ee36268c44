"""Batches of similar lengths: padding costs as much as words do."""

from collections.abc import Iterator, Sequence


def pack(lengths: Sequence[int], budget: int, most: int = 1 << 30) -> Iterator[list[int]]:
    """Batches of items of similar length: padded to the longest, no more tokens than the budget, and `most` items."""
    batch: list[int] = []
    for item in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and ((len(batch) + 1) * lengths[item] > budget or len(batch) == most):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
