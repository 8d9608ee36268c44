"""`btr train`: a recipe in, a run's folder out, with the model in it."""

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import (
    DistributedDataParallelKwargs,
    DistributedType,
    GradientAccumulationPlugin,
    InitProcessGroupKwargs,
    broadcast_object_list,
)

from btr import __version__
from btr.corpus.files import PathLike, refused_writes, writing_folder
from btr.errors import InputError, Interrupted
from btr.models.initial import load_initial_model
from btr.training import OBJECTIVES
from btr.training.card import write_card
from btr.training.data import prepare_dataset, used_tokens
from btr.training.loop import Progress, Trainer
from btr.training.objective import Objective
from btr.training.precision import Precision, choose_precision
from btr.training.recipe import Recipe, expand, read_recipe, write_recipe
from btr.training.records import Facts, Measures, Validation, read_history
from btr.training.run_log import RunLog
from btr.training.stop import StopRequest
from btr.training.validation import Validator

UNSUPPORTED = DistributedType.FSDP, DistributedType.DEEPSPEED, DistributedType.MEGATRON_LM


@dataclass(frozen=True)
class Trained:
    """How far a run is, its best validation, and where the model is."""

    run: str
    steps: int
    new_steps: int
    epochs: int
    tokens: int
    tokens_per_second: float
    precision: Precision
    complete: bool
    best: Measures | None
    model: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        return {**vars(self), "best": self.best.to_dict() if self.best else None}


def train(
    recipe: PathLike, output: PathLike, *, changes: Mapping[str, Any] | None = None, max_steps: int | None = None
) -> Trained:
    """Train a model by a recipe.

    A run that was stopped continues where it stopped. `changes` replace what the recipe says; `max_steps` ends the run
    early, and a later call continues it.
    """
    settings = read_recipe(recipe, changes)
    with refused_writes(output):
        return train_in(Path(output), settings, max_steps)


def train_in(run: Path, settings: Recipe, max_steps: int | None) -> Trained:
    """Train in a run's folder."""
    accelerator = start_run(settings, run)
    validator = Validator(settings) if settings.validation.gold and accelerator.is_main_process else None
    with accelerator.main_process_first():
        kind = OBJECTIVES[settings.kind]
        model, tokenizer = load_initial_model(kind.model_kind, expand(settings.model), settings.dropout, settings.seed)
        objective = kind(settings, model, tokenizer)
        dataset = prepare_dataset(objective, run / "data")
    model.to(accelerator.device).train()
    if settings.freeze_embeddings:
        objective.freeze_embeddings()
    if settings.vocabulary == "used":
        objective.restrict_vocabulary(used_tokens(dataset))
    trainer = Trainer(objective, dataset, run, accelerator)
    trainer.load()
    accelerator.wait_for_everyone()
    progress = trainer.progress
    before = progress.step
    with StopRequest() as stop, RunLog(run, accelerator, before, progress.validated, trainer.steps) as log:
        try:
            follow(trainer, validator, log, stop, max_steps)
        except BaseException:
            trainer.release()
            raise
        finally:
            if accelerator.is_main_process:
                collect_facts(trainer).write(run)
    has_model = (run / "model").exists()
    if accelerator.is_main_process:
        trainer.save()
        if has_model:
            write_card(run / "model", settings, run)
    best = read_history(run).best if accelerator.is_main_process else None
    complete = trainer.complete
    trainer.release()
    # No broadcast here: gloo frees its tensors in a thread that needs the GIL, which destroying the group holds.
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return Trained(
        str(run),
        progress.step,
        progress.step - before,
        progress.epoch,
        progress.tokens,
        round(progress.tokens / max(1e-9, progress.seconds), 1),
        choose_precision(settings.precision),
        complete,
        best.measures if best else None,
        str(run / "model") if has_model else None,
    )


def start_run(recipe: Recipe, run: Path) -> Accelerator:
    """Make the run's folder, or check that it is this recipe's."""
    accelerator = make_accelerator(recipe, run)
    if accelerator.is_main_process:
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{run}: can't be a run's folder ({error.strerror}).") from None
        if (run / "recipe.yaml").exists():
            has_begun = any((run / name).exists() for name in ("checkpoint", "checkpoint.old", "model"))
            if has_begun and read_recipe(run / "recipe.yaml") != recipe:
                raise InputError(f"{run}: is a run of another recipe; choose another folder, or remove it.")
        elif any(run.iterdir()):
            raise InputError(f"{run}: is not empty, and no run; choose another folder.")
        write_recipe(recipe, run / "recipe.yaml")
    accelerator.wait_for_everyone()
    accelerator.init_trackers("tensorboard")
    return accelerator


