"""The training loop: updates from batches, in one process or several, stopped and resumed at any time.

All random numbers are derived from the seed and the number of the update, the batch or the example. So a run that was
killed and resumed goes on as if nothing had happened, and several processes do what one would.
"""

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from transformers.optimization import Adafactor

from btr.corpus.files import writing_folder
from btr.errors import InputError
from btr.models.identity import model_hash
from btr.models.initial import load_initial_model
from btr.training.batches import DROPOUT, MASKS, SHAPE, Batches, generator, plan_epoch
from btr.training.objective import Batch, Objective
from btr.training.recipe import Optimizer, Recipe, expand
from btr.training.records import Update


@dataclass
class Progress:
    """How far a run is."""

    epoch: int = 0
    update: int = 0  # within the epoch
    step: int = 0  # updates in all
    tokens: int = 0
    seconds: float = 0.0
    best: float | None = None  # score of the model that is saved
    validated: int = 0  # the step of the last validation
    origin: str | None = None  # identifies the examples and the first weights


class LossModule(torch.nn.Module):
    """An objective's loss as a forward pass, so that what wraps the module (DDP) knows of each use of its weights."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = objective.model, objective

    def forward(self, batch: Batch) -> torch.Tensor:
        return self.objective.loss(batch)


@dataclass
class Trainer:
    """Moves a model's weights by an objective's loss."""

    objective: Objective
    dataset: Any  # of the library `datasets`
    run: Path
    accelerator: Accelerator
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.recipe: Recipe = self.objective.recipe
        table = self.dataset.with_format("numpy")
        self.sizes = np.asarray(table["size"][:])
        self.shapes = np.stack([np.asarray(table[name][:]) for name in SHAPE], 1)
        model = self.objective.model
        self.trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.others, self.others_share = self.load_others()
        optimizer = make_optimizer(self.recipe.optimizer, list(self.trained.values()))
        self.loss, self.optimizer = self.accelerator.prepare(LossModule(self.objective), optimizer)
        examples = Path(self.dataset.cache_files[0]["filename"]).stem
        self.progress.origin = f"{examples}#{model_hash(expand(self.recipe.model))}"
        self.updates = self.plan(0)
        # Epochs differ by an update or two, as their batches do; schedules and bars are made for this number.
        self.steps = self.recipe.steps or len(self.updates) * int(self.recipe.epochs or 0)
        settings = self.recipe.optimizer
        warmup = settings.warmup_steps or round(settings.warmup_epochs * len(self.updates))
        self.warmup = max(1, warmup) if settings.warmup_steps or settings.warmup_epochs else 0

    def release(self) -> None:
        """Let go of the module that DDP wraps while the process group lives.

        As the group's last owner it would end the group's threads while it holds the GIL, for which they may wait.
        """
        self.loss, self.optimizer = self.accelerator.free_memory(self.loss, self.optimizer)

    def load_others(self) -> tuple[dict[str, torch.Tensor], float]:
        """Return the weights to average with, the first ones and those of other models, and their share in all."""
        recipe, shares = self.recipe, self.recipe.average_with
        total = recipe.average_with_start + sum(shares.values())
        if not total:
            return {}, 0.0
        part = recipe.average_with_start / total
        others = {name: weight.detach() * part for name, weight in self.trained.items()}
        for model, share in shares.items():
            loaded, _ = load_initial_model(self.objective.model_kind, expand(model), recipe.dropout, recipe.seed)
            weights = dict(loaded.named_parameters())
            for name, weight in self.trained.items():
                if name not in weights or weights[name].shape != weight.shape:
                    raise InputError(
                        f"{model}: has other weights than {recipe.model} ({name}); they can't be averaged."
                    )
                others[name] += weights[name].detach().to(weight.device) * (share / total)
        return others, total

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the model the averaged weights that the recipe wants; afterwards those of training again."""
        trained = {name: self.trained[name].detach().clone() for name in self.others}
        with torch.no_grad():
            for name, other in self.others.items():
                self.trained[name].lerp_(other, self.others_share)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, weight in trained.items():
                    self.trained[name].copy_(weight)

    def plan(self, epoch: int) -> list[Batches]:
        """Return the updates of an epoch."""
        recipe = self.recipe
        micro = min(recipe.micro_tokens, recipe.batch_tokens)
        return plan_epoch(self.sizes, self.shapes, recipe.seed, epoch, micro, recipe.batch_tokens, recipe.batch_by)

    @property
    def complete(self) -> bool:
        """Return whether the run has come to its end."""
        recipe, progress = self.recipe, self.progress
        return progress.epoch >= recipe.epochs if recipe.epochs else progress.step >= self.steps

    @property
    def epoch(self) -> float:
        """Return the epochs so far, with the part of the present one."""
        return self.progress.epoch + self.progress.update / len(self.updates)

    def train(self, limit: int | None = None) -> Iterator[Update | None]:
        """Train to the run's end or to the update `limit`: give a record per update, and None after an epoch."""
        progress = self.progress
        while not self.complete and not (limit and progress.step >= limit):
            self.updates = self.plan(progress.epoch)
            while progress.update < len(self.updates) and not self.complete and not (limit and progress.step >= limit):
                yield self.update(self.updates[progress.update])
            if self.end_epoch():
                yield None

    def end_epoch(self) -> bool:
        """Go on to the next epoch if all updates of this one are done; return whether they are."""
        is_done = self.progress.update == len(self.updates)
        if is_done:
            self.progress.epoch, self.progress.update = self.progress.epoch + 1, 0
        return is_done

    def update(self, batches: Batches) -> Update:
        """Do one step of the optimizer."""
        started = time.perf_counter()
        progress, settings = self.progress, self.recipe.optimizer
        factor = schedule(settings.schedule, progress.step, self.warmup, self.steps, settings.warmup)
        rate = settings.learning_rate * factor
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self.compute_gradients(batches)
        norm = self.step()
        tokens = sum(int(self.sizes[k]) for batch in batches for k in batch)
        seconds = time.perf_counter() - started
        progress.update += 1
        progress.step += 1
        progress.tokens += tokens
        progress.seconds += seconds
        return Update(progress.step, loss, round(self.epoch, 4), norm, rate, tokens, round(tokens / seconds, 1))

    def draw(self, batch: list[int]) -> Batch:
        """Make a batch whose masks depend on the seed, the epoch and the examples only."""
        examples = [self.dataset[k] for k in batch]
        generators = [generator(MASKS, self.recipe.seed, self.progress.epoch, k) for k in batch]
        return self.objective.draw(examples, generators)

    def compute_gradients(self, batches: Batches) -> float:
        """Backpropagate this process's batches of an update; return the mean loss of the whole update.

        The loss is a sum divided by the count of tokens (or examples) in the whole update, so that several processes
        do what one would. DDP averages over processes, hence the weight; only a process's last batch communicates. A
        process that has no batch in this update repeats the first one with weight 0, since DDP waits for all.
        """
        accelerator, processes = self.accelerator, self.accelerator.num_processes
        numbers = range(accelerator.process_index, len(batches), processes)
        weight = processes if numbers else 0
        drawn = [(k, self.draw(batches[k])) for k in numbers or [0]]
        count = self.add_up(sum(batch.count for _, batch in drawn) if weight else 0.0)
        total = 0.0
        for k, batch in drawn:
            torch.manual_seed(int(generator(DROPOUT, self.recipe.seed, self.progress.step, k).integers(2**62)))
            with nullcontext() if k == drawn[-1][0] else accelerator.no_sync(self.loss):
                loss = self.loss(batch)
                accelerator.backward(loss * weight / max(1.0, count))
            total += float(loss.detach()) if weight else 0.0
        return self.add_up(total) / max(1.0, count)

    def add_up(self, value: float) -> float:
        """Return the sum of a number over all processes."""
        if self.accelerator.num_processes == 1:
            return value
        number = torch.tensor(value, dtype=torch.float64, device=self.accelerator.device)
        return float(self.accelerator.reduce(number, "sum"))

    def step(self) -> float:
        """Clip the gradients and move the weights; return the gradient's norm before clipping."""
        norm = self.accelerator.clip_grad_norm_(self.trained.values(), self.recipe.optimizer.clip or math.inf)
        if not torch.isfinite(norm):  # the weights, and the last checkpoint, are still good
            raise InputError(
                f"update {self.progress.step + 1}: the gradient is not finite; lower the learning rate, or clip."
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm)

    def save(self) -> None:
        """Write all that the run needs to go on; the old checkpoint goes only when the new one is complete."""
        weights = {name: weight.detach().contiguous() for name, weight in self.trained.items()}
        with writing_folder(self.run / "checkpoint") as folder:
            save_file(weights, folder / "weights")
            with open(folder / "optimizer", "wb") as file:
                torch.save(self.optimizer.state_dict(), file)
            (folder / "progress.json").write_text(json.dumps(asdict(self.progress)))

    def load(self) -> None:
        """Go on from the last checkpoint, if there is one."""
        for folder in (self.run / "checkpoint", self.run / "checkpoint.old"):
            if (folder / "progress.json").is_file():
                progress = Progress(**json.loads((folder / "progress.json").read_text()))
                if progress.origin != self.progress.origin:
                    raise InputError(f"{self.run}: the data or the first weights are not those that it began with.")
                weights = load_file(folder / "weights")
                with torch.no_grad():
                    for name, weight in self.trained.items():
                        weight.copy_(weights[name])
                state = torch.load(folder / "optimizer", weights_only=True, map_location="cpu")
                self.optimizer.load_state_dict(state)
                self.progress = progress
                self.updates = self.plan(progress.epoch)
                self.end_epoch()  # stopped just before that
                return


def make_optimizer(settings: Optimizer, weights: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """Make Adafactor as in the paper (no relative step, no scaling by parameters), or AdamW."""
    if settings.name == "adafactor":
        return Adafactor(
            weights,
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            scale_parameter=False,
            relative_step=False,
            warmup_init=False,
        )
    return torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


def schedule(name: str, step: int, warmup: int, steps: int, shape: str = "linear") -> float:
    """Return the learning rate's factor after so many updates: warm-up, then constant, falling to 0, or by 1/√.

    In a warm-up of the shape `linear` the rate rises to its peak; in one of the shape `constant` it is the peak.
    """
    if step < warmup:
        return (step + 1) / warmup if shape == "linear" else 1.0
    if name == "linear":
        return max(0.0, (steps - step) / max(1, steps - warmup))
    if name == "inverse-sqrt":
        return math.sqrt(warmup / (step + 1))
    return 1.0
