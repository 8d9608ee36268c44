"""Where candidates differ, token by token."""

from collections.abc import Sequence
from difflib import SequenceMatcher

NEAR = 2  # tokens on each side of a difference that `contrast` asks about when it looks a second time

Tokens = Sequence[int]


def telling_places(candidates: Sequence[Tokens], near: int) -> list[list[int]]:
    """For each candidate, the tokens in which it differs from any of the others, and those near them."""
    return [
        sorted({k for place in own for k in range(place - near, place + near + 1) if 0 <= k < len(candidate)})
        for candidate, own in zip(candidates, differing_places(candidates))
    ]


def differing_places(candidates: Sequence[Tokens]) -> list[list[int]]:
    """For each candidate, the tokens in which it differs from any of the others."""
    places: list[set[int]] = [set() for _ in candidates]
    for k, candidate in enumerate(candidates):
        for n in range(k + 1, len(candidates)):
            own, its = differing(candidate, candidates[n])
            places[k].update(own)
            places[n].update(its)
    return [sorted(own) for own in places]


def differing(one: Tokens, other: Tokens) -> tuple[set[int], set[int]]:
    """The tokens of two candidates that the other does not have; where one only lacks some, those beside the gap."""
    places: tuple[set[int], set[int]] = set(), set()
    for tag, start, end, begin, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for own, low, high, length in ((places[0], start, end, len(one)), (places[1], begin, stop, len(other))):
            own.update(range(low, high) if low < high else (k for k in (low - 1, low) if 0 <= k < length))
    return places
