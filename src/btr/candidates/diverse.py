"""Diverse beam search (Vijayakumar et al., 2018): groups of beams that keep away from each other's tokens.

At each step the groups choose one after another. A token costs the penalty for every beam of an earlier group that has
just chosen it; scores keep what they have paid. With one group this is the beam search of `transformers`, whose rules
it follows: the 2K best continuations of K beams are looked at; one that ends the text counts if it is among the K best;
candidates are ranked by score over length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Tokens

# Log-probabilities of the next token of each beam (rows, vocabulary), given which rows go on, and with which tokens.
Step = Callable[[Tensor, Tensor], Tensor]


class Beam(NamedTuple):
    """An unfinished candidate."""

    row: int
    tokens: tuple[int, ...]
    score: float


@dataclass
class Group:
    """The beams of one group of one source, and what it has finished: score over length to a power, and tokens."""

    beams: list[Beam]
    power: float = 1.0
    finished: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)
    done: bool = False

    def finish(self, score: float, tokens: tuple[int, ...], size: int) -> None:
        """Keep a complete candidate if it is among the best."""
        self.finished.append((score / len(tokens) ** self.power, tokens))
        self.finished.sort(key=lambda pair: -pair[0])
        del self.finished[size:]

    def close(self, size: int, length: int, early: bool) -> None:
        """Stop once all candidates are complete, and (unless early) no beam does better by its present score."""
        if len(self.finished) == size:
            self.done = early or not self.beams or self.beams[0].score / length**self.power <= self.finished[-1][0]


def diverse_beam_search(
    step: Step, sources: int, ends: Sequence[int], start: int, settings: DecodingSettings
) -> list[list[Tokens]]:
    """The candidates of each source, best first. Rows of a source stand together, its groups in order.

    `step` is first asked about the start token, in one row for each beam.
    """
    groups = settings.groups
    size = settings.size // groups
    every = [
        [Group([Beam((source * groups + number) * size, (), 0.0)], settings.length_penalty) for number in range(groups)]
        for source in range(sources)
    ]
    rows = torch.arange(sources * settings.size)
    tokens = torch.full((sources * settings.size,), start)
    for length in range(1, settings.max_length + 1):
        log_probs = step(rows, tokens).cpu()
        for own in every:
            penalty = torch.zeros(log_probs.shape[1])
            for group in own:
                if not group.done:
                    extend(group, log_probs, penalty, size, length, ends, settings)
                    for beam in group.beams:
                        penalty[beam.tokens[-1]] += settings.penalty
        if all(group.done for own in every for group in own):
            break
        rows, tokens = advance(every, size)
    ranked = (sorted((pair for group in own for pair in group.finished), key=lambda pair: -pair[0]) for own in every)
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
    """Lengthen a group's beams by a token, and set aside those that are complete."""
    rows = [beam.row for beam in group.beams]
    scores = log_probs[rows] - penalty + torch.tensor([beam.score for beam in group.beams])[:, None]
    vocabulary = scores.shape[1]
    best = scores.flatten().topk(min(max(2, 1 + len(ends)) * size, scores.numel()))
    beams: list[Beam] = []
    for rank, (score, place) in enumerate(zip(best.values.tolist(), best.indices.tolist())):
        parent, token = group.beams[place // vocabulary], place % vocabulary
        if rank < size and (token in ends or length == settings.max_length):
            group.finish(score, (*parent.tokens, token), size)
        if token not in ends and len(beams) < size:
            beams.append(Beam(parent.row, (*parent.tokens, token), score))
    group.beams = beams
    group.done = length == settings.max_length
    if not group.done:
        group.close(size, length, settings.early_stopping)


def advance(every: Sequence[Sequence[Group]], size: int) -> tuple[Tensor, Tensor]:
    """Give each beam a row of its own; says which rows they come from, and their last tokens."""
    rows: list[int] = []
    tokens: list[int] = []
    for own in every:
        for group in own:
            first = len(rows)
            beams = [] if group.done else group.beams
            idle = size - len(beams)  # rows that nobody looks at any more
            rows += [*(beam.row for beam in beams), *range(first, first + idle)]
            tokens += [*(beam.tokens[-1] for beam in beams), *[0] * idle]
            group.beams = [beam._replace(row=first + k) for k, beam in enumerate(beams)]
    return torch.tensor(rows), torch.tensor(tokens)
