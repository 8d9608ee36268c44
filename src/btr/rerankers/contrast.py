"""A masked model asked only where candidates differ: the paper's PLL of the tokens that not all of them have.

Most tokens are common to all candidates of a source, and hardly tell them apart. Here only the others are masked, one
at a time; the score is the sum of their log-probabilities: an estimate of how much more probable than another a whole
candidate is. Where by these another than the first is best, the tokens beside them are asked about, too (a verb tells
whether the noun before it is right), and their log-probabilities added. It takes a small part of the time.
"""

import math
from collections.abc import Sequence
from difflib import SequenceMatcher

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.rerankers.btr import BTR
from btr.rerankers.encoders import RoBERTa
from btr.rerankers.pll import Encoded, MaskedReranker, Plan, Slots, gather

NEAR = 2  # tokens on each side of a difference that the second look asks about

Tokens = Sequence[int]


class Contrasting(MaskedReranker):
    """The sum of the log-probabilities of the tokens in which a candidate differs from any other, and near them."""

    kind = "contrast"

    def score_planned(self, plan: Plan, rows: Sequence[Candidates]) -> list[Scored]:
        first = [self.plan(plan, number, row) for number, row in enumerate(rows)]
        values = self.run(plan, range(len(plan.rows)))
        scored = [gather(row, slots, values, math.fsum) for row, slots in zip(rows, first)]
        begun = len(plan.rows)
        second = {
            number: self.plan(plan, number, rows[number], NEAR) for number, own in enumerate(scored) if is_moved(own)
        }
        values |= self.run(plan, range(begun, len(plan.rows)))
        for number, slots in second.items():
            scored[number] = gather(rows[number], slots, values, math.fsum)
        return scored

    def plan(self, plan: Plan, number: int, row: Candidates, near: int = 0) -> Slots:
        encoded = self.encode(plan, number, row)
        known = {text: own for text, own in encoded.items() if own}
        slots: Slots = dict.fromkeys(encoded)
        for (text, own), places in zip(known.items(), telling_places([own.ids for own in known.values()], near)):
            slots[text] = plan.add(number, Encoded(own.ids, tuple(pair for pair in own.places if pair[0] in places)))
        return slots


class Contrast(Contrasting, BTR):
    """Of a BTR."""


class ContrastEncoder(Contrasting, RoBERTa):
    """Of an encoder."""


def is_moved(scored: Scored) -> bool:
    """Whether another candidate than the first has the best score."""
    known = [score for score in scored.means if score is not None]
    return bool(known) and scored.means[0] is not None and max(known) > scored.means[0]


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
