"""How T5 models are trained: to write corrections in either direction, or to predict masked tokens of a target."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from btr.errors import InputError
from btr.models.config import start_token
from btr.models.training_decoder import DecoderBatch, decoder_states, make_decoder_batch
from btr.rerankers.btr import mask_token
from btr.rerankers.differences import differing_between, differing_tokens
from btr.training.flops import ExampleShape
from btr.training.losses import likelihood, likelihood_and_unlikelihood
from btr.training.masking import Tokens, corrupt_spans, draw_positions, mask, number_of_masks, span_lengths
from btr.training.objective import Batch, Example, Objective, TrainingPair
from btr.training.recipe import Recipe


class Seq2Seq(Objective):
    """A T5 learns to write targets from left to right."""

    model_kind = "seq2seq"
    settings: ClassVar[tuple[str, ...]] = ("mask_share", "spans")
    is_t5 = uses_all_weights = True
    description = "A base model for grammatical error correction: it writes candidates, the most likely one first."
    limits = "It may change what was right, and the meaning with it; read what it proposes."

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.vocabulary: Tensor | None = None  # the tokens that probabilities are computed among; None: all
        self.start = start_token(model.config)
        self.padding = int(model.config.pad_token_id)
        self.end = int(model.config.eos_token_id)
        known = tokenizer.get_vocab()
        names = (f"{space}<extra_id_{k}>" for k in range(1, 100) for space in ("", "▁"))  # mT5 has the space
        self.sentinels = [known[name] for name in names if name in known]
        if recipe.task == "pre-train" and not self.sentinels:
            raise InputError(f"{recipe.model}: its tokenizer has no <extra_id_1>, which names a span.")

    def encode(self, pair: TrainingPair) -> Example | None:
        data = self.recipe.data
        source = self.tokenizer(pair.source)["input_ids"]
        rows = [self.tokenizer(text)["input_ids"] for text in (pair.target, *pair.negatives)]
        if len(source) > data.max_source or len(rows[0]) > data.max_target:
            return None
        negatives = [row for k, row in enumerate(rows) if k and len(row) <= data.max_target and row not in rows[:k]]
        count = min(self.recipe.objective.negatives, len(source) - 1)
        return {"source": source, "targets": [rows[0], *negatives[:count]]}

    def read(self, example: Example, generator: np.random.Generator) -> tuple[Tokens, list[Tokens]]:
        """Return an example's source and targets; in pre-training they are spans of a text."""
        if self.recipe.task == "correct":
            return list(example["source"]), [list(target) for target in example["targets"]]
        objective = self.recipe.objective
        source, target = corrupt_spans(
            example["source"], objective.mask_share, generator, self.sentinels, self.end, objective.spans
        )
        return source, [target]

    def work(self, example: Example) -> ExampleShape:
        if self.recipe.task == "correct":
            return super().work(example)
        objective = self.recipe.objective
        source, target = span_lengths(len(example["source"]), objective.mask_share, objective.spans)
        return ExampleShape(source, 1, target, target)

    def typical_example(self, source: int, target: int, targets: int) -> Example:
        if self.recipe.task == "correct":
            return super().typical_example(source, target, targets)
        return {"source": [0] * source, "targets": [[]]}  # spans are drawn later

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        pairs = [self.read(example, generator) for example, generator in zip(examples, generators)]
        targets = [self.order(rows[0]) for _, rows in pairs]
        rows = [[[self.start, *target[:-1]]] for target in targets]
        positions = [[range(len(target))] for target in targets]
        inputs = make_decoder_batch([source for source, _ in pairs], rows, positions, self.padding, self.device)
        labels = torch.tensor([token for target in targets for token in target], device=self.device)
        return Batch(inputs, labels, len(labels))

    def order(self, target: Tokens) -> Tokens:
        """Return the target's tokens in the order in which they are written."""
        return target

    def log_probs(self, batch: Batch) -> Tensor:
        """Return the log-probability of each label."""
        inputs: DecoderBatch = batch.inputs
        head = self.model.get_output_embeddings()
        return token_log_probs(decoder_states(self.model, inputs), head, batch.labels, self.vocabulary)

    def loss(self, batch: Batch) -> Tensor:
        return likelihood(self.log_probs(batch)).sum()

    def freeze_embeddings(self) -> None:
        for part in (self.model.get_input_embeddings(), self.model.get_output_embeddings()):
            part.requires_grad_(False)

    def restrict_vocabulary(self, tokens: np.ndarray[Any, Any]) -> None:
        more = [self.end, *self.sentinels] if self.recipe.task == "pre-train" else [self.end]
        self.vocabulary = torch.from_numpy(np.union1d(tokens, np.array(more))).to(self.device)


