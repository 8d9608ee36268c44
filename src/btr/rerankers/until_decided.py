"""Score only until the decision is certain.

Log-probabilities are never positive, so a partial sum bounds a candidate's score from above. A candidate whose bound
lies below another's exact score can't win, and once all unknown candidates together can't move the margin across the
threshold, nothing more needs to be computed. The decision is the one that full scores give.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from btr.corpus.candidates import Candidates
from btr.errors import InputError
from btr.rerankers.base import Decision, Rule
from btr.rerankers.pll import MaskedReranker, Plan, mean

Values = dict[int, list[float]]  # row → log-probabilities of the tokens asked for in it


@dataclass(frozen=True, slots=True)
class Certain:
    """A decision, and how many of the rows that full scores need were computed."""

    choice: int
    decision: Decision
    computed: int
    rows: int


def rerank_until_decided(
    reranker: MaskedReranker, rows: Sequence[Candidates], rule: Rule | None = None
) -> list[Certain]:
    """Decide for many sources, in rounds: each asks for the rows that the open decisions need next.

    The scores must be PLL's, and exact.
    """
    if reranker.kind == "contrast":
        raise InputError("contrast looks at few tokens as it is; scoring until the decision is certain is for others.")
    if "int8" in reranker.signature:
        raise InputError("scoring until the decision is certain needs exact scores; load the model without int8.")
    results: list[Certain] = []
    for group, plan in reranker.plans([row.source for row in rows]):
        open_ = [Source(reranker, plan, k, rows[number], rule or Rule()) for k, number in enumerate(group)]
        values: Values = {}
        while asked := sorted({row for source in open_ for row in source.next_rows(values)} - values.keys()):
            values.update(reranker.run(plan, asked))
        results += [source.result(values) for source in open_]
    return results


class Source:
    """One source's candidates, and what is known of them so far."""

    def __init__(self, reranker: MaskedReranker, plan: Plan, number: int, row: Candidates, rule: Rule) -> None:
        self.rule = rule
        self.taking = rule.takes_part(row.source, row.texts)
        planned = reranker.plan(plan, number, Candidates(row.source, tuple(row.texts[k] for k in self.taking)))
        self.too_long = any(own is None for own in planned.values())
        self.slots = [own or [] for own in planned.values()]
        self.tokens = [[plan.wanted[row][k] for row, k in own] for own in self.slots]
        self.started = False
        self._aligned: dict[int, dict[int, int]] = {}

    def next_rows(self, values: Values) -> list[int]:
        """The rows to compute next; none if the decision is certain."""
        if self.too_long or len(self.taking) < 2:
            return []
        if not self.started:  # the first candidate, and where the others differ from it
            self.started = True
            return [row for row, _ in self.slots[0]] + [
                row for k in range(1, len(self.slots)) for row in self.telling(k)
            ]
        bounds, exact = self.bounds(values)
        best = max((k for k, known in enumerate(exact) if known), key=bounds.__getitem__)
        rivals = [k for k, bound in enumerate(bounds) if not exact[k] and (bound, -k) > (bounds[best], -best)]
        if not rivals and self.taking[best] != 0 and not self.settled(bounds, exact, best):
            rivals = [k for k, known in enumerate(exact) if not known]
        return [row for k in rivals for row in self.following(k, values)]

    def telling(self, k: int) -> list[int]:
        """The rows of a candidate's tokens that the first candidate does not have in that place."""
        shared = self.aligned(k)
        rows = [row for number, (row, _) in enumerate(self.slots[k]) if number not in shared]
        return rows or [row for row, _ in self.slots[k][:1]]

    def following(self, k: int, values: Values) -> list[int]:
        """A quarter of a candidate's rows, of those that are missing: where the first candidate was least sure."""
        shared = self.aligned(k)
        missing = [number for number, (row, _) in enumerate(self.slots[k]) if row not in values]
        missing.sort(key=lambda number: self.value(0, shared[number], values) if number in shared else -math.inf)
        return [self.slots[k][number][0] for number in missing[: 1 + len(self.slots[k]) // 4]]

    def aligned(self, k: int) -> dict[int, int]:
        """Tokens that a candidate shares with the first one: number in this → number in the first."""
        if k not in self._aligned:
            blocks = SequenceMatcher(a=self.tokens[0], b=self.tokens[k], autojunk=False).get_matching_blocks()
            self._aligned[k] = {block.b + step: block.a + step for block in blocks for step in range(block.size)}
        return self._aligned[k]

    def value(self, k: int, number: int, values: Values) -> float:
        row, place = self.slots[k][number]
        return values[row][place]

    def bounds(self, values: Values) -> tuple[list[float], list[bool]]:
        """Each candidate's mean if all that is unknown were certain (0), and whether nothing is unknown."""
        bounds, exact = [], []
        for slots in self.slots:
            known = [values[row][k] for row, k in slots if row in values]
            bounds.append(mean([*known, *[0.0] * (len(slots) - len(known))]))
            exact.append(len(known) == len(slots))
        return bounds, exact

    def settled(self, bounds: Sequence[float], exact: Sequence[bool], best: int) -> bool:
        """Whether the margin is on one side of the threshold, whatever the unknown scores are."""
        high = [math.exp(bound) for bound in bounds]
        low = [power if known else 0.0 for power, known in zip(high, exact)]
        gain = high[best] - (high[0] if self.taking[0] == 0 else 0.0)  # both are known
        return self.rule.accepts(gain / sum(high)) == self.rule.accepts(gain / sum(low))

    def result(self, values: Values) -> Certain:
        """The decision, once it is certain."""
        every = {row for slots in self.slots for row, _ in slots}
        computed = len(every & values.keys())
        if self.too_long or not self.taking:
            return Certain(0, Decision.EQUAL, computed, len(every))
        bounds = [0.0] if len(self.taking) == 1 else self.bounds(values)[0]
        best = bounds.index(max(bounds))
        high = [math.exp(bound) for bound in bounds]
        gain = high[best] - (high[0] if self.taking[0] == 0 else 0.0)
        reranked = self.rule.judge(self.taking[best], gain / sum(high))
        return Certain(reranked.choice, reranked.decision, computed, len(every))
