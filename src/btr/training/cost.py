"""What training costs, before it is paid: `btr train RECIPE --dry-run`. No weights are loaded."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.models.locate import locate_model
from btr.models.tokenizer import load_tokenizer
from btr.progress import track
from btr.records import Record
from btr.training import OBJECTIVES
from btr.training.architecture import build_without_weights, earlier_recipe, first_model, load_config
from btr.training.batches import plan_epoch
from btr.training.data import STREAM, read_examples, synthetic_files
from btr.training.flops import BatchShape, EncoderLayers, ExampleShape, Flops, T5Layers, batch_shape
from btr.training.objective import Example, Objective
from btr.training.recipe import Recipe, read_recipe

# What one A100 did in the paper's own pre-training (13 days on two of them), in the FLOPs that are counted here.
FLOPS_PER_SECOND = 2.4e13
BYTES = {"float32": 4, "bfloat16": 2, "auto": 2}  # per number of the forward pass; weights are always float32


@dataclass(frozen=True, slots=True)
class Memory(Record):
    """The memory of one device, in bytes."""

    weights: int
    gradients: int
    optimizer: int
    activations: int  # of one batch of micro_tokens; an estimate

    @property
    def total(self) -> int:
        """Return the bytes of all parts."""
        return self.weights + self.gradients + self.optimizer + self.activations

    def to_dict(self) -> dict[str, Any]:
        """Return the parts and their sum."""
        return {**super(Memory, self).to_dict(), "total": self.total}


@dataclass(frozen=True, slots=True)
class StageCost(Record):
    """What one recipe costs."""

    recipe: str  # its name, without .yaml
    kind: str
    task: str
    data: str  # "read", or "expected" where the recipe's own counts stand in
    parameters: int
    trained: int  # parameters that are not frozen
    pairs: int  # sources per epoch
    targets: int  # gold and negatives per epoch
    epochs: float
    updates: int
    tokens: int  # of the whole stage: sources and targets, without padding
    flops: Flops  # of the whole stage
    memory: Memory
    hours: float

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as JSON has it, with the sum of its FLOPs."""
        record = super(StageCost, self).to_dict()
        return {**record, "flops": {**self.flops.to_dict(), "total": self.flops.total}}


