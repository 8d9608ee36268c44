"""The training loop: updates from batches, alone or shared by several processes, and stopped and resumed at any time.

All that is random is derived from the seed and the number of the update, the batch or the example. So a run that was
killed and resumed goes on as if nothing had happened, and several processes do what one would.
"""

import json
import math
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from transformers.optimization import Adafactor

from btr.corpus.files import replace_folder
from btr.errors import InputError
from btr.models.identity import model_hash
from btr.models.initial import load_initial_model
from btr.training.data import DROPOUT, MASKS, SHAPE, Update, deal, generator
from btr.training.recipe import Optimizer, Recipe, expand
from btr.training.tasks import Task


@dataclass
class Progress:
    """How far a run is."""

    epoch: int = 0
    update: int = 0  # within the epoch
    step: int = 0  # updates in all
    tokens: int = 0
    seconds: float = 0.0
    best: float | None = None
    since_best: int = 0  # validations
    validated: int = 0  # the step after which it was measured last
    origin: str = ""  # of the examples and the first weights


@dataclass
class Trainer:
    """Moves a model's weights by a task's losses."""

    task: Task
    dataset: Any
    run: Path
    accelerator: Accelerator
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.recipe: Recipe = self.task.recipe
        table = self.dataset.with_format("numpy")
        self.sizes = np.asarray(table["size"][:])
        self.shapes = np.stack([np.asarray(table[name][:]) for name in SHAPE], 1)
        self.trained = {name: weight for name, weight in self.task.model.named_parameters() if weight.requires_grad}
        self.kept, self.share = self.keep()
        self.optimizer = make_optimizer(self.recipe.optimizer, list(self.trained.values()))
        examples = Path(self.dataset.cache_files[0]["filename"]).stem
        self.progress.origin = f"{examples}#{model_hash(expand(self.recipe.model))}"
        self.updates = self.plan(0)
        # Epochs differ by an update or two, as their batches do; this is what schedules and bars are made for.
        self.steps = self.recipe.steps or len(self.updates) * int(self.recipe.epochs or 0)
        settings = self.recipe.optimizer
        warmup = settings.warmup_steps or round(settings.warmup_epochs * len(self.updates))
        self.warmup = max(1, warmup) if settings.warmup_steps or settings.warmup_epochs else 0

    def keep(self) -> tuple[dict[str, torch.Tensor], float]:
        """The weights that the recipe keeps, the first ones or an average of other models', and their share."""
        recipe = self.recipe
        if not isinstance(recipe.keep, dict):
            return {name: weight.detach().clone() for name, weight in self.trained.items() if recipe.keep}, recipe.keep
        total = sum(recipe.keep.values())
        kept: dict[str, torch.Tensor] = {}
        for model, share in recipe.keep.items():
            weights = dict(
                load_initial_model(recipe.kind, expand(model), recipe.dropout, recipe.seed)[0].named_parameters()
            )
            for name, weight in self.trained.items():
                if name not in weights or weights[name].shape != weight.shape:
                    raise InputError(f"{model}: has other weights than {recipe.model} ({name}); keep needs its equals.")
                part = weights[name].detach().to(weight.device) * (share / total)
                kept[name] = kept[name] + part if name in kept else part
        return kept, total

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The model's weights averaged with those that the recipe keeps; afterwards its own."""
        own = {name: self.trained[name].detach().clone() for name in self.kept}
        with torch.no_grad():
            for name, kept in self.kept.items():
                self.trained[name].lerp_(kept, self.share)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, weight in own.items():
                    self.trained[name].copy_(weight)

    def plan(self, epoch: int) -> list[Update]:
        """The updates of an epoch."""
        recipe = self.recipe
        micro = min(recipe.micro_tokens, recipe.batch_tokens)
        return deal(self.sizes, self.shapes, recipe.seed, epoch, micro, recipe.batch_tokens)

    @property
    def complete(self) -> bool:
        """Whether the run has come to its end."""
        recipe, progress = self.recipe, self.progress
        if recipe.patience and progress.since_best >= recipe.patience:
            return True
        return progress.epoch >= recipe.epochs if recipe.epochs else progress.step >= self.steps

    def train(self, limit: int | None = None) -> Iterator[dict[str, Any] | None]:
        """Go on to the run's end or the update `limit`: gives what the log says of each update, None after an epoch."""
        progress = self.progress
        while not self.complete and not (limit and progress.step >= limit):
            self.updates = self.plan(progress.epoch)
            while progress.update < len(self.updates) and not self.complete and not (limit and progress.step >= limit):
                yield self.update(self.updates[progress.update])
            if progress.update == len(self.updates):
                progress.epoch, progress.update = progress.epoch + 1, 0
                yield None

    def update(self, batches: Update) -> dict[str, Any]:
        """One step of the optimizer; gives what the log says of it."""
        started = time.perf_counter()
        progress, accelerator = self.progress, self.accelerator
        settings = self.recipe.optimizer
        rate = settings.learning_rate * schedule(settings.schedule, progress.step, self.warmup, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        drawn = [
            (number, self.draw(batch))
            for number, batch in enumerate(batches)
            if number % accelerator.num_processes == accelerator.process_index
        ]
        counts: dict[str, float] = dict.fromkeys(self.loss_names(), 0.0)
        for _, batch in drawn:
            for name, count in batch.counts.items():
                counts[name] += count
        counts = self.sum_up(counts)
        sums = dict.fromkeys(counts, 0.0)
        for number, batch in drawn:
            torch.manual_seed(int(generator(DROPOUT, self.recipe.seed, progress.step, number).integers(2**62)))
            with accelerator.autocast():
                losses = self.task.losses(batch)
            torch.stack([loss / max(1.0, counts[name]) for name, loss in losses.items()]).sum().backward()
            for name, loss in losses.items():
                sums[name] += float(loss.detach())
        sums = self.sum_up(sums)
        norm = self.step()
        tokens = sum(int(self.sizes[k]) for batch in batches for k in batch)
        seconds = time.perf_counter() - started
        progress.update += 1
        progress.step += 1
        progress.tokens += tokens
        progress.seconds += seconds
        means = {name: sums[name] / max(1.0, counts[name]) for name in sums}
        return {
            "step": progress.step,
            "epoch": round(progress.epoch + progress.update / len(self.updates), 4),
            "loss": sum(means.values()),
            "gradient_norm": norm,
            "learning_rate": rate,
            "tokens": tokens,
            "tokens_per_second": round(tokens / seconds, 1),
        }

    def draw(self, batch: list[int]) -> Any:
        """A batch whose masks depend on the seed, the epoch and the examples only."""
        examples = [self.dataset[k] for k in batch]
        return self.task.draw(examples, [generator(MASKS, self.recipe.seed, self.progress.epoch, k) for k in batch])

    def loss_names(self) -> list[str]:
        return ["listwise" if self.recipe.objective.listwise else "likelihood"]

    def sum_up(self, values: dict[str, float]) -> dict[str, float]:
        """Numbers added over all processes."""
        if self.accelerator.num_processes == 1:
            return values
        own = torch.tensor(list(values.values()), dtype=torch.float64, device=self.accelerator.device)
        return dict(zip(values, self.accelerator.reduce(own, "sum").tolist()))

    def step(self) -> float:
        """Add the gradients of all processes, clip them, and move the weights; gives the gradient's norm."""
        for weight in self.trained.values():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            if self.accelerator.num_processes > 1:
                weight.grad = self.accelerator.reduce(weight.grad, "sum")
        norm = torch.nn.utils.clip_grad_norm_(self.trained.values(), self.recipe.optimizer.clip or math.inf)
        if not torch.isfinite(norm):  # the weights, and the last checkpoint, are still good
            raise InputError(
                f"update {self.progress.step + 1}: the gradient is not finite; lower the learning rate, or clip."
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm)

    def save(self) -> None:
        """Keep all that the run needs to go on; the old checkpoint goes only when the new one is complete."""
        temporary = self.run / "checkpoint.part"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        save_file({name: weight.detach().contiguous() for name, weight in self.trained.items()}, temporary / "weights")
        torch.save(self.optimizer.state_dict(), temporary / "optimizer")
        (temporary / "progress.json").write_text(json.dumps(asdict(self.progress)))
        replace_folder(temporary, self.run / "checkpoint")

    def load(self) -> bool:
        """Go on from the last checkpoint, if there is one."""
        for place in (self.run / "checkpoint", self.run / "checkpoint.old"):
            if (place / "progress.json").is_file():
                progress = Progress(**json.loads((place / "progress.json").read_text()))
                if progress.origin != self.progress.origin:
                    raise InputError(f"{self.run}: the data or the first weights are not those that it began with.")
                kept = load_file(place / "weights", device=str(self.accelerator.device))
                with torch.no_grad():
                    for name, weight in self.trained.items():
                        weight.copy_(kept[name])
                state = torch.load(place / "optimizer", weights_only=True, map_location="cpu")
                self.optimizer.load_state_dict(state)
                self.progress = progress
                return True
        return False


def make_optimizer(settings: Optimizer, weights: list[Any]) -> torch.optim.Optimizer:
    """Adafactor as in the paper (no relative step, no scaling by parameters), or AdamW."""
    if settings.name == "adafactor":
        return Adafactor(
            weights,
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            scale_parameter=False,
            relative_step=False,
            warmup_init=False,
        )
    return torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=settings.weight_decay)


def schedule(name: str, step: int, warmup: int, steps: int) -> float:
    """The learning rate's factor after so many updates: warm-up, then constant, falling to 0, or by 1/√."""
    if step < warmup:
        return (step + 1) / warmup
    if name == "linear":
        return max(0.0, (steps - step) / max(1, steps - warmup))
    if name == "inverse-sqrt":
        return math.sqrt(warmup / (step + 1))
    return 1.0
