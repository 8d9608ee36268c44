"""A masked model that scores only the tokens in which candidates differ.

Most tokens are common to all candidates of a source, and hardly tell them apart. Here only the others are masked, one
at a time. The score is the sum of their log-probabilities: an estimate of how much more probable one candidate is than
another. If another than the base candidate scores best, the neighbours of these tokens are scored too (a verb shows
whether the noun before it is right), and their log-probabilities are added. It takes a small part of PLL's time.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scores
from btr.decisions import Choice, Settings
from btr.models.config import is_t5
from btr.models.loaded import LoadedModel
from btr.rerankers.base import Reranker
from btr.rerankers.btr import BTR
from btr.rerankers.differences import NEIGHBOURS, informative_tokens
from btr.rerankers.encoders import RoBERTa
from btr.rerankers.pll import Cells, EncodedCandidate, MaskedReranker, RowPlan, summarise


class DifferenceReranker(MaskedReranker):
    """The sum of the log-probabilities of the tokens in which a candidate differs from any other."""

    kind = "contrast"
    title = "contrast"
    is_mean, is_relative = False, True
    first_neighbours: ClassVar[int] = 0  # tokens on each side of a difference that are scored at first …
    neighbours: ClassVar[int] = NEIGHBOURS  # … and where the base candidate is not the best

    def __init__(self, loaded: LoadedModel, budget: int | None = None, model_name: str | None = None) -> None:
        super().__init__(loaded, budget, model_name)
        self.signature += f"|neighbours:{self.first_neighbours},{self.neighbours}"

    def score_group(self, plan: RowPlan, rows: Sequence[Candidates]) -> list[Scores]:
        encoded = [self.encode(plan, number, row) for number, row in enumerate(rows)]
        cells = [self.plan_differences(plan, k, each, self.first_neighbours) for k, each in enumerate(encoded)]
        log_probs = self.compute(plan, range(len(plan.rows)))
        scores = [summarise(row, each, log_probs, math.fsum) for row, each in zip(rows, cells)]
        moved = [number for number, each in enumerate(scores) if is_base_beaten(each)]
        for number in moved:
            cells[number] = self.plan_differences(plan, number, encoded[number], self.neighbours)
        # A row that was computed may have to score another token now, where candidates repeat theirs.
        missing = [k for k, tokens in enumerate(plan.tokens) if len(tokens) > len(log_probs.get(k, ()))]
        log_probs |= self.compute(plan, missing)
        for number in moved:
            scores[number] = summarise(rows[number], cells[number], log_probs, math.fsum)
        return scores

    def choose(self, rows: Sequence[Candidates], settings: Settings) -> list[Choice]:
        return Reranker.choose(self, rows, settings)  # the scores are no means over all tokens, so there are no bounds

    def plan_differences(
        self, plan: RowPlan, number: int, encoded: dict[str, EncodedCandidate | None], neighbours: int
    ) -> Cells:
        """Plan the rows of a source's candidates: the tokens in which they differ, and neighbours on each side."""
        readable = {text: candidate for text, candidate in encoded.items() if candidate}
        indices = informative_tokens([candidate.ids for candidate in readable.values()], neighbours)
        cells: Cells = dict.fromkeys(encoded)
        for (text, candidate), chosen in zip(readable.items(), indices):
            positions = tuple(pair for pair in candidate.positions if pair[0] in chosen)
            cells[text] = plan.add(number, EncodedCandidate(candidate.ids, positions))
        return cells


class ContrastBTR(DifferenceReranker, BTR):
    """`contrast` with a BTR."""


class ContrastEncoder(DifferenceReranker, RoBERTa):
    """`contrast` with a masked language model."""


class Contrast(DifferenceReranker):
    """The registry's entry: `from_pretrained` gives a ContrastBTR for a T5, else a ContrastEncoder."""

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls,
        name: str,
        *,
        dtype: str = "float32",
        device: str | None = None,
        int8: bool = False,
        budget: int | None = None,
    ) -> Reranker:
        chosen: type[BTR] | type[RoBERTa] = ContrastBTR if is_t5(name) else ContrastEncoder
        return chosen.from_pretrained(name, dtype=dtype, device=device, int8=int8, budget=budget)


def is_base_beaten(scores: Scores) -> bool:
    """Return whether another candidate than the first has the best score."""
    base, *others = scores
    return base is not None and any(score is not None and score > base for score in others)
