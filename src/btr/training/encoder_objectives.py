"""How encoders are trained: RoBERTa to predict masked tokens of a target, BERT to tell good sentences from bad."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from btr.rerankers.encoders import SOURCE, TARGET, encoder_inputs, position_limit
from btr.training.flops import ExampleShape
from btr.training.losses import likelihood, likelihood_and_unlikelihood
from btr.training.masking import Tokens, draw_positions, mask, number_of_masks
from btr.training.objective import Batch, Example, Objective, TrainingPair
from btr.training.recipe import Recipe

SPECIAL_TOKENS = 4  # around source and target, in RoBERTa


class MaskedPair(Objective):
    """A masked language model reads source and target together, and learns the target's masked tokens."""

    model_kind = reranker = "roberta"
    settings = "mask_share", "negatives"
    loss_per = "masked token"
    description = "A reranker: a masked language model that reads a source and its correction together."
    limits = "It chooses among the candidates that a base model wrote, and finds no correction by itself."

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.mask = int(tokenizer.mask_token_id)
        special = set(tokenizer.all_special_ids)
        self.replacements = [token for token in range(len(tokenizer)) if token not in special]
        self.head: Any = getattr(model, "lm_head", None) or model.cls

    def encode(self, pair: TrainingPair) -> Example | None:
        limit = min(position_limit(self.model.config), self.recipe.data.max_source + self.recipe.data.max_target)
        rows: list[Tokens] = []
        positions: list[list[int]] = []
        for target in (pair.target, *pair.negatives):
            tokens = self.tokenizer(pair.source, target)
            sides = tokens.sequence_ids()
            of_target = [k for k, side in enumerate(sides) if side == TARGET]
            if len(tokens["input_ids"]) <= limit and of_target and tokens["input_ids"] not in rows:
                rows.append(tokens["input_ids"])
                positions.append(of_target)
            elif not rows:
                return None
        count = 1 + min(self.recipe.objective.negatives, sides.count(SOURCE))  # a BTR's limit: EOS is not counted
        return {"source": [], "targets": rows[:count], "positions": positions[:count]}

    def work(self, example: Example) -> ExampleShape:
        share = self.recipe.objective.mask_share
        masks = sum(number_of_masks(len(positions), share) for positions in example["positions"])
        return ExampleShape(0, len(example["targets"]), max(map(len, example["targets"])), masks)

    def typical_example(self, source: int, target: int, targets: int) -> Example:
        row = [0] * (source + target + SPECIAL_TOKENS)
        return {"source": [], "targets": [row] * targets, "positions": [[*range(target)]] * targets}

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        rows: list[Tokens] = []
        masked: list[tuple[int, int]] = []  # row and position
        labels: list[int] = []
        is_negative: list[bool] = []
        for example, generator in zip(examples, generators):
            for k, (row, positions) in enumerate(zip(example["targets"], example["positions"])):
                drawn = draw_positions(len(positions), self.recipe.objective.mask_share, generator)
                chosen = [positions[number] for number in drawn]
                masked += [(len(rows), position) for position in chosen]
                labels += [row[position] for position in chosen]
                is_negative += [k > 0] * len(chosen)
                rows.append(mask(row, chosen, generator, self.mask, self.replacements))
        return Batch(
            encoder_inputs(rows, self.tokenizer, self.device),
            torch.tensor(labels, device=self.device),
            len(labels),
            torch.tensor(is_negative, device=self.device),
            {"masked": torch.tensor(masked, device=self.device)},
        )

    def loss(self, batch: Batch) -> Tensor:
        hidden = self.model.base_model(**batch.inputs).last_hidden_state
        rows, positions = batch.extra["masked"].T
        logits = self.head(hidden[rows, positions]).float()
        log_probs = logits.log_softmax(-1).gather(1, batch.labels[:, None])[:, 0]
        return likelihood_and_unlikelihood(log_probs, batch.is_negative).sum()


class Grammaticality(Objective):
    """A classifier learns that targets are grammatical (1), and sources that were corrected are not (0)."""

    model_kind = reranker = "bert"
    tunes_threshold = False  # as in the paper, BERT has no λ
    loss_per = "sentence"
    description = "A reranker: a classifier that tells grammatical sentences from ungrammatical ones."
    limits = "It sees the correction only, and so can't tell whether the source's meaning is kept."

    def encode(self, pair: TrainingPair) -> Example | None:
        texts = [pair.target] if pair.source == pair.target else [pair.target, pair.source]
        rows = [self.tokenizer(text)["input_ids"] for text in texts]
        if max(map(len, rows)) > min(position_limit(self.model.config), self.recipe.data.max_source):
            return None
        return {"source": [], "targets": rows}

    def work(self, example: Example) -> ExampleShape:
        rows, longest, _ = self.shape(example)
        return ExampleShape(0, rows, longest, rows)  # one class per row

    def typical_example(self, source: int, target: int, targets: int) -> Example:
        return {"source": [], "targets": [[0] * target, [0] * source]}

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        rows = [row for example in examples for row in example["targets"]]
        classes = [int(k == 0) for example in examples for k in range(len(example["targets"]))]
        inputs = encoder_inputs(rows, self.tokenizer, self.device, pairs=False)
        return Batch(inputs, torch.tensor(classes, device=self.device), len(classes))

    def loss(self, batch: Batch) -> Tensor:
        log_probs = self.model(**batch.inputs).logits.float().log_softmax(-1)
        return likelihood(log_probs.gather(1, batch.labels[:, None])).sum()
