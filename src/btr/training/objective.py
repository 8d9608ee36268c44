"""What an objective is: how one kind of model is trained, from examples to batches to a loss.

An objective draws all that is random (masks, spans) from generators that belong to the examples, before any
computation: so a batch is the same whichever process computes it, and its count of tokens is known in advance.

A new kind of training is one class, registered under a name of its own as an entry point of the group
`btr.objectives`; the name is then a value of `kind` in a recipe.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditTable
from btr.models.loaded import LoadedModel
from btr.rerankers.base import Reranker
from btr.training.flops import ExampleShape
from btr.training.recipe import Recipe

Example = Mapping[str, Any]  # a row of the data set: `source` and `targets` as tokens, and what an objective adds


@dataclass(frozen=True)
class TrainingPair:
    """A source and its gold target; with candidates, also the negatives: unique candidates that are not gold.

    With edit tables, also the table of the source's edits, and for each edit whether it is in the gold.
    """

    source: str
    target: str
    negatives: tuple[str, ...] = ()
    candidates: Candidates | None = None  # unique, gold possibly among them
    table: EditTable | None = None
    labels: tuple[bool, ...] = ()


@dataclass
class Batch:
    """Examples with all random draws done: what the model reads, and what it should predict."""

    inputs: Any  # the grid of a T5, or the tensors of an encoder
    labels: Tensor  # the tokens (or classes) to predict
    count: float  # number of tokens (or examples) that the loss is a sum over
    is_negative: Tensor | None = None  # which of the labels should be unlikely
    extra: dict[str, Tensor] = field(default_factory=dict)


class Objective(ABC):
    """How one kind of model is trained, validated and described."""

    model_kind: ClassVar[str]  # the kind of model that training starts from and saves (models/initial.py)
    reranker: ClassVar[str | None] = None  # the kind of reranker that the model becomes; None: it writes corrections
    settings: ClassVar[tuple[str, ...]] = ()  # the keys of a recipe's `objective` that apply to it
    is_t5: ClassVar[bool] = False  # whether pre-training, freeze_embeddings and vocabulary: used are possible
    reads_edits: ClassVar[bool] = False  # whether it learns from edit tables (data.edits)
    tunes_threshold: ClassVar[bool] = True  # whether validation searches the best λ; False: λ = 0
    partner: ClassVar[str | None] = None  # the kind of reranker whose scores validation adds (validation.partner)
    loss_per: ClassVar[str] = "token"  # the loss of an update is in nats per this
    uses_all_weights: ClassVar[bool] = False  # True saves DDP the search for weights that have no part in the loss
    description: ClassVar[str]  # for the model card: what the model is
    limits: ClassVar[str]  # for the model card: what it can't do

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        self.recipe, self.model, self.tokenizer = recipe, model, tokenizer

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        """Refuse (ValueError) a recipe whose `objective` has settings that do not apply, or not together."""
        for name in recipe.objective.model_fields_set - set(cls.settings):
            if getattr(recipe.objective, name) != type(recipe.objective).model_fields[name].default:
                known = f"it has {', '.join(cls.settings)}" if cls.settings else "it has none"
                raise ValueError(f"objective.{name} is no setting of {recipe.kind}; {known}")

    @abstractmethod
    def encode(self, pair: TrainingPair) -> Example | None:
        """Return a pair as tokens; None if it is too long, or there is nothing to learn from it."""

    @abstractmethod
    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        """Make a batch; each example has a generator for its random numbers."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Return the sum of the losses over the batch; the loop divides it by the count of a whole update."""

    def size(self, example: Example) -> int:
        """Return the tokens of an example, both sides."""
        return len(example["source"]) + sum(map(len, example["targets"]))

    def shape(self, example: Example) -> tuple[int, int, int]:
        """Return what an example takes in a batch: its rows, the length of the longest, and of its source."""
        return len(example["targets"]), max(map(len, example["targets"])), len(example["source"])

    def work(self, example: Example) -> ExampleShape:
        """Return what the model computes for an example."""
        rows, longest, source = self.shape(example)
        return ExampleShape(source, rows, longest, sum(map(len, example["targets"])))

    @classmethod
    def counting(cls, recipe: Recipe) -> Self:
        """Return an objective without model and tokenizer, for the sizes and shapes of examples."""
        objective = cls.__new__(cls)
        objective.recipe = recipe
        return objective

    def typical_example(self, source: int, target: int, targets: int) -> Example:
        """Return an example with so many tokens and targets; which tokens does not matter for its cost."""
        return {"source": [0] * source, "targets": [[0] * target] * targets}

    def encoding_settings(self) -> list[object]:
        """Return what the examples depend on beside the data and the tokenizer: if it changes, they are read again."""
        return [self.recipe.objective.negatives]

    def freeze_embeddings(self) -> None:
        """Leave the embeddings and the output layer as they are; for T5 models."""
        raise NotImplementedError

    def restrict_vocabulary(self, tokens: np.ndarray[Any, Any]) -> None:
        """Compute probabilities among these tokens only, which are those of the data; for T5 models."""
        raise NotImplementedError

    def load_reranker(self) -> Reranker:
        """Return the model as a reranker that validates it."""
        from btr.rerankers import RERANKERS

        reranker: Any = RERANKERS[str(self.reranker)]  # of a kind with a model
        loaded: Reranker = reranker(LoadedModel(self.model, self.tokenizer, "in training"))
        return loaded

    @classmethod
    def commands(cls, recipe: Recipe, threshold: float) -> list[str]:
        """Return the commands of the model card, with FOLDER for the model's folder."""
        if recipe.data.reverse:
            return ["btr write-errors TEXT.txt --model FOLDER -o PAIRS.tsv"]
        if cls.reranker is None:
            return ["btr generate SOURCES.txt --model FOLDER -o CANDIDATES.jsonl"]
        top = recipe.validation.top
        return [
            f"btr score CANDIDATES.jsonl --reranker {cls.reranker}:FOLDER -o SCORES.jsonl",
            f"btr rerank SCORES.jsonl --threshold {threshold:g} --top {top} -o CORRECTED.txt",
        ]

    @classmethod
    def card_rows(cls, recipe: Recipe) -> Iterator[tuple[str, str]]:
        """Give the rows of the model card's table that this objective adds."""
        if "negatives" in cls.settings and recipe.task == "correct":
            yield "negatives (a_train)", str(recipe.objective.negatives)

    @property
    def device(self) -> torch.device:
        """Return where the model is."""
        device: torch.device = next(self.model.parameters()).device
        return device
