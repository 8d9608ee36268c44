"""A masked model asked only where candidates differ: the paper's PLL of the tokens that not all of them have.

Most tokens are common to all candidates of a source, and hardly tell them apart. Here only the others are masked, one
at a time; the score is the sum of their log-probabilities: an estimate of how much more probable than another a whole
candidate is. Where by these another than the first is best, the tokens beside them are asked about, too (a verb tells
whether the noun before it is right), and their log-probabilities added. It takes a small part of the time.
"""

import math
from collections.abc import Sequence

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.rerankers.btr import BTR
from btr.rerankers.differences import NEAR, telling_places
from btr.rerankers.encoders import RoBERTa
from btr.rerankers.pll import Encoded, MaskedReranker, Plan, Slots, gather


class Contrasting(MaskedReranker):
    """The sum of the log-probabilities of the tokens in which a candidate differs from any other.

    Where the first candidate is not the best by that, those of some tokens beside them are added.
    """

    kind = "contrast"
    first, second = 0, NEAR  # tokens on each side of a difference that each look asks about

    def sign(self, model: str) -> str:
        return f"{super().sign(model)}|near:{self.first},{self.second}"

    def score_planned(self, plan: Plan, rows: Sequence[Candidates]) -> list[Scored]:
        encoded = [self.encode(plan, number, row) for number, row in enumerate(rows)]
        slots = [self.ask(plan, number, own, self.first) for number, own in enumerate(encoded)]
        values = self.run(plan, range(len(plan.rows)))
        scored = [gather(row, own, values, math.fsum) for row, own in zip(rows, slots)]
        moved = [number for number, own in enumerate(scored) if is_moved(own)]
        for number in moved:
            slots[number] = self.ask(plan, number, encoded[number], self.second)
        # A row that is there may be asked for another token now, where candidates repeat theirs.
        missing = [k for k, wanted in enumerate(plan.wanted) if len(wanted) > len(values.get(k, ()))]
        values |= self.run(plan, missing)
        for number in moved:
            scored[number] = gather(rows[number], slots[number], values, math.fsum)
        return scored

    def ask(self, plan: Plan, number: int, encoded: dict[str, Encoded | None], near: int) -> Slots:
        """Plan the rows of a source's candidates: of tokens in which they differ, and so many on each side."""
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
    first, *others = scored.means
    return first is not None and any(score is not None and score > first for score in others)
