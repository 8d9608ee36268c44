"""What a BTR that judges edits has beside a T5: a small head, and where in the texts each edit is.

The head reads the decoder's states of the inserted words and of the pieces beside them, and the encoder's states of
the replaced words. So one pass judges all edits of a candidate, where PLL needs a pass per token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor, nn

HEAD = "edit_head"  # the name of the head's weights
HEAD_WIDTH = 256
HEAD_SPEED = 8.0  # multiplies the head's inputs and output, so that it learns faster than the rest of the model


class EditHead(nn.Module):
    """From the states around an edit to the log-odds that it is right."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(4 * width, HEAD_WIDTH)
        self.last = nn.Linear(HEAD_WIDTH, 1)

    def forward(self, *states: Tensor) -> Tensor:
        """Read the four states of each edit, (edits, width) each; each is normalised first."""
        normed = [nn.functional.layer_norm(state, state.shape[-1:]) for state in states]
        hidden = nn.functional.gelu(self.first(HEAD_SPEED * torch.cat(normed, 1)))
        log_odds: Tensor = self.last(hidden).squeeze(-1)
        return HEAD_SPEED * log_odds


@dataclass(frozen=True, slots=True)
class EditSpan:
    """Where an edit is in a candidate's pieces and in the source's: from `start` to `end`, equal if there are none.

    `candidate` is the row that the decoder reads, and `edit` the number of the edit, which other candidates may make
    too.
    """

    candidate: int
    edit: int
    start: int
    end: int
    source_start: int
    source_end: int


def judge_spans(head: EditHead, spans: Sequence[EditSpan], rows: Sequence[Tensor], source: Tensor) -> Tensor:
    """Return the log-odds of each edit of each candidate of a source.

    `rows` are the decoder's states of each candidate, the start token's first; `source` are the encoder's.
    """
    starts = list(accumulate(map(len, rows), initial=0))
    positions = [span_positions(span, starts[span.candidate], 0) for span in spans]
    return judge_positions(head, positions, torch.cat(list(rows)), source)


def span_positions(span: EditSpan, row_start: int, source_start: int) -> tuple[int, int, int, int]:
    """Return where an edit is among states that lie one after another.

    The first two numbers are its pieces in the candidate whose states begin at `row_start`, the start token's first;
    the others are its pieces in the source whose states begin at `source_start`.
    """
    return (
        row_start + 1 + span.start,
        row_start + 1 + span.end,
        source_start + span.source_start,
        source_start + span.source_end,
    )


def judge_positions(
    head: EditHead, positions: Sequence[tuple[int, int, int, int]], decoder_states: Tensor, encoder_states: Tensor
) -> Tensor:
    """Return the log-odds of edits at these positions (`span_positions`) of the states of many texts."""
    starts, ends, source_starts, source_ends = zip(*positions)
    inserted = mean_states(decoder_states, starts, ends)
    removed = mean_states(encoder_states, source_starts, source_ends)
    left = decoder_states[[start - 1 for start in starts]]
    log_odds: Tensor = head(inserted, left, decoder_states[list(ends)], removed)
    return log_odds


def mean_states(states: Tensor, starts: Sequence[int], ends: Sequence[int]) -> Tensor:
    """Return the mean of the states from each start to its end; zeros where there are none.

    All are added up in one step: a tensor per edit costs more time in the memory allocator than the decoder does.
    """
    counts = torch.tensor([end - start for start, end in zip(starts, ends)], device=states.device)
    every = [position for start, end in zip(starts, ends) for position in range(start, end)]
    owners = torch.arange(len(counts), device=states.device).repeat_interleave(counts)
    sums = states.new_zeros(len(counts), states.shape[-1]).index_add(0, owners, states[every])
    return sums / counts.clamp_min(1)[:, None]


def mean_by_edit(log_odds: Tensor, edits: Tensor, count: int) -> Tensor:
    """Return the mean of each edit's log-odds over the candidates that make it."""
    sums = torch.zeros(count, device=log_odds.device, dtype=log_odds.dtype).index_add(0, edits, log_odds)
    return sums / torch.bincount(edits, minlength=count).clamp_min(1)