@dataclass(frozen=True, slots=True)
class TrainingCost(Record):
    """What a recipe costs, with the stages before it whose models do not exist yet."""

    stages: tuple[StageCost, ...]
    devices: int
    flops_per_second: float  # of one device

    @property
    def hours(self) -> float:
        """Return the hours of all stages, one after another."""
        return sum(stage.hours for stage in self.stages)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as JSON has it, with the hours in all."""
        return {**super(TrainingCost, self).to_dict(), "hours": self.hours}


def training_cost(
    recipe: PathLike,
    *,
    changes: Mapping[str, Any] | None = None,
    devices: int = 1,
    flops_per_second: float = FLOPS_PER_SECOND,
) -> TrainingCost:
    """Return what training by a recipe costs, and train nothing.

    The data is read and counted; where a file of it is missing, the recipe's `expected` stands in. Where the recipe
    starts from a run that does not exist yet, and the recipe of that run's name is in the same folder, that stage is
    counted too. `flops_per_second` is what one device does in practice. Validation is not counted.
    """
    if devices < 1 or not 0 < flops_per_second < math.inf:
        raise InputError("devices and flops_per_second must be above 0, and finite.")
    path = Path(recipe)
    settings = read_recipe(path, changes)
    first_model(settings, path)  # refuses recipes that start from each other
    stages = [stage_cost(settings, path, devices=devices, flops_per_second=flops_per_second)]
    while beside := earlier_recipe(settings, path):
        settings, path = read_recipe(beside), beside
        stages.insert(0, stage_cost(settings, path, devices=devices, flops_per_second=flops_per_second))
    return TrainingCost(tuple(stages), devices, flops_per_second)


def stage_cost(
    recipe: Recipe, path: PathLike, *, devices: int = 1, flops_per_second: float = FLOPS_PER_SECOND
) -> StageCost:
    """Return what one recipe costs, without the stages before it. `path` is the recipe's file."""
    name = first_model(recipe, Path(path))
    config = load_config(name)
    model = build_without_weights(recipe.kind, config)
    counts = count_data(recipe, path, model, config, name)
    layers = make_layers(recipe, model, counts.vocabulary)
    flops = sum((layers.flops(batch).scaled(count) for batch, count in counts.batches), Flops())
    epochs = recipe.epochs if recipe.epochs else int(recipe.steps or 0) / counts.updates
    total = flops.scaled(epochs)
    largest = max(layers.activations(batch) for batch, _ in counts.batches)
    parameters, trained = count_parameters(recipe, model)
    return StageCost(
        recipe=Path(path).stem,
        kind=recipe.kind,
        task=recipe.task,
        data="read" if counts.is_read else "expected",
        parameters=parameters,
        trained=trained,
        pairs=counts.pairs,
        targets=counts.targets,
        epochs=round(epochs, 4),
        updates=recipe.steps or counts.updates * int(recipe.epochs or 0),
        tokens=round(counts.tokens * epochs),
        flops=total,
        memory=Memory(
            4 * parameters, 4 * trained, 4 * optimizer_numbers(recipe, model), largest * BYTES[recipe.precision]
        ),
        hours=total.total / flops_per_second / devices / 3600,
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """An epoch of a recipe's data: the shapes of its batches, and how often each occurs."""

    is_read: bool
    pairs: int
    targets: int
    tokens: int
    updates: int
    batches: Sequence[tuple[BatchShape, float]]
    vocabulary: int | None = None  # tokens that the data has, where probabilities are among these


def count_data(recipe: Recipe, path: PathLike, model: Any, config: Any, name: str) -> Counts:
    """Count an epoch: from the data, or from the recipe's `expected` where a file is missing."""
    absent = next(absent_files(recipe), None)
    if absent is None:
        tokenizer = load_tokenizer(locate_model(name), config, name)
        return count_examples(OBJECTIVES[recipe.kind](recipe, model, tokenizer))
    if recipe.expected is None:
        raise InputError(
            f"{path}: its data {absent} is not at hand; bring it, or give its counts with "
            "--set expected.pairs=N --set expected.source_tokens=N."
        )
    return count_expected(OBJECTIVES[recipe.kind].counting(recipe))


def absent_files(recipe: Recipe) -> Iterator[str]:
    """Yield the files of a recipe's data that are not at hand; a dataset on the hub never is."""
    data = recipe.data
    negatives = data.candidates if recipe.objective.negatives else []
    for file in (*data.pairs, *negatives, *data.edits, *data.text, *synthetic_files(data.synthetic)):
        if file.startswith(STREAM) or not Path(os.path.expandvars(os.path.expanduser(file))).is_file():
            yield file


def count_examples(objective: Objective) -> Counts:
    """Read the data, and plan its first epoch as training does."""
    recipe = objective.recipe
    sizes: list[int] = []
    shapes: list[tuple[int, int, int]] = []
    work: list[ExampleShape] = []
    vocabulary = set[int]()
    limit = recipe.data.max_examples
    for example in islice(track(read_examples(objective), limit, "Reading"), limit):
        sizes.append(objective.size(example))
        shapes.append(objective.shape(example))
        work.append(objective.work(example))
        if recipe.vocabulary == "used":
            vocabulary.update(example["source"], *example["targets"])
    if not sizes:
        raise InputError("no example is left to train on; are all longer than max_source and max_target?")
    updates = plan(recipe, np.array(sizes), np.array(shapes))
    batches = [(batch_shape((work[k] for k in batch), objective.is_t5), 1.0) for update in updates for batch in update]
    targets = sum(max(1, one.rows) for one in work)
    return Counts(True, len(sizes), targets, sum(sizes), len(updates), batches, len(vocabulary) or None)


def count_expected(objective: Objective) -> Counts:
    """Make an epoch of examples of the expected mean lengths; without padding, as they are all alike."""
    recipe, expected = objective.recipe, objective.recipe.expected
    assert expected is not None
    pairs = min(expected.pairs, recipe.data.max_examples or expected.pairs)
    per_pair = (expected.targets or expected.pairs) / expected.pairs
    source = min(round(expected.source_tokens), recipe.data.max_source)
    target = min(round(expected.target_tokens or expected.source_tokens), recipe.data.max_target)
    tokens, counted, batches = 0.0, 0.0, []
    for rows, count in whole_parts(per_pair, pairs):
        example = objective.typical_example(source, target, rows)
        size = batch_size(objective, example)
        together = max(1, min(recipe.micro_tokens, recipe.batch_tokens) // size)
        batches.append((batch_shape([objective.work(example)] * together, objective.is_t5), count / together))
        tokens += count * objective.size(example)
        counted += count * size
    updates = max(1, round(counted / recipe.batch_tokens))
    return Counts(False, pairs, round(per_pair * pairs), round(tokens), updates, batches)


def batch_size(objective: Objective, example: Example) -> int:
    """Return the tokens of an example as batch_tokens counts them."""
    if objective.recipe.batch_by == "longer_side":
        rows, longest, source = objective.shape(example)
        return rows * max(longest, source)
    return objective.size(example)


def whole_parts(mean: float, count: int) -> Iterator[tuple[int, float]]:
    """Yield the whole numbers around a mean, and how many of the count have each."""
    low, part = int(mean), mean % 1
    yield max(1, low), count * (1 - part)
    if part > 0:
        yield low + 1, count * part


def plan(recipe: Recipe, sizes: NDArray[Any], shapes: NDArray[Any]) -> list[list[list[int]]]:
    """Return the updates of the first epoch."""
    micro = min(recipe.micro_tokens, recipe.batch_tokens)
    return plan_epoch(sizes, shapes, recipe.seed, 0, micro, recipe.batch_tokens, recipe.batch_by)


def make_layers(recipe: Recipe, model: Any, vocabulary: int | None) -> T5Layers | EncoderLayers:
    """Return the sizes of a model's layers."""
    if OBJECTIVES[recipe.kind].is_t5:
        return T5Layers(model, vocabulary, recipe.freeze_embeddings)
    return EncoderLayers(model)


def count_parameters(recipe: Recipe, model: Any) -> tuple[int, int]:
    """Return how many parameters the model has, and how many of them are trained."""
    total = sum(weight.numel() for weight in model.parameters())
    return total, sum(weight.numel() for weight in trained_weights(recipe, model))


def trained_weights(recipe: Recipe, model: Any) -> Iterable[Any]:
    """Return the weights that are not frozen. A BTR learns the embedding of its mask, so it trains the embeddings."""
    frozen: set[int] = set()
    if recipe.freeze_embeddings:
        if (output := model.get_output_embeddings()) is not None:  # edit-btr has none
            frozen.add(id(output.weight))
        if OBJECTIVES[recipe.kind].model_kind != "btr":
            frozen.add(id(model.get_input_embeddings().weight))
    return [weight for weight in model.parameters() if id(weight) not in frozen]


def optimizer_numbers(recipe: Recipe, model: Any) -> int:
    """Return how many numbers the optimizer stores: AdamW two per weight, Adafactor one per row and per column."""
    weights = trained_weights(recipe, model)
    if recipe.optimizer.name == "adamw":
        return 2 * sum(weight.numel() for weight in weights)
    return sum(sum(weight.shape) if weight.dim() > 1 else weight.numel() for weight in weights)
