"""Where candidates differ, token by token."""

from collections.abc import Sequence
from difflib import SequenceMatcher

NEIGHBOURS = 2  # tokens on each side of a difference that `contrast` scores too when it looks a second time

Tokens = Sequence[int]


def informative_tokens(candidates: Sequence[Tokens], neighbours: int) -> list[list[int]]:
    """Return for each candidate the indices of tokens that differ from any other candidate, and of their neighbours."""
    return [
        sorted({k for index in indices for k in range(index - neighbours, index + neighbours + 1) if 0 <= k < size})
        for size, indices in zip(map(len, candidates), differing_tokens(candidates))
    ]


def differing_tokens(candidates: Sequence[Tokens]) -> list[list[int]]:
    """Return for each candidate the indices of the tokens in which it differs from any other."""
    indices: list[set[int]] = [set() for _ in candidates]
    for k, candidate in enumerate(candidates):
        for n in range(k + 1, len(candidates)):
            first, second = differing_between(candidate, candidates[n])
            indices[k].update(first)
            indices[n].update(second)
    return [sorted(each) for each in indices]


def differing_between(one: Tokens, other: Tokens) -> tuple[set[int], set[int]]:
    """Return the indices of tokens of two candidates that the other lacks; for a pure gap, those beside it."""
    indices: tuple[set[int], set[int]] = set(), set()
    for operation, start, end, other_start, other_end in SequenceMatcher(None, one, other, False).get_opcodes():
        if operation == "equal":
            continue
        sides = (start, end, len(one)), (other_start, other_end, len(other))
        for side, (low, high, length) in zip(indices, sides):
            side.update(range(low, high) if low < high else (k for k in (low - 1, low) if 0 <= k < length))
    return indices
