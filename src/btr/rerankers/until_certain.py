"""Score candidates only until the decision is certain.

Log-probabilities are never positive, so a partial sum bounds a candidate's score from above. A candidate whose bound
lies below another's exact score can't win. Once all unknown candidates together can't move the margin across the
threshold, nothing more needs to be computed. The choice is the one that full scores give.
"""

import math
from collections.abc import Sequence
from difflib import SequenceMatcher

from btr.corpus.candidates import Candidates
from btr.decisions.decide import Choice, competing, conclude
from btr.decisions.settings import Settings
from btr.rerankers.pll import LogProbs, MaskedReranker, RowPlan, mean


def choose_until_certain(
    reranker: MaskedReranker, rows: Sequence[Candidates], settings: Settings
) -> tuple[list[Choice], int, int]:
    """Choose for many sources, in rounds: each computes the rows that the open decisions need next.

    Return the choices, the number of rows that were computed, and the number that full scores need.
    """
    choices: list[Choice] = []
    computed = needed = 0
    for group, plan in reranker.plans([row.source for row in rows]):
        decisions = [OpenDecision(reranker, plan, k, rows[number], settings) for k, number in enumerate(group)]
        log_probs: LogProbs = {}
        while wanted := sorted({row for each in decisions for row in each.next_rows(log_probs)} - log_probs.keys()):
            log_probs.update(reranker.compute(plan, wanted))
        choices += [each.choice(log_probs) for each in decisions]
        computed += len(log_probs)
        needed += len(plan.rows)
    return choices, computed, needed


class OpenDecision:
    """The candidates of one source, and what is known of them so far."""

    def __init__(
        self, reranker: MaskedReranker, plan: RowPlan, number: int, candidates: Candidates, settings: Settings
    ) -> None:
        self.candidates, self.settings = candidates, settings
        self.competing = competing(candidates, settings)
        planned = reranker.plan_rows(plan, number, candidates.select(self.competing))
        self.is_unscorable = any(cells is None for cells in planned.values())
        self.cells = [cells or [] for cells in planned.values()]
        self.tokens = [[plan.tokens[row][k] for row, k in cells] for cells in self.cells]
        self.has_started = False
        self._aligned: dict[int, dict[int, int]] = {}

    def next_rows(self, log_probs: LogProbs) -> list[int]:
        """Return the rows to compute next; none if the decision is certain."""
        if self.is_unscorable or len(self.competing) < 2:
            return []
        if not self.has_started:  # the first candidate, and where the others differ from it
            self.has_started = True
            return [row for row, _ in self.cells[0]] + [
                row for k in range(1, len(self.cells)) for row in self.differing_rows(k)
            ]
        bounds, is_exact = self.bounds(log_probs)
        best = max((k for k, exact in enumerate(is_exact) if exact), key=bounds.__getitem__)
        rivals = [k for k, bound in enumerate(bounds) if not is_exact[k] and (bound, -k) > (bounds[best], -best)]
        if not rivals and self.competing[best] != 0 and not self.is_settled(bounds, is_exact, best):
            rivals = [k for k, exact in enumerate(is_exact) if not exact]
        return [row for k in rivals for row in self.most_uncertain_rows(k, log_probs)]

    def differing_rows(self, k: int) -> list[int]:
        """Return the rows of a candidate's tokens that the first candidate does not share."""
        shared = self.aligned(k)
        rows = [row for number, (row, _) in enumerate(self.cells[k]) if number not in shared]
        return rows or [row for row, _ in self.cells[k][:1]]

    def most_uncertain_rows(self, k: int, log_probs: LogProbs) -> list[int]:
        """Return a quarter of a candidate's rows, of those that are missing: where the first was least sure."""
        shared = self.aligned(k)
        missing = [number for number, (row, _) in enumerate(self.cells[k]) if row not in log_probs]
        missing.sort(key=lambda number: self.value(0, shared[number], log_probs) if number in shared else -math.inf)
        return [self.cells[k][number][0] for number in missing[: 1 + len(self.cells[k]) // 4]]

    def aligned(self, k: int) -> dict[int, int]:
        """Return the tokens that a candidate shares with the first one: its index → the first one's index."""
        if k not in self._aligned:
            blocks = SequenceMatcher(a=self.tokens[0], b=self.tokens[k], autojunk=False).get_matching_blocks()
            self._aligned[k] = {block.b + step: block.a + step for block in blocks for step in range(block.size)}
        return self._aligned[k]

    def value(self, k: int, number: int, log_probs: LogProbs) -> float:
        """Return the log-probability of a token of a candidate."""
        row, index = self.cells[k][number]
        return log_probs[row][index]

    def bounds(self, log_probs: LogProbs) -> tuple[list[float], list[bool]]:
        """Return each candidate's score if all unknown tokens were certain, and whether none is unknown."""
        bounds, is_exact = [], []
        for cells in self.cells:
            known = [log_probs[row][k] for row, k in cells if row in log_probs]
            bounds.append(mean([*known, *[0.0] * (len(cells) - len(known))]))
            is_exact.append(len(known) == len(cells))
        return bounds, is_exact

    def is_settled(self, bounds: Sequence[float], is_exact: Sequence[bool], best: int) -> bool:
        """Return whether the margin is on one side of the threshold, whatever the unknown scores are."""
        high = [math.exp(bound) for bound in bounds]
        low = [power if exact else 0.0 for power, exact in zip(high, is_exact)]
        gain = high[best] - (high[0] if self.competing[0] == 0 else 0.0)  # both are exact
        return self.settings.accepts(gain / sum(high)) == self.settings.accepts(gain / sum(low))

    def choice(self, log_probs: LogProbs) -> Choice:
        """Return the choice, once it is certain."""
        suggestion, margin = 0, 0.0
        if not self.is_unscorable and self.competing:
            bounds = [0.0] if len(self.competing) == 1 else self.bounds(log_probs)[0]
            best = bounds.index(max(bounds))
            high = [math.exp(bound) for bound in bounds]
            margin = (high[best] - (high[0] if self.competing[0] == 0 else 0.0)) / sum(high)
            suggestion = self.competing[best]
        return conclude(self.candidates, self.settings, suggestion, margin)
