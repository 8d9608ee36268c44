"""What each kind of model is taught: examples become batches, and batches become losses.

A task draws all that is random (masks, spans) from generators that belong to the examples, before any computation: so a
batch is the same whoever computes it, and its numbers of tokens are known in advance.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from btr.errors import InputError
from btr.models.load import start_token
from btr.models.training_decoder import DecoderBatch, decoder_states, make_decoder_batch
from btr.rerankers.btr import mask_token
from btr.rerankers.differences import differing, differing_places
from btr.training import objectives
from btr.training.masking import Tokens, corrupt_spans, draw_places, mask
from btr.training.recipe import Recipe

Example = Mapping[str, Any]


@dataclass
class Batch:
    """Examples with all draws made: what the model reads, what it should say, and in how many cases."""

    inputs: Any
    wanted: Tensor
    negative: Tensor  # which of the wanted tokens should be unlikely
    counts: dict[str, float]  # by the loss's name
    extra: dict[str, Tensor] = field(default_factory=dict)


class Task(ABC):
    """How one kind of model learns."""

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        self.recipe, self.model, self.tokenizer = recipe, model, tokenizer
        self.pieces: Tensor | None = None  # the vocabulary in use; None for all of it

    @abstractmethod
    def encode(
        self, source: str, targets: Sequence[str], candidates: Sequence[str] = (), log_probs: Sequence[float] = ()
    ) -> Example | None:
        """A source, its gold and negatives as tokens; None if it is too long.

        Candidates are all that the base model wrote, and may have gold among them; log-probabilities are theirs.
        """

    @abstractmethod
    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        """Make a batch."""

    @abstractmethod
    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """Sums of losses by name, beside what `counts` divides them by."""

    def size(self, example: Example) -> int:
        """Tokens of an example, both sides."""
        return len(example["source"]) + sum(map(len, example["targets"]))

    def shape(self, example: Example) -> tuple[int, int, int]:
        """What an example takes in a batch: its rows, the longest of them, and its source."""
        return len(example["targets"]), max(map(len, example["targets"])), len(example["source"])

    @property
    def device(self) -> torch.device:
        place: torch.device = next(self.model.parameters()).device
        return place


class T5Task(Task):
    """A T5 learns to write targets, left to right or right to left."""

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.start = start_token(model.config)
        self.padding = int(model.config.pad_token_id)
        self.end = int(model.config.eos_token_id)
        known = tokenizer.get_vocab()
        names = (f"{space}<extra_id_{k}>" for k in range(1, 100) for space in ("", "▁"))  # mT5 has the space
        self.sentinels = [known[name] for name in names if name in known]
        if recipe.task == "pre-train" and not self.sentinels:
            raise InputError(f"{recipe.model}: its tokenizer has no <extra_id_1>, which names a span.")

    def encode(
        self, source: str, targets: Sequence[str], candidates: Sequence[str] = (), log_probs: Sequence[float] = ()
    ) -> Example | None:
        data = self.recipe.data
        ids = self.tokenizer(source)["input_ids"]
        rows = [self.tokenizer(target)["input_ids"] for target in targets]
        if len(ids) > data.max_source or len(rows[0]) > data.max_target:
            return None
        kept = [k for k, row in enumerate(rows) if k and len(row) <= data.max_target and row not in rows[:k]]
        chosen = [0, *kept[: min(self.recipe.objective.negatives, len(ids) - 1)]]
        return {"source": ids, "targets": [rows[k] for k in chosen]}

    def read(self, example: Example, generator: np.random.Generator) -> tuple[Tokens, list[Tokens]]:
        """An example's source and targets; in pre-training, spans of a text."""
        if self.recipe.task == "correct":
            return list(example["source"]), [list(target) for target in example["targets"]]
        objective = self.recipe.objective
        source, target = corrupt_spans(
            example["source"], objective.mask, generator, self.sentinels, self.end, objective.spans
        )
        return source, [target]

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        read = [self.read(example, generator) for example, generator in zip(examples, generators)]
        targets = [self.order(own[0]) for _, own in read]
        rows = [[[self.start, *target[:-1]]] for target in targets]
        asked = [[range(len(target))] for target in targets]
        grid = make_decoder_batch([source for source, _ in read], rows, asked, self.padding, self.device)
        wanted = torch.tensor([token for target in targets for token in target], device=self.device)
        return Batch(grid, wanted, torch.zeros_like(wanted, dtype=torch.bool), {"likelihood": float(len(wanted))})

    def order(self, target: Tokens) -> Tokens:
        """The target's tokens in the order in which they are written."""
        return [*reversed(target[:-1]), target[-1]] if self.recipe.kind == "r2l" else target

    def log_probs(self, batch: Batch) -> Tensor:
        """The log-probability of each wanted token."""
        grid: DecoderBatch = batch.inputs
        return token_log_probs(
            decoder_states(self.model, grid), self.model.get_output_embeddings(), batch.wanted, self.pieces
        )

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        return {"likelihood": objectives.likelihood(self.log_probs(batch)).sum()}