class RightToLeft(Seq2Seq):
    """A T5 learns to write targets from the last token to the first: a word's pieces are reversed too.

    As in the paper, R2L has no λ, and is chosen by the sum of its score and L2R's (section 5.1).
    """

    model_kind = reranker = "r2l"
    tunes_threshold, partner = False, "l2r"
    description = "A right-to-left reranker: a T5 that writes corrections from the last token to the first."
    limits = "It chooses among the candidates that a base model wrote; the paper adds the base model's score."

    def order(self, target: Tokens) -> Tokens:
        return [*reversed(target[:-1]), target[-1]]

    @classmethod
    def commands(cls, recipe: Recipe, threshold: float) -> list[str]:
        score, rerank = super().commands(recipe, threshold)
        return [score.replace(":FOLDER", ":FOLDER --reranker l2r:BASE"), rerank]


class MaskedTarget(Seq2Seq):
    """A BTR learns that gold's masked tokens are likely, and those of the negatives unlikely (section 4.2)."""

    model_kind = reranker = "btr"
    settings: ClassVar[tuple[str, ...]] = ("mask_share", "spans", "negatives", "focus_share")
    loss_per = "masked token"
    description = (
        "A Bidirectional Transformer Reranker: a T5 whose decoder sees both sides of every token that it scores."
    )
    limits = "It chooses among the candidates that a base model wrote, and finds no correction by itself."

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.mask = mask_token(tokenizer, recipe.model)
        special = {*tokenizer.all_special_ids, *self.sentinels, self.mask}
        self.replacements = [token for token in range(len(tokenizer)) if token not in special]

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        sources: list[Tokens] = []
        rows: list[list[Tokens]] = []
        positions: list[list[Sequence[int]]] = []
        labels: list[int] = []
        is_negative: list[bool] = []
        for example, generator in zip(examples, generators):
            source, targets = self.read(example, generator)
            sources.append(source)
            rows.append([])
            positions.append([])
            for k, masked in enumerate(self.draw_masks(source, targets, generator)):
                hidden = mask(targets[k], masked, generator, self.mask, self.replacements)
                rows[-1].append([self.start, *hidden])  # the output before a token predicts it
                positions[-1].append(masked)
                labels += [targets[k][position] for position in masked]
                is_negative += [k > 0] * len(masked)
        return Batch(
            make_decoder_batch(sources, rows, positions, self.padding, self.device),
            torch.tensor(labels, device=self.device),
            len(labels),
            torch.tensor(is_negative, device=self.device),
        )

    def work(self, example: Example) -> ExampleShape:
        plain = super().work(example)
        lengths = [plain.row] if self.recipe.task == "pre-train" else [*map(len, example["targets"])]
        masks = sum(number_of_masks(length, self.recipe.objective.mask_share) for length in lengths)
        return ExampleShape(plain.source, plain.rows, plain.row + 1, masks)  # rows begin with the start token

    def draw_masks(self, source: Tokens, targets: Sequence[Tokens], generator: np.random.Generator) -> list[list[int]]:
        """Choose which tokens of gold and of each negative are masked."""
        objective = self.recipe.objective
        if not objective.focus_share:
            return [draw_positions(len(target), objective.mask_share, generator) for target in targets]
        preferred = (
            differing_tokens(targets) if len(targets) > 1 else [sorted(differing_between(targets[0], source)[0])]
        )
        return [
            draw_positions(len(target), objective.mask_share, generator, positions, objective.focus_share)
            for target, positions in zip(targets, preferred)
        ]

    def loss(self, batch: Batch) -> Tensor:
        log_probs = self.log_probs(batch)
        return likelihood_and_unlikelihood(log_probs, batch.is_negative).sum()

    def freeze_embeddings(self) -> None:
        """Leave all but one: the mask was never an input of the decoder, so its embedding must be learnt."""
        super().freeze_embeddings()
        table = self.model.get_input_embeddings().weight.requires_grad_(True)
        only_mask = torch.zeros(len(table), 1, device=table.device)
        only_mask[self.mask] = 1
        table.register_hook(lambda gradient: gradient * only_mask)

    @classmethod
    def card_rows(cls, recipe: Recipe) -> Iterator[tuple[str, str]]:
        yield from super().card_rows(recipe)
        if recipe.objective.focus_share:
            yield "masks where texts differ", f"{recipe.objective.focus_share:.0%}"


def token_log_probs(hidden: Tensor, head: Any, labels: Tensor, vocabulary: Tensor | None) -> Tensor:
    """Return the log-probability of each label, among all tokens or among those of a smaller vocabulary."""
    if vocabulary is None:
        logits = head(hidden)
    else:
        logits = hidden @ head.weight[vocabulary].to(hidden.dtype).T
        labels = torch.searchsorted(vocabulary, labels)
    return -cross_entropy(logits.float(), labels, reduction="none")
