"""Diverse beam search (Vijayakumar et al., 2018): groups of beams that avoid each other's tokens.

At each step the groups choose one after another. A token costs the penalty for every beam of an earlier group that has
just chosen it; a beam's score keeps the penalties it has paid. With one group this is the beam search of
`transformers`, and its rules are followed: the 2K best continuations of K beams are considered; one that ends the text
counts if it is among the K best; candidates are ranked by score over length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Tokens

# Given the rows that continue and their last tokens, returns log-probabilities of the next token (rows, vocabulary).
Step = Callable[[Tensor, Tensor], Tensor]


class Beam(NamedTuple):
    """An unfinished candidate."""

    row: int
    tokens: tuple[int, ...]
    score: float


@dataclass
class Group:
    """The beams of one group of one source, and its finished candidates: score / length ** length_penalty, tokens."""

    beams: list[Beam]
    length_penalty: float = 1.0
    finished: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)
    is_done: bool = False

    def add_finished(self, score: float, tokens: tuple[int, ...], size: int) -> None:
        """Add a complete candidate if it is among the best `size`."""
        self.finished.append((score / len(tokens) ** self.length_penalty, tokens))
        self.finished.sort(key=lambda pair: -pair[0])
        del self.finished[size:]

    def stop_if_done(self, size: int, length: int, early: bool) -> None:
        """Stop once `size` candidates are complete and (unless early) no beam's present score beats the worst of them.

        This is the rule of `transformers`.
        """
        if len(self.finished) == size:
            best = self.beams[0].score / length**self.length_penalty if self.beams else None
            self.is_done = early or best is None or best <= self.finished[-1][0]


def diverse_beam_search(
    step: Step, sources: int, ends: Sequence[int], start: int, settings: DecodingSettings
) -> list[list[Tokens]]:
    """Return the candidates of each source, best first.

    Rows are ordered by source, then by group. The first call of `step` gets the start token in one row per beam.
    """
    groups = settings.groups
    size = settings.size // groups
    all_groups = [
        [Group([Beam((source * groups + number) * size, (), 0.0)], settings.length_penalty) for number in range(groups)]
        for source in range(sources)
    ]
    rows = torch.arange(sources * settings.size)
    tokens = torch.full((sources * settings.size,), start)
    for length in range(1, settings.max_length + 1):
        log_probs = step(rows, tokens).cpu()
        for source_groups in all_groups:
            penalty = torch.zeros(log_probs.shape[1])
            for group in source_groups:
                if not group.is_done:
                    extend(group, log_probs, penalty, size, length, ends, settings)
                    for beam in group.beams:
                        penalty[beam.tokens[-1]] += settings.penalty
        if all(group.is_done for source_groups in all_groups for group in source_groups):
            break
        rows, tokens = assign_rows(all_groups, size)
    ranked = (
        sorted((pair for group in source_groups for pair in group.finished), key=lambda pair: -pair[0])
        for source_groups in all_groups
    )
    return [[list(tokens) for _, tokens in pairs] for pairs in ranked]


def extend(
    group: Group,
    log_probs: Tensor,
    penalty: Tensor,
    size: int,
    length: int,
    ends: Sequence[int],
    settings: DecodingSettings,
) -> None:
    """Lengthen a group's beams by one token, and move those that are complete to its finished candidates."""
    rows = [beam.row for beam in group.beams]
    scores = log_probs[rows] - penalty + torch.tensor([beam.score for beam in group.beams])[:, None]
    vocabulary = scores.shape[1]
    best = scores.flatten().topk(min(max(2, 1 + len(ends)) * size, scores.numel()))
    beams: list[Beam] = []
    for rank, (score, index) in enumerate(zip(best.values.tolist(), best.indices.tolist())):
        parent, token = group.beams[index // vocabulary], index % vocabulary
        if rank < size and (token in ends or length == settings.max_length):
            group.add_finished(score, (*parent.tokens, token), size)
        if token not in ends and len(beams) < size:
            beams.append(Beam(parent.row, (*parent.tokens, token), score))
    group.beams = beams
    group.is_done = length == settings.max_length
    if not group.is_done:
        group.stop_if_done(size, length, settings.early_stopping)


def assign_rows(all_groups: Sequence[Sequence[Group]], size: int) -> tuple[Tensor, Tensor]:
    """Give each beam its row for the next step; return the rows they come from, and their last tokens."""
    rows: list[int] = []
    tokens: list[int] = []
    for group in (group for source_groups in all_groups for group in source_groups):
        first = len(rows)
        beams = [] if group.is_done else group.beams
        idle = size - len(beams)  # rows that are computed and ignored
        rows += [*(beam.row for beam in beams), *range(first, first + idle)]
        tokens += [*(beam.tokens[-1] for beam in beams), *[0] * idle]
        group.beams = [beam._replace(row=first + k) for k, beam in enumerate(beams)]
    return torch.tensor(rows), torch.tensor(tokens)
