"""Rerankers that need no model: what the candidates and the base model say themselves.

Their scores stand where mean log-probabilities do: never positive, and larger is better.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from btr import __version__
from btr.corpus.candidates import PROPOSED, Candidates, tokens_of
from btr.corpus.scores import Scores
from btr.errors import InputError
from btr.rerankers.base import Reranker

WordEdit = tuple[int, int, str]  # first and last (exclusive) source token; the correction
SMALLEST = 1e-6  # a score of 0 would have no logarithm


class ModelFree(Reranker):
    """A reranker without a model."""

    needs_model = False

    def __init__(self) -> None:
        self.signature = f"{self.kind}|btr:{__version__}"

    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        return [self.score_source(row) for row in rows]

    @abstractmethod
    def score_source(self, candidates: Candidates) -> Scores:
        """Return the scores of one source's candidates."""


class Base(ModelFree):
    """The base model's own log-probabilities: f is its own probability of each candidate among the candidates."""

    kind = "base"
    title = "base"
    needs_log_probs = True

    def score_source(self, candidates: Candidates) -> Scores:
        if candidates.log_probs is not None:
            return candidates.log_probs
        if len(candidates.texts) == 1:  # a source that was passed through: there is nothing to compare
            return (0.0,)
        raise InputError(
            f"the candidates of {candidates.source[:40]!r} have no log_probs; score them with l2r:MODEL instead."
        )


class MBR(ModelFree):
    """Minimum Bayes risk: the candidate that agrees best with all that are not empty, by F0.5 of their edits."""

    kind = "mbr"
    title = "MBR"
    needs_candidates = True

    def score_source(self, candidates: Candidates) -> Scores:
        edits = [set(word_edits(candidates.source, text)) for text in candidates.texts]
        voters = [edit for edit, text in zip(edits, candidates.texts) if text.strip()] or edits
        gains = [sum(f_half(each, voter) for voter in voters) / len(voters) for each in edits]
        return tuple(math.log(max(gain, SMALLEST)) for gain in gains)


class Vote(ModelFree):
    """Majority per edit: the source with every edit that more than half of the candidates make.

    If no candidate is that text, it joins them as the last. A candidate's score falls with each edit that it has more
    or less than the majority.
    """

    kind = "vote"
    title = "vote"
    needs_candidates = True

    def propose(self, candidates: Candidates) -> Candidates:
        consensus = apply_edits(candidates.source, majority(candidates))
        if not consensus.strip() or tokens_of(consensus) in map(tokens_of, candidates.texts):
            return candidates
        index = len(candidates.texts)
        return replace(
            candidates,
            texts=(*candidates.texts, consensus),
            log_probs=None if candidates.log_probs is None else (*candidates.log_probs, None),
            flags={**candidates.flags, PROPOSED: (*candidates.flags.get(PROPOSED, ()), index)},
        )

    def score_source(self, candidates: Candidates) -> Scores:
        wanted = majority(candidates)
        consensus = tokens_of(apply_edits(candidates.source, wanted))
        edits = [
            wanted if tokens_of(text) == consensus else word_edits(candidates.source, text)
            for text in candidates.texts
        ]  # fmt: skip
        return tuple(-float(len(set(each) ^ set(wanted))) for each in edits)


def majority(candidates: Candidates) -> list[WordEdit]:
    """Return the edits that more than half of the base model's candidates make."""
    texts = [text for index, text in enumerate(candidates.texts) if not candidates.is_flagged(index, PROPOSED)]
    votes = Counter(edit for text in texts for edit in set(word_edits(candidates.source, text)))
    return sorted(edit for edit, count in votes.items() if count > len(texts) / 2)


def word_edits(source: str, text: str) -> list[WordEdit]:
    """Return what changes between two sentences, word by word."""
    before, after = source.split(), text.split()
    operations = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    return [(a, b, " ".join(after[c:d])) for operation, a, b, c, d in operations if operation != "equal"]


def apply_edits(source: str, edits: Sequence[WordEdit]) -> str:
    """Return the source with edits applied in order; one that overlaps an earlier one is skipped."""
    words, output, done = source.split(), list[str](), 0
    for start, end, correction in edits:
        if start >= done:
            output += [*words[done:start], *correction.split()]
            done = end
    return " ".join(output + words[done:])


def f_half(edits: set[WordEdit], reference: set[WordEdit]) -> float:
    """Return F0.5 of one set of edits against another."""
    correct = len(edits & reference)
    precision, recall = (correct / len(edits) if edits else 1.0), (correct / len(reference) if reference else 1.0)
    return 1.25 * precision * recall / (0.25 * precision + recall) if precision + recall else 0.0
