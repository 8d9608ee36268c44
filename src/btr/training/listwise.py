"""The listwise objective: a BTR learns to score candidates as `contrast` does, so that f(y|x) has the right shares.

Each token in which candidates differ, or that is near one, is masked by itself; their sums are scores as those of
`rerankers/contrast.py`, and the loss is the cross-entropy of f over the candidates. Either gold should have all of f,
or the base model's candidates share it by what each adds to F0.5. With a gap, the base model's log-probabilities are
added to the sums, so that the BTR learns what the base model does not know.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.decisions import Settings
from btr.decisions.decide import competing, softmax
from btr.models.loaded import LoadedModel
from btr.models.training_decoder import make_decoder_batch
from btr.rerankers.base import Reranker
from btr.rerankers.contrast import ContrastBTR
from btr.rerankers.differences import NEIGHBOURS, informative_tokens
from btr.training.flops import ExampleShape
from btr.training.losses import gain, listwise
from btr.training.masking import Tokens
from btr.training.objective import Batch, Example, TrainingPair
from btr.training.recipe import Recipe
from btr.training.t5_objectives import MaskedTarget

MAX_ROWS = 64  # an example whose candidates differ in more tokens is left out


class EagerContrast(ContrastBTR):
    """`contrast` as the objective has it: neighbours are always scored, whichever candidate is best."""

    first_neighbours = NEIGHBOURS


class Listwise(MaskedTarget):
    """A BTR learns which of several candidates is the best."""

    reranker = "contrast"
    neighbours: ClassVar[int] = NEIGHBOURS  # tokens on each side of a difference that are masked too
    settings = "negatives", "temperature", "gap"
    loss_per = "source"

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        super().check(recipe)
        if not recipe.objective.negatives:
            raise ValueError("listwise compares gold with negatives; set objective.negatives")
        if recipe.objective.gap is not None and not recipe.objective.temperature:
            raise ValueError("gap compares the base model's candidates; set objective.temperature")

    def encode(self, pair: TrainingPair) -> Example | None:
        data, objective = self.recipe.data, self.recipe.objective
        source: Tokens = self.tokenizer(pair.source)["input_ids"]
        gold: Tokens = self.tokenizer(pair.target)["input_ids"]
        candidates = self.candidates(pair)
        if candidates is None:
            return None
        tokens: list[Tokens] = [self.tokenizer(text)["input_ids"] for text in candidates.texts]
        settings = Settings(gap=objective.gap)
        indices = [k for k in competing(candidates, settings) if tokens[k] not in tokens[:k]]
        rows = [tokens[k] for k in indices]
        if len(rows) < 2:  # nothing to compare
            return None
        if len(source) > data.max_source or max(map(len, [gold, *rows])) > data.max_target:
            return None
        positions, shares = informative_tokens(rows, self.neighbours), self.share(source, gold, rows)
        if len(set(shares)) == 1 or sum(map(len, positions)) > MAX_ROWS:
            return None
        known = candidates.log_probs if objective.gap is not None else None
        log_probs = [known[k] if known else 0.0 for k in indices]
        return {"source": source, "targets": rows, "positions": positions, "shares": shares, "log_probs": log_probs}

    def candidates(self, pair: TrainingPair) -> Candidates | None:
        """Return the candidates that share f: the base model's best, or gold and its negatives."""
        objective = self.recipe.objective
        if objective.temperature:
            return pair.candidates and pair.candidates.first(objective.negatives)
        return Candidates(pair.source, (pair.target, *pair.negatives[: objective.negatives]))

    def share(self, source: Tokens, gold: Tokens, targets: Sequence[Tokens]) -> list[float]:
        """Return how much of f each target should have: gold all of it, or each according to its gain in F0.5."""
        if temperature := self.recipe.objective.temperature:
            return softmax([gain(source, gold, target) / temperature for target in targets])
        return [1.0, *[0.0] * (len(targets) - 1)]

    def size(self, example: Example) -> int:
        rows = sum(len(masked) * len(target) for masked, target in zip(example["positions"], example["targets"]))
        return len(example["source"]) + rows

    def shape(self, example: Example) -> tuple[int, int, int]:
        return sum(map(len, example["positions"])), *super().shape(example)[1:]

    def work(self, example: Example) -> ExampleShape:
        rows, longest, source = self.shape(example)
        return ExampleShape(source, rows, longest + 1, rows)  # each row begins with the start token, and has one mask

    def typical_example(self, source: int, target: int, targets: int) -> Example:
        positions = [[*range(min(target, 1 + 2 * self.neighbours))]] * targets  # candidates differ in one token
        return {**super().typical_example(source, target, targets), "positions": positions}

    def encoding_settings(self) -> list[object]:
        objective = self.recipe.objective
        return [*super().encoding_settings(), objective.temperature, objective.gap, self.neighbours]

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        """Make a batch. Nothing is random: each masked token has a row of its own."""
        rows: list[list[Tokens]] = []
        positions: list[list[Sequence[int]]] = []
        labels: list[int] = []
        candidates: list[int] = []  # of each row
        sources: list[int] = []  # of each candidate
        for number, example in enumerate(examples):
            rows.append([])
            positions.append([])
            for target, masked in zip(example["targets"], example["positions"]):
                for position in masked:
                    rows[-1].append([self.start, *target[:position], self.mask, *target[position + 1 :]])
                    positions[-1].append([position])  # the output before a token predicts it
                labels += [target[position] for position in masked]
                candidates += [len(sources)] * len(masked)
                sources.append(number)
        tokens = [list(example["source"]) for example in examples]
        inputs = make_decoder_batch(tokens, rows, positions, self.padding, self.device)
        extra = {
            "rows": torch.tensor(candidates, device=self.device),
            "sources": torch.tensor(sources, device=self.device),
            **{
                name: torch.tensor([value for example in examples for value in example[name]], device=self.device)
                for name in ("shares", "log_probs")
            },
        }
        return Batch(inputs, torch.tensor(labels, device=self.device), len(examples), extra=extra)

    def loss(self, batch: Batch) -> Tensor:
        columns = (batch.extra[name] for name in ("rows", "sources", "shares", "log_probs"))
        return listwise(self.log_probs(batch), *columns).sum()

    def load_reranker(self) -> Reranker:
        return EagerContrast(LoadedModel(self.model, self.tokenizer, "in training"))

    @classmethod
    def commands(cls, recipe: Recipe, threshold: float) -> list[str]:
        score, rerank = super().commands(recipe, threshold)
        return [score.replace(" -o", f" --top {recipe.validation.top} -o"), rerank]

    @classmethod
    def card_rows(cls, recipe: Recipe) -> Iterator[tuple[str, str]]:
        yield from super().card_rows(recipe)
        yield "loss", f"listwise, temperature {recipe.objective.temperature:g}"
