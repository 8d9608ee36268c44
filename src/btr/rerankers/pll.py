"""Exact pseudo-log-likelihoods, fast: every token of every candidate masked once, and nothing computed twice.

Masking one token of one candidate makes a row. Rows are batched across candidates and sources, sorted by length, within
a budget of tokens; equal rows are computed once (two candidates that differ in one token share the row in which it is
masked); and only the masked position is asked for.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.models.batches import make_batches
from btr.rerankers.base import Reranker

BUDGET = 4096  # tokens in a batch
MAX_TOKENS = 512  # of a candidate; one that is longer is not scored
MAX_SOURCE = 1024  # tokens of a source; candidates of one that is longer are not scored
LOGITS = 1 << 26  # in memory at once


Slots = dict[str, list[tuple[int, int]] | None]  # of a text: where its tokens' log-probabilities are, if it has any


class Row(NamedTuple):
    """A candidate of a source (by number) with one token masked, and the position whose output predicts it."""

    source: int
    ids: tuple[int, ...]
    position: int


class Encoded(NamedTuple):
    """A candidate as the model reads it, and for each of its tokens: where it stands, and where it is predicted."""

    ids: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


class Plan:
    """The rows that candidates need, each once, with the tokens whose probability is asked for in it.

    `sources` are what the model has made of them, by which rows name them; None is one that is too long to be read.
    """

    def __init__(self, mask: int, sources: Sequence[Any] = ()) -> None:
        self.mask, self.sources = mask, sources
        self.rows: list[Row] = []
        self.wanted: list[list[int]] = []
        self._numbers: dict[Row, int] = {}

    def add(self, source: int, candidate: Encoded) -> list[tuple[int, int]]:
        """Where the log-probabilities of the candidate's tokens will be: (row, which of its tokens)."""
        slots = []
        for place, position in candidate.places:
            ids = (*candidate.ids[:place], self.mask, *candidate.ids[place + 1 :])
            number = self._numbers.setdefault(Row(source, ids, position), len(self.rows))
            if number == len(self.rows):
                self.rows.append(Row(source, ids, position))
                self.wanted.append([])
            tokens = self.wanted[number]
            if candidate.ids[place] not in tokens:
                tokens.append(candidate.ids[place])
            slots.append((number, tokens.index(candidate.ids[place])))
        return slots


class MaskedReranker(Reranker):
    """A model that predicts masked tokens: the BTR, and encoders such as RoBERTa."""

    mask: int
    vocabulary: int
    budget: int = BUDGET
    by_length: bool = False  # batch only rows of one length

    def sign(self, model: str) -> str:
        """The model's signature, as that of this kind of reranker."""
        return f"{self.kind}|{model.partition('|')[2]}"

    @abstractmethod
    def encode_candidate(self, source: str, candidate: str) -> Encoded | None:
        """The candidate as the model reads it; None if it is too long."""

    @abstractmethod
    def plans(self, sources: Sequence[str]) -> Iterator[tuple[range, Plan]]:
        """Read sources, as many at a time as memory allows, each group for a plan of its own."""

    @abstractmethod
    def logits(self, rows: Sequence[Row], sources: Sequence[Any]) -> Tensor:
        """The logits that predict each row's masked token, (rows, vocabulary)."""

    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        scored: list[Scored] = []
        for group, plan in self.plans([row.source for row in rows]):
            scored += self.score_planned(plan, [rows[number] for number in group])
        return scored

    def score_planned(self, plan: Plan, rows: Sequence[Candidates]) -> list[Scored]:
        """Score the candidates of a plan's sources: each token of each is masked once."""
        planned = [self.plan(plan, number, row) for number, row in enumerate(rows)]
        values = self.run(plan, range(len(plan.rows)))
        return [gather(row, slots, values, mean) for row, slots in zip(rows, planned)]

    def token_log_probs(self, rows: Sequence[Candidates]) -> list[list[list[float]]]:
        """The log-probability of each token of each candidate, in their order; none of one that is too long."""
        found = []
        for group, plan in self.plans([row.source for row in rows]):
            planned = [self.plan(plan, number, rows[k]) for number, k in enumerate(group)]
            values = self.run(plan, range(len(plan.rows)))
            found += [
                [[values[number][place] for number, place in slots[text] or ()] for text in rows[k].texts]
                for k, slots in zip(group, planned)
            ]
        return found

    def encode(self, plan: Plan, number: int, row: Candidates) -> dict[str, Encoded | None]:
        """A source's unique candidates as the model reads them; None for what is too long, or belongs to what is."""
        known = plan.sources[number] is not None
        return {text: self.encode_candidate(row.source, text) if known else None for text in row.texts}

    def plan(self, plan: Plan, number: int, row: Candidates) -> Slots:
        """Plan the rows of a source's unique candidates."""
        encoded = self.encode(plan, number, row)
        return {text: plan.add(number, own) if own else None for text, own in encoded.items()}

    @torch.inference_mode()
    def run(self, plan: Plan, numbers: Sequence[int]) -> dict[int, list[float]]:
        """Compute planned rows: the log-probabilities of the tokens asked for in each."""
        values: dict[int, list[float]] = {}
        most = max(1, LOGITS // self.vocabulary)
        lengths = [len(plan.rows[number].ids) for number in numbers]
        for batch in make_batches(lengths, self.budget, most, same_length=self.by_length):
            # Rows of one source stand together: they attend to it as one.
            chosen = sorted((numbers[k] for k in batch), key=lambda number: plan.rows[number].source)
            logits = self.logits([plan.rows[number] for number in chosen], plan.sources)
            log_probs = logits.float().log_softmax(-1)
            for number, row in zip(chosen, log_probs):
                values[number] = row[plan.wanted[number]].tolist()
        return values


def gather(
    row: Candidates,
    slots: Slots,
    values: dict[int, list[float]],
    summarise: Callable[[Sequence[float]], float],
) -> Scored:
    """The score of each candidate, from the log-probabilities of its tokens."""
    means: dict[str, float | None] = {}
    for text, own in slots.items():
        means[text] = None if own is None else summarise([values[number][k] for number, k in own])
    lengths = {text: len(own or ()) for text, own in slots.items()}
    texts = row.texts
    return Scored(row.source, texts, tuple(means[text] for text in texts), tuple(lengths[text] for text in texts))


def mean(log_probs: Sequence[float]) -> float:
    """A candidate's score: the mean over its tokens."""
    return math.fsum(log_probs) / len(log_probs)


def read_source(tokenizer: Any, source: str) -> list[int] | None:
    """A source's tokens; None if they are too many to read."""
    tokens: list[int] = tokenizer(source)["input_ids"]
    return tokens if len(tokens) <= MAX_SOURCE else None
