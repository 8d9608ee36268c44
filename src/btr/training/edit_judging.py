"""A BTR learns to judge edits: it reads each candidate once, and says of each edit how likely it is right.

The data are edit tables (`btr score --edits`) with gold (M2 files). An edit's log-odds are the mean over the candidates
that make it, as in `rerankers/edit_btr.py`; the loss is the logistic one against "is it in the gold?".
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, starmap
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from btr.models.config import start_token
from btr.models.edit_head import EditSpan, judge_positions, mean_by_edit, span_positions
from btr.models.training_decoder import encoder_and_decoder_states, make_decoder_batch
from btr.rerankers.edit_btr import read_table
from btr.training.flops import ExampleShape
from btr.training.objective import Batch, Example, Objective, TrainingPair
from btr.training.recipe import Recipe


class EditJudging(Objective):
    """A bidirectional T5 learns which edits of its candidates are right."""

    model_kind = reranker = "edit-btr"
    is_t5 = reads_edits = True
    loss_per = "edit"
    description = "A Bidirectional Transformer Reranker that reads a candidate once and judges each of its edits."
    limits = "It judges the edits of candidates that a base model wrote, and finds no correction by itself."

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.start, self.padding = start_token(model.config), int(model.config.pad_token_id)

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        super().check(recipe)
        if recipe.task != "correct" or recipe.vocabulary != "all":
            raise ValueError("edit-btr predicts no tokens: leave out task and vocabulary")
        if not recipe.data.edits:
            raise ValueError("edit-btr learns from edit tables (btr score --edits); name them in data.edits")
        if recipe.validation.gold:
            raise ValueError("edit-btr is measured as part of a judge (btr tune --edits); leave out validation")

    def encode(self, pair: TrainingPair) -> Example | None:
        data, table = self.recipe.data, pair.table
        assert table is not None
        readable = read_table(self.tokenizer, table)
        longest = max(map(len, readable.candidates), default=0)
        if not readable.spans or len(readable.source) > data.max_source or longest > data.max_target:
            return None
        spans = [
            [span.candidate, span.edit, span.start, span.end, span.source_start, span.source_end]
            for span in readable.spans
        ]
        return {
            "source": readable.source,
            "targets": readable.candidates,
            "spans": spans,
            "labels": [float(label) for label in pair.labels],
        }

    def work(self, example: Example) -> ExampleShape:
        rows, longest, source = self.shape(example)
        states = sum(map(len, example["targets"])) + rows  # each row begins with the start token
        return ExampleShape(source, rows, longest + 1, states, len(example["spans"]))

    def typical_example(self, source: int, target: int, targets: int) -> Example:
        """Return an example whose candidates make one edit each: how many they make hardly matters for its cost."""
        return {**super().typical_example(source, target, targets), "spans": [[]] * targets}

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        """Make a batch. Nothing is random."""
        rows = [[[self.start, *target] for target in example["targets"]] for example in examples]
        positions = [[range(len(row)) for row in group] for group in rows]
        inputs = make_decoder_batch([list(example["source"]) for example in examples], rows, positions, self.padding,
                                    self.device)  # fmt: skip
        labels = torch.tensor([label for example in examples for label in example["labels"]], device=self.device)
        located: list[tuple[int, int, int, int]] = []
        edits: list[int] = []
        row_start = first_edit = 0
        for k, (example, group) in enumerate(zip(examples, rows)):
            row_starts = list(accumulate(map(len, group), initial=row_start))
            for span in starmap(EditSpan, example["spans"]):
                located.append(span_positions(span, row_starts[span.candidate], k * inputs.sources.shape[1]))
                edits.append(first_edit + span.edit)
            row_start, first_edit = row_starts[-1], first_edit + len(example["labels"])
        extra = {"positions": torch.tensor(located), "edits": torch.tensor(edits, device=self.device)}
        return Batch(inputs, labels, len(labels), extra=extra)

    def loss(self, batch: Batch) -> Tensor:
        sources, states = encoder_and_decoder_states(self.model, batch.inputs)
        positions = batch.extra["positions"].tolist()
        judged = judge_positions(self.model.edit_head, positions, states, sources.flatten(0, 1))
        log_odds = mean_by_edit(judged, batch.extra["edits"], len(batch.labels))
        return binary_cross_entropy_with_logits(log_odds.float(), batch.labels, reduction="sum")

    def freeze_embeddings(self) -> None:
        self.model.get_input_embeddings().requires_grad_(False)

    @classmethod
    def commands(cls, recipe: Recipe, threshold: float) -> list[str]:
        return [
            "btr score CANDIDATES.jsonl --edits --reranker edit-btr:FOLDER -o EDITS.jsonl",
            "btr tune EDITS.jsonl --edits --gold GOLD.m2 -o judge.json",
        ]

    @classmethod
    def card_rows(cls, recipe: Recipe) -> Iterator[tuple[str, str]]:
        yield "edits", ", ".join(recipe.data.edits)
