"""Batches of similar lengths: padding costs as much as words do."""

from collections.abc import Iterator, Sequence

INT8 = "rows"  # what signatures say of how int8 is computed: a scale for each row, and batches by length


def pack(lengths: Sequence[int], budget: int, most: int = 1 << 30, *, by_length: bool = False) -> Iterator[list[int]]:
    """Batches of items of similar length: padded to the longest, no more tokens than the budget, and `most` items.

    With `by_length`, of one length: padding changes the last bits of attention's sums, and int8 makes much of them.
    """
    batch: list[int] = []
    for item in sorted(range(len(lengths)), key=lengths.__getitem__):
        other = by_length and batch and lengths[item] != lengths[batch[-1]]
        if batch and (other or (len(batch) + 1) * lengths[item] > budget or len(batch) == most):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
