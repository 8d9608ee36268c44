"""Rerankers that need no training and no model: what the candidates and the base model say themselves.

Their scores stand where mean log-probabilities do: never positive, and larger is better.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from btr import __version__
from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.errors import InputError
from btr.rerankers.base import Reranker

TokenEdit = tuple[int, int, str]  # source tokens from, to; their correction
LEAST = 1e-6  # a score of 0 would have no logarithm


class Free(Reranker):
    """A reranker without a model."""

    def __init__(self) -> None:
        self.signature = f"{self.kind}|btr:{__version__}"

    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        return [self.score_row(row) for row in rows]

    @abstractmethod
    def score_row(self, row: Candidates) -> Scored:
        """Score one source's candidates."""


class Base(Free):
    """The base model's own log-probabilities, so that f is its own probability among the candidates."""

    kind = "base"
    needs_log_probs = True

    def score_row(self, row: Candidates) -> Scored:
        if row.log_probs is None and len(row.texts) == 1:  # a source that was passed through: nothing to compare
            return Scored(row.source, row.texts, (0.0,), (1,))
        if row.log_probs is None:
            raise InputError(
                f"the candidates of {row.source[:40]!r} have no log_probs; score them with l2r:MODEL instead of base."
            )
        return Scored(row.source, row.texts, row.log_probs, (1,) * len(row.texts))


class MBR(Free):
    """Minimum Bayes risk: the candidate that agrees best with all that are not empty, by F0.5 of its edits."""

    kind = "mbr"

    def score_row(self, row: Candidates) -> Scored:
        edits = [set(token_edits(row.source, text)) for text in row.texts]
        others = [own for own, text in zip(edits, row.texts) if text.strip()] or edits
        gains = [sum(f_half(own, other) for other in others) / len(others) for own in edits]
        means = tuple(math.log(max(gain, LEAST)) for gain in gains)
        return Scored(row.source, row.texts, means, (1,) * len(means))


class Vote(Free):
    """Edit-level majority: the source with every edit that more than half of the candidates make.

    If no candidate is that, it joins them as the second. A candidate's score falls with each edit that it has more or
    less than the majority.
    """

    kind = "vote"

    def score_row(self, row: Candidates) -> Scored:
        edits = [token_edits(row.source, text) for text in row.texts]
        votes = Counter(edit for own in edits for edit in set(own))
        majority = sorted(edit for edit, count in votes.items() if count > len(edits) / 2)
        consensus = apply_edits(row.source, majority)
        candidates = row.texts
        if all(text.split() != consensus.split() for text in candidates) and consensus.strip():
            candidates = (candidates[0], consensus, *candidates[1:])
            edits = [edits[0], majority, *edits[1:]]
        means = tuple(-float(len(set(own) ^ set(majority))) for own in edits)
        return Scored(row.source, candidates, means, (1,) * len(means))


def token_edits(source: str, text: str) -> list[TokenEdit]:
    """What changes between two sentences, word by word."""
    before, after = source.split(), text.split()
    operations = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    return [(a, b, " ".join(after[c:d])) for kind, a, b, c, d in operations if kind != "equal"]


def apply_edits(source: str, edits: Sequence[TokenEdit]) -> str:
    """The source with edits made, in order; one that overlaps an earlier is passed over."""
    words, out, done = source.split(), list[str](), 0
    for start, end, correction in edits:
        if start >= done:
            out += [*words[done:start], *correction.split()]
            done = end
    return " ".join(out + words[done:])


def f_half(own: set[TokenEdit], other: set[TokenEdit]) -> float:
    """F0.5 of one set of edits against another."""
    correct = len(own & other)
    precision, recall = (correct / len(own) if own else 1.0), (correct / len(other) if other else 1.0)
    return 1.25 * precision * recall / (0.25 * precision + recall) if precision + recall else 0.0
