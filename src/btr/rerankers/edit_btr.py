"""A BTR that reads each candidate once and judges its edits (`models/edit_judging.py`).

Asked about edits, it gives their log-odds of being right: the mean over the candidates that make an edit. As a
reranker of whole candidates, it adds up the log-odds of a candidate's edits; the source as it is has 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates, tokens_of
from btr.corpus.edits import EditTable
from btr.corpus.scores import Scores
from btr.decisions.edit_table import extract_tables
from btr.metrics.errant import discard_parses
from btr.models.config import start_token
from btr.models.decoder import decode, encode
from btr.models.device import choose_device
from btr.models.edit_head import EditSpan, judge_spans, mean_by_edit
from btr.models.loaded import LoadedModel
from btr.models.plain_t5 import load_plain_t5
from btr.rerankers.base import EditReader
from btr.rerankers.pretrained import MAX_SOURCE_TOKENS, MAX_TOKENS, PretrainedReranker


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tokens of a text, </s> included; word k has the tokens from `starts[k]` to `starts[k + 1]`."""

    tokens: list[int]
    starts: list[int]


@dataclass(frozen=True, slots=True)
class ReadableTable:
    """A source and candidates that together make all edits, as tokens, and where the edits are in them."""

    source: list[int]
    candidates: list[list[int]]
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
    """Return the fewest candidates of a table that together make all edits, and where each edit is in each of them.

    Candidates of more than `max_tokens` are left out.
    """
    source = cut_pieces(tokenizer, table.candidates.source)
    edits_of = {
        index: [(number, edit.key) for number, edit in enumerate(table.edits) if index in edit.candidates]
        for index in table.usable
    }
    pieces_of = {index: cut_pieces(tokenizer, table.candidates.texts[index]) for index in table.usable}
    readable = {
        index: {number for number, _ in edits_of[index]}
        for index, pieces in pieces_of.items()
        if max_tokens is None or len(pieces.tokens) <= max_tokens
    }
    indices = choose_covering(readable)
    spans: list[EditSpan] = []
    for row, index in enumerate(indices):
        starts, shift = pieces_of[index].starts, 0
        for number, key in edits_of[index]:
            start = key.start + shift
            shift += len(key.correction.split()) - (key.end - key.start)
            span = (starts[start], starts[key.end + shift], source.starts[key.start], source.starts[key.end])
            spans.append(EditSpan(row, number, *span))
    return ReadableTable(source.tokens, [pieces_of[index].tokens for index in indices], spans)


def choose_covering(edits_of: Mapping[int, set[int]]) -> list[int]:
    """Return the candidates, in their order, that together make all edits.

    The next one is always the candidate that makes most of the edits that are still missing; of equal ones, the first.
    """
    chosen: list[int] = []
    missing = set().union(*edits_of.values())
    while missing:
        best = max(edits_of, key=lambda index: len(edits_of[index] & missing))
        chosen.append(best)
        missing -= edits_of[best]
    return sorted(chosen)


class EditBTR(PretrainedReranker, EditReader):
    """The log-odds that edits are right, by a bidirectional T5 with a head for edits."""

    kind = loads_as = "edit-btr"
    title = "BTR that judges edits"

    @classmethod
    def load(cls, name: str, *, dtype: str, device: str | None, int8: bool) -> LoadedModel:
        """Load the model: in int8 on a CPU without `transformers`, if that is possible."""
        plain = load_plain_t5(name) if int8 and dtype == "float32" and choose_device(device).type == "cpu" else None
        return plain or super().load(name, dtype=dtype, device=device, int8=int8)

    def edit_log_odds(self, tables: Sequence[EditTable]) -> list[list[float | None]]:
        """Return the log-odds of each edit of each table; None for those that no candidate of readable length makes."""
        return [self.mean_log_odds(table) for table in tables]

    def mean_log_odds(self, table: EditTable) -> list[float | None]:
        """Return the mean of each edit's log-odds over the candidates that were read and make it."""
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
        log_odds = self.mean_log_odds(table)
        if table.edits and set(log_odds) == {None}:
            return (None,) * len(table.candidates.texts)
        sums: dict[tuple[str, ...], float | None] = {}
        for index in table.usable:
            values = [value for edit, value in zip(table.edits, log_odds) if index in edit.candidates]
            known = [value for value in values if value is not None]
            sums[tokens_of(table.candidates.texts[index])] = sum(known) if len(known) == len(values) else None
        return tuple(sums.get(tokens_of(text)) for text in table.candidates.texts)

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
