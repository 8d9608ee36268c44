"""Batches of similar lengths: padding costs as much time as tokens do."""

from collections.abc import Iterator, Sequence

INT8 = "rows"  # the name of our int8 arithmetic in signatures: one scale per row, and batches of one length


def make_batches(
    lengths: Sequence[int], budget: int, max_items: int = 1 << 30, *, same_length: bool = False
) -> Iterator[list[int]]:
    """Batch items of similar length: at most `budget` tokens once padded to the longest, and `max_items` items.

    With `same_length`, all items of a batch have one length: padding changes the last bits of attention's sums, and
    rounding to int8 magnifies them.
    """
    batch: list[int] = []
    for item in sorted(range(len(lengths)), key=lengths.__getitem__):
        is_other = same_length and batch and lengths[item] != lengths[batch[-1]]
        if batch and (is_other or (len(batch) + 1) * lengths[item] > budget or len(batch) == max_items):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