class BTRTask(T5Task):
    """A T5 whose decoder sees both sides learns gold's masked tokens, and to think the negatives' unlikely."""

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.mask = mask_token(tokenizer, recipe.model)
        special = {*tokenizer.all_special_ids, *self.sentinels, self.mask}
        self.others = [token for token in range(len(tokenizer)) if token not in special]

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        sources: list[Tokens] = []
        rows: list[list[Tokens]] = []
        asked: list[list[Sequence[int]]] = []
        wanted: list[int] = []
        negative: list[bool | None] = []
        for example, generator in zip(examples, generators):
            source, targets = self.read(example, generator)
            sources.append(source)
            rows.append([])
            asked.append([])
            for k, places in enumerate(self.places(source, targets, generator)):
                hidden = mask(targets[k], places, generator, self.mask, self.others)
                rows[-1].append([self.start, *hidden])  # the output before a token predicts it
                asked[-1].append(places)
                wanted += [targets[k][place] for place in places]
                negative += self.pushed_down(targets, k, places)
        place = self.device
        return Batch(
            make_decoder_batch(sources, rows, asked, self.padding, place),
            torch.tensor(wanted, device=place),
            torch.tensor([bool(sign) for sign in negative], device=place),
            {"likelihood": sum(sign is not None for sign in negative)},
            {"ignored": torch.tensor([sign is None for sign in negative], device=place)},
        )

    def places(self, source: Tokens, targets: Sequence[Tokens], generator: np.random.Generator) -> list[list[int]]:
        """Which tokens of gold and of each negative are masked."""
        objective = self.recipe.objective
        if not objective.focus:
            return [draw_places(len(target), objective.mask, generator) for target in targets]
        places = differing_places(targets) if len(targets) > 1 else [sorted(differing(targets[0], source)[0])]
        return [
            draw_places(len(target), objective.mask, generator, near, objective.focus)
            for target, near in zip(targets, places)
        ]

    def pushed_down(self, targets: Sequence[Tokens], k: int, places: Sequence[int]) -> list[bool | None]:
        """For each masked token: whether it should be unlikely; None if it should be neither."""
        if k == 0:
            return [False] * len(places)
        if not self.recipe.objective.negative_weight:
            return [None] * len(places)
        if self.recipe.objective.unlikelihood == "all":
            return [True] * len(places)
        own, _ = differing(targets[k], targets[0])
        return [True if place in own else None for place in places]

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        log_probs = self.log_probs(batch)
        weight = self.recipe.objective.negative_weight
        terms = torch.where(
            batch.negative, weight * objectives.unlikelihood(log_probs), objectives.likelihood(log_probs)
        )
        return {"likelihood": terms.masked_fill(batch.extra["ignored"], 0.0).sum()}


def token_log_probs(hidden: Tensor, head: Any, wanted: Tensor, pieces: Tensor | None) -> Tensor:
    """The log-probability of each wanted token, among all tokens or among the pieces in use."""
    if pieces is None:
        logits = head(hidden)
    else:
        logits = hidden @ head.weight[pieces].to(hidden.dtype).T
        wanted = torch.searchsorted(pieces, wanted)
    return -cross_entropy(logits.float(), wanted, reduction="none")