def make_accelerator(recipe: Recipe, run: Path) -> Accelerator:
    """Return what runs the training, by the user's configuration of `accelerate`."""
    AcceleratorState._reset_state()  # an earlier run in this process may have had another precision
    ddp = DistributedDataParallelKwargs(
        find_unused_parameters=not OBJECTIVES[recipe.kind].uses_all_weights, gradient_as_bucket_view=True
    )
    accelerator = Accelerator(
        cpu=not torch.cuda.is_available(),
        mixed_precision="bf16" if choose_precision(recipe.precision) == "bfloat16" else "no",
        log_with="tensorboard",
        project_dir=run,
        # One process may read data or validate for long while the others wait.
        kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(days=30)), ddp],
        # The recipe says how many tokens an update has, whatever the user's configuration says of accumulation.
        gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
    )
    if accelerator.distributed_type in UNSUPPORTED:
        raise InputError(
            f"training shares its work by DDP, and not by {accelerator.distributed_type.value}: every process holds "
            "the whole model. Run 'accelerate config' again without it."
        )
    return accelerator


def follow(
    trainer: Trainer, validator: Validator | None, log: RunLog, stop: StopRequest, max_steps: int | None
) -> None:
    """Train to the end, with checkpoints on the way and a validation after each epoch."""
    progress, saved = trainer.progress, time.monotonic()
    if is_due(progress):  # stopped before the validation was done
        validate(trainer, validator, log)
    for record in trainer.train(max_steps):
        if record:
            log.write(record)
        if is_due(progress):
            validate(trainer, validator, log)
        (is_stopped,) = broadcast_object_list([stop.requested])
        if is_stopped or time.monotonic() - saved > 60 * trainer.recipe.checkpoint_minutes:
            if trainer.accelerator.is_main_process:
                trainer.save()
            saved = time.monotonic()
        if is_stopped:
            raise Interrupted(
                f"interrupted; the same command continues where it stopped ({trainer.run} holds what is done)."
            )
    if trainer.complete and progress.validated < progress.step:  # within an epoch
        validate(trainer, validator, log)


def is_due(progress: Progress) -> bool:
    """Return whether it is time to validate: after an epoch that was not validated yet."""
    return progress.update == 0 and progress.validated < progress.step


def validate(trainer: Trainer, validator: Validator | None, log: RunLog) -> None:
    """Measure the model, and save it if it is the best so far, or if there is nothing to measure it on."""
    progress, objective = trainer.progress, trainer.objective
    if trainer.accelerator.is_main_process:
        trainer.save()  # so that nothing is lost if the validation fails
    with trainer.averaged():
        measures = validator.measure(objective) if validator else None
    (measures,) = broadcast_object_list([measures])
    progress.validated = progress.step
    is_best = measures is None or progress.best is None or measures.value > progress.best
    if measures is not None:
        log.write(Validation(progress.step, trainer.epoch, measures))
        progress.best = measures.value if is_best else progress.best
    if trainer.accelerator.is_main_process:
        if is_best:
            with trainer.averaged():
                save_model(objective, trainer.run)
        trainer.save()


def save_model(objective: Objective, run: Path) -> None:
    """Save the model as `transformers` does, with its recipe; the one before goes only when this is complete."""
    model = objective.model
    if hasattr(model.config, "scale_decoder_outputs"):  # transformers 5 calls every T5 tied, and other tools trust it
        model.config.tie_word_embeddings = model.config.scale_decoder_outputs
    with writing_folder(run / "model") as folder:
        model.save_pretrained(folder)
        objective.tokenizer.save_pretrained(folder)
        write_recipe(objective.recipe, folder / "recipe.yaml")


def collect_facts(trainer: Trainer) -> Facts:
    """Return what a reader of the run wants to know."""
    progress = trainer.progress
    return Facts(
        version=__version__,
        revision=git_revision(),
        tokens=progress.tokens,
        seconds=round(progress.seconds, 1),
        steps=progress.step,
        examples=len(trainer.dataset),
        parameters=sum(weight.numel() for weight in trainer.objective.model.parameters()),
        trained=sum(weight.numel() for weight in trainer.trained.values()),
        processes=trainer.accelerator.num_processes,
        precision=choose_precision(trainer.recipe.precision),
        complete=trainer.complete,
    )


def git_revision() -> str | None:
    """Return the revision of the code that runs, if it is a checkout."""
    folder = Path(__file__).parent
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=folder, capture_output=True, text=True)
    except OSError:  # there is no git
        return None
    return done.stdout.strip() or None
