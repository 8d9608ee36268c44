"""A BTR that reads each candidate once and judges its edits (`models/edit_judging.py`).

Asked about edits, it gives their log-odds of being right: the mean over the candidates that make an edit. As a
reranker of whole candidates, it adds up the log-odds of a candidate's edits; the source as it is has 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditTable
from btr.corpus.scores import Scores
from btr.decisions.edit_table import extract_tables
from btr.metrics.errant import discard_parses
from btr.models.config import start_token
from btr.models.decoder import decode, encode
from btr.models.edit_judging import EditSpan, judge_spans, mean_by_edit
from btr.rerankers.base import EditReader
from btr.rerankers.pretrained import MAX_SOURCE_TOKENS, MAX_TOKENS, PretrainedReranker


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tokens of a text, </s> included; word k has the tokens from `starts[k]` to `starts[k + 1]`."""

    tokens: list[int]
    starts: list[int]


@dataclass(frozen=True, slots=True)
class ReadableTable:
    """A source and the candidates that make edits, as tokens, and where the edits are in them."""

    source: list[int]
    candidates: list[list[int]]
    indices: list[int]  # of these candidates in the table
    spans: list[EditSpan]


def cut_pieces(tokenizer: Any, text: str) -> Pieces:
    """Return a text's tokens, and where each word's begin; words are what spaces separate."""
    words = text.split()
    encoded = tokenizer(" ".join(words), return_offsets_mapping=True)
    tokens: list[int] = encoded["input_ids"]
    ends = [end for _, end in encoded["offset_mapping"][:-1]]
    starts: list[int] = []
    position = piece = 0
    for word in words:
        while piece < len(ends) and ends[piece] < position:  # of the words before; a lone ▁ ends where its word begins
            piece += 1
        starts.append(piece)
        position += len(word) + 1
    return Pieces(tokens, [*starts, len(tokens) - 1])


def read_table(tokenizer: Any, table: EditTable, max_tokens: int | None = None) -> ReadableTable:
    """Return the candidates of a table that make edits, and where each edit is in each of them.

    Candidates of more than `max_tokens` are left out.
    """
    source = cut_pieces(tokenizer, table.candidates.source)
    candidates: list[list[int]] = []
    indices: list[int] = []
    spans: list[EditSpan] = []
    for index in table.usable:
        edits = [(number, edit.key) for number, edit in enumerate(table.edits) if index in edit.candidates]
        if not edits:
            continue
        pieces = cut_pieces(tokenizer, table.candidates.texts[index])
        if max_tokens is not None and len(pieces.tokens) > max_tokens:
            continue
        shift = 0
        for number, key in edits:
            start = key.start + shift
            shift += len(key.correction.split()) - (key.end - key.start)
            first, last = pieces.starts[start], pieces.starts[key.end + shift]
            spans.append(
                EditSpan(len(candidates), number, first, last, source.starts[key.start], source.starts[key.end])
            )
        candidates.append(pieces.tokens)
        indices.append(index)
    return ReadableTable(source.tokens, candidates, indices, spans)


class EditBTR(PretrainedReranker, EditReader):
    """The log-odds that edits are right, by a bidirectional T5 with a head for edits."""

    kind = loads_as = "edit-btr"
    title = "BTR that judges edits"

    def edit_log_odds(self, tables: Sequence[EditTable]) -> list[list[float | None]]:
        """Return the log-odds of each edit of each table; None for those that no candidate of readable length makes."""
        return [self.mean_log_odds(table) for table in tables]

    def mean_log_odds(self, table: EditTable) -> list[float | None]:
        """Return the mean of each edit's log-odds over the candidates that make it."""
        readable = read_table(self.tokenizer, table, MAX_TOKENS)
        log_odds = self.judge(readable)
        if log_odds is None:
            return [None] * len(table.edits)
        edits = [span.edit for span in readable.spans]
        means = mean_by_edit(log_odds, torch.tensor(edits, dtype=torch.long), len(table.edits)).tolist()
        return [mean if k in edits else None for k, mean in enumerate(means)]

    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        """Return the sum of each candidate's log-odds; None for one that is too long or can't be aligned."""
        with discard_parses():
            tables = extract_tables([Candidates(row.source, row.texts) for row in rows], processes=1)
        return [self.sums(table) for table in tables]

    def sums(self, table: EditTable) -> Scores:
        """Return the sum of the log-odds of each candidate's edits. Equal candidates have equal sums."""
        texts = [text.split() for text in table.candidates.texts]
        readable = read_table(self.tokenizer, table, MAX_TOKENS)
        log_odds = self.judge(readable)
        if log_odds is None:
            return (None,) * len(texts)
        numbers = torch.tensor([span.candidate for span in readable.spans], dtype=torch.long)
        totals = torch.zeros(len(readable.candidates)).index_add(0, numbers, log_odds).tolist()
        known = {index: 0.0 for index in table.usable if texts[index] == table.words}
        known.update(zip(readable.indices, totals))
        return tuple(next((known[k] for k in known if texts[k] == words), None) for words in texts)

    @torch.inference_mode()
    def judge(self, readable: ReadableTable) -> Tensor | None:
        """Return the log-odds of each span; None if the source is too long to read.

        Each source is read by itself, so that the numbers don't depend on other sources.
        """
        if len(readable.source) > MAX_SOURCE_TOKENS:
            return None
        if not readable.spans:
            return torch.zeros(0)
        (source,) = encode(self.model, [readable.source])
        rows = [[start_token(self.model.config), *tokens] for tokens in readable.candidates]
        states = decode(self.model, rows, [source] * len(rows), None)
        return judge_spans(self.model.edit_head, readable.spans, list(states), source.states).float().cpu()
