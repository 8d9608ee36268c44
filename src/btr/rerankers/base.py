"""What all rerankers share: they score candidates; f(y|x), the margin and the decision follow from the scores."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from btr.corpus.candidates import Candidates, is_runaway
from btr.corpus.scores import Scored
from btr.errors import InputError

FARTHEST = 700.0  # below the best score: e to the minus of more might be 0


class Decision(StrEnum):
    """What becomes of the reranker's suggestion."""

    ACCEPT = "accept"
    REJECT = "reject"  # its f is not enough above the base model's choice
    EQUAL = "equal"  # it is the base model's choice


@dataclass(frozen=True, slots=True)
class Reranked:
    """The final choice, and how sure it is."""

    choice: int  # number of the candidate that is the result
    suggestion: int  # number of the candidate that the reranker likes best
    f: tuple[float, ...]  # of each candidate; 0 for one that takes no part
    margin: float  # f of the suggestion less f of the base model's choice
    decision: Decision


@dataclass(frozen=True, slots=True)
class Rule:
    """How scores become a decision.

    The paper accepts a suggestion if f rises by *more than* the threshold; its experiments took *at least*.
    """

    threshold: float = 0.0
    top: int | None = None  # a_pred: how many candidates take part
    at_least: bool = False
    drop_runaways: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise InputError(f"the threshold is a difference of probabilities, from 0 to 1, not {self.threshold:g}.")

    def takes_part(self, source: str, candidates: Sequence[str]) -> list[int]:
        """The candidates that f is spread over: unique and not empty."""
        first: dict[str, int] = {}
        for number, text in enumerate(candidates[: self.top]):
            if text.strip() and not (number and self.drop_runaways and is_runaway(source, text)):
                first.setdefault(text, number)
        return list(first.values())

    def accepts(self, margin: float) -> bool:
        return margin >= self.threshold if self.at_least else margin > self.threshold

    def decide(self, source: str, candidates: Sequence[str], means: Sequence[float | None]) -> Reranked:
        """Choose among scored candidates. If any that takes part could not be scored, the base model's choice stays."""
        taking = self.takes_part(source, candidates)
        scores = [means[number] for number in taking]
        known = [score for score in scores if score is not None]
        if not taking or len(known) < len(scores):
            return Reranked(0, 0, (0.0,) * len(candidates), 0.0, Decision.EQUAL)
        shares = dict(zip(taking, softmax(known)))
        by_text = {candidates[number]: share for number, share in shares.items()}
        f = tuple(by_text.get(text, 0.0) if k < (self.top or k + 1) else 0.0 for k, text in enumerate(candidates))
        best = known.index(max(known))  # the first of equals
        return self.judge(taking[best], shares[taking[best]] - f[0], f)

    def judge(self, suggestion: int, margin: float, f: tuple[float, ...] = ()) -> Reranked:
        """What becomes of a suggestion whose f is that much above the base model's choice."""
        if suggestion == 0:
            return Reranked(0, 0, f, 0.0, Decision.EQUAL)
        if self.accepts(margin):
            return Reranked(suggestion, suggestion, f, margin, Decision.ACCEPT)
        return Reranked(0, suggestion, f, margin, Decision.REJECT)


def softmax(scores: Sequence[float]) -> list[float]:
    """Shares that grow with the scores and add up to one; none is 0, which is for those that take no part."""
    highest = max(scores)
    powers = [math.exp(max(score - highest, -FARTHEST)) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


class Reranker(ABC):
    """Scores candidates of a source: a mean log-probability and a length each."""

    kind: str
    signature: str
    needs_log_probs = False  # the base model's, of every candidate

    @abstractmethod
    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        """Score many sources at once, which is faster than one by one."""

    def score(self, source: str, candidates: Sequence[str]) -> Scored:
        """Score the candidates of one source."""
        return self.score_many([Candidates(source, tuple(candidates))])[0]

    def rerank(self, source: str, candidates: Sequence[str], rule: Rule | None = None) -> Reranked:
        """Choose among the candidates of one source, the first of which is the base model's choice."""
        scored = self.score(source, candidates)
        return (rule or Rule()).decide(source, scored.candidates, scored.means)
