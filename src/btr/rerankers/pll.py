"""Exact pseudo-log-likelihoods, fast: every token of every candidate is masked once, and nothing is computed twice.

Masking one token of one candidate makes a row. Rows are batched across candidates and sources, sorted by length, within
a budget of tokens. Equal rows are computed once: two candidates that differ in one token share the row in which it is
masked. Only the output at the masked position is computed.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scores
from btr.decisions import Choice, Settings
from btr.models.batches import make_batches
from btr.rerankers.pretrained import PretrainedReranker

MAX_LOGITS = 1 << 26  # in memory at once


class Row(NamedTuple):
    """A candidate of a source (by its number) with one token masked, and the position whose output predicts it."""

    source: int
    ids: tuple[int, ...]
    position: int


class EncodedCandidate(NamedTuple):
    """A candidate as the model reads it; for each token to score, its index and the position that predicts it."""

    ids: tuple[int, ...]
    positions: tuple[tuple[int, int], ...]


Cell = tuple[int, int]  # a row's number, and which of the tokens that are scored in it
Cells = dict[str, list[Cell] | None]  # by candidate: where its tokens' log-probabilities are; None if it is too long
LogProbs = dict[int, list[float]]  # by row: the log-probabilities of the tokens that are scored in it


class RowPlan:
    """The rows that candidates need, each once, with the tokens that are scored in it.

    `sources` are the encoded sources, by which rows name them; None is one that is too long to be read.
    """

    def __init__(self, mask: int, sources: Sequence[Any] = ()) -> None:
        self.mask, self.sources = mask, sources
        self.rows: list[Row] = []
        self.tokens: list[list[int]] = []
        self._numbers: dict[Row, int] = {}

    def add(self, source: int, candidate: EncodedCandidate) -> list[Cell]:
        """Plan the rows of a candidate; return where its tokens' log-probabilities will be."""
        cells = []
        for index, position in candidate.positions:
            ids = (*candidate.ids[:index], self.mask, *candidate.ids[index + 1 :])
            number = self._numbers.setdefault(Row(source, ids, position), len(self.rows))
            if number == len(self.rows):
                self.rows.append(Row(source, ids, position))
                self.tokens.append([])
            tokens = self.tokens[number]
            if candidate.ids[index] not in tokens:
                tokens.append(candidate.ids[index])
            cells.append((number, tokens.index(candidate.ids[index])))
        return cells


class MaskedReranker(PretrainedReranker):
    """A model that predicts masked tokens: the BTR, and encoders such as RoBERTa. The score is PLL / |y|."""

    is_mean = True
    mask: int
    vocabulary_size: int

    @abstractmethod
    def encode_candidate(self, source: str, candidate: str) -> EncodedCandidate | None:
        """Return the candidate as the model reads it; None if it is too long."""

    @abstractmethod
    def plans(self, sources: Sequence[str]) -> Iterator[tuple[range, RowPlan]]:
        """Encode sources, as many at a time as memory allows; each group has a plan of its own."""

    @abstractmethod
    def logits(self, rows: Sequence[Row], sources: Sequence[Any]) -> Tensor:
        """Return the logits that predict each row's masked token, (rows, vocabulary)."""

    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        scores: list[Scores] = []
        for group, plan in self.plans([row.source for row in rows]):
            scores += self.score_group(plan, [rows[number] for number in group])
        return scores

    def score_group(self, plan: RowPlan, rows: Sequence[Candidates]) -> list[Scores]:
        """Score the candidates of a plan's sources: each token of each is masked once."""
        planned = [self.plan_rows(plan, number, row) for number, row in enumerate(rows)]
        log_probs = self.compute(plan, range(len(plan.rows)))
        return [summarise(row, cells, log_probs, mean) for row, cells in zip(rows, planned)]

    def choose(self, rows: Sequence[Candidates], settings: Settings) -> list[Choice]:
        """Choose among the candidates of many sources; rows that can't change a decision are not computed."""
        from btr.rerankers.until_certain import choose_until_certain

        if settings.weight(self.kind) != 1:  # the bounds are those of unweighted scores
            return super().choose(rows, settings)
        return choose_until_certain(self, rows, settings)[0]

    def token_log_probs(self, rows: Sequence[Candidates]) -> list[list[list[float]]]:
        """Return the log-probability of each token of each candidate, in order; none of one that is too long."""
        every = []
        for group, plan in self.plans([row.source for row in rows]):
            planned = [self.plan_rows(plan, number, rows[k]) for number, k in enumerate(group)]
            log_probs = self.compute(plan, range(len(plan.rows)))
            every += [
                [[log_probs[number][k] for number, k in cells[text] or ()] for text in rows[source].texts]
                for source, cells in zip(group, planned)
            ]
        return every

    def encode(self, plan: RowPlan, number: int, row: Candidates) -> dict[str, EncodedCandidate | None]:
        """Return a source's unique candidates as the model reads them; None for what is too long."""
        is_readable = plan.sources[number] is not None
        return {text: self.encode_candidate(row.source, text) if is_readable else None for text in row.texts}

    def plan_rows(self, plan: RowPlan, number: int, row: Candidates) -> Cells:
        """Plan the rows of a source's unique candidates."""
        encoded = self.encode(plan, number, row)
        return {text: plan.add(number, candidate) if candidate else None for text, candidate in encoded.items()}

    @torch.inference_mode()
    def compute(self, plan: RowPlan, numbers: Sequence[int]) -> LogProbs:
        """Compute planned rows: the log-probabilities of the tokens that are scored in each."""
        computed: LogProbs = {}
        max_rows = max(1, MAX_LOGITS // self.vocabulary_size)
        lengths = [len(plan.rows[number].ids) for number in numbers]
        for batch in make_batches(lengths, self.budget, max_rows, same_length=self.same_length):
            # Rows of one source stand together: they attend to it as one long query.
            chosen = sorted((numbers[k] for k in batch), key=lambda number: plan.rows[number].source)
            logits = self.logits([plan.rows[number] for number in chosen], plan.sources)
            for number, log_probs in zip(chosen, logits.float().log_softmax(-1)):
                computed[number] = log_probs[plan.tokens[number]].tolist()
        return computed


def summarise(
    row: Candidates, cells: Cells, log_probs: LogProbs, summary: Callable[[Sequence[float]], float]
) -> Scores:
    """Return the score of each candidate, from the log-probabilities of its tokens."""
    by_text = {
        text: None if cell_list is None else summary([log_probs[number][k] for number, k in cell_list])
        for text, cell_list in cells.items()
    }
    return tuple(by_text[text] for text in row.texts)


def mean(log_probs: Sequence[float]) -> float:
    """Return the mean over a candidate's tokens: PLL / |y|."""
    return math.fsum(log_probs) / len(log_probs)
