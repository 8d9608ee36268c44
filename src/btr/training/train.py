"""`btr train`: a recipe in, a run's folder out, with the model in it."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import InitProcessGroupKwargs, broadcast_object_list

from btr import __version__
from btr.corpus.files import PathLike, replace_folder
from btr.errors import InputError, Interrupted
from btr.models.initial import load_initial_model
from btr.rerankers.btr import mask_token
from btr.training.card import write_card
from btr.training.data import prepare, used_pieces
from btr.training.encoder_tasks import BertTask, RobertaTask
from btr.training.listwise import ListwiseTask
from btr.training.loop import Progress, Trainer
from btr.training.recipe import Recipe, expand, read_recipe, write_recipe
from btr.training.tasks import BTRTask, T5Task, Task
from btr.training.validation import Validator
from btr.training.watch import Watch

TASKS: dict[str, type[Task]] = {
    "seq2seq": T5Task,
    "r2l": T5Task,
    "btr": BTRTask,
    "roberta": RobertaTask,
    "bert": BertTask,
}


def train(
    recipe: PathLike, output: PathLike, *, changes: dict[str, Any] | None = None, max_steps: int | None = None
) -> dict[str, Any]:
    """Train by a recipe; gives the best validation, and where the model is.

    A run that was stopped goes on where it was. `changes` replace what the recipe says; `max_steps` ends the run early,
    to be gone on with later.
    """
    run = Path(output)
    settings = read_recipe(recipe, changes)
    accelerator = start_run(settings, run)
    validator = Validator(settings) if settings.validation.gold and accelerator.is_main_process else None
    with accelerator.main_process_first():
        model, tokenizer = load_initial_model(settings.kind, expand(settings.model), settings.dropout, settings.seed)
        task = (ListwiseTask if settings.objective.listwise else TASKS[settings.kind])(settings, model, tokenizer)
        dataset = prepare(task, run / "data")
    model.to(accelerator.device).train()
    choose_weights(task, dataset, accelerator.device)
    trainer = Trainer(task, dataset, run, accelerator)
    trainer.load()
    accelerator.wait_for_everyone()
    before = trainer.progress.step
    with stopping() as stop, Watch(run, trainer.progress, trainer.steps, accelerator) as watch:
        best = read_best(run) if accelerator.is_main_process else None
        try:
            best = follow(trainer, validator, watch, stop, tokenizer, max_steps) or best
        finally:
            if accelerator.is_main_process:
                write_facts(run, trainer)
    if accelerator.is_main_process:
        trainer.save()
        if (run / "model").exists():
            write_card(run / "model", settings, run)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    progress = trainer.progress
    return {
        "run": str(run),
        "steps": progress.step,
        "new_steps": progress.step - before,
        "epochs": progress.epoch,
        "tokens": progress.tokens,
        "tokens_per_second": round(progress.tokens / max(1e-9, progress.seconds), 1),
        "complete": trainer.complete,
        "best": best,
        "model": str(run / "model") if (run / "model").exists() else None,
    }


def start_run(recipe: Recipe, run: Path) -> Accelerator:
    """Make the run's folder, or check that it is this recipe's."""
    gpu = torch.cuda.is_available()
    fits = gpu and torch.cuda.is_bf16_supported()
    half = recipe.precision == "bfloat16" or (recipe.precision == "auto" and fits)
    AcceleratorState._reset_state()  # of an earlier run in this process, which may have had another precision
    patient = InitProcessGroupKwargs(timeout=timedelta(days=30))  # while one process reads data or validates
    accelerator = Accelerator(
        cpu=not gpu,
        mixed_precision="bf16" if half else "no",
        log_with="tensorboard",
        project_dir=run,
        kwargs_handlers=[patient],
    )
    if accelerator.is_main_process:
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{run}: can't be a run's folder ({error.strerror}).") from None
        if (run / "recipe.yaml").exists():
            begun = any((run / name).exists() for name in ("checkpoint", "checkpoint.old", "model"))
            if begun and read_recipe(run / "recipe.yaml") != recipe:
                raise InputError(f"{run}: is a run of another recipe; choose another folder, or remove it.")
        elif any(run.iterdir()):
            raise InputError(f"{run}: is not empty, and no run; choose another folder.")
        write_recipe(recipe, run / "recipe.yaml")
    accelerator.wait_for_everyone()
    accelerator.init_trackers("tensorboard")
    return accelerator


def choose_weights(task: Task, dataset: Any, device: torch.device) -> None:
    """Which weights are trained, and which pieces of the vocabulary take part."""
    recipe, model = task.recipe, task.model
    if recipe.freeze_embeddings:
        for part in (model.get_input_embeddings(), model.get_output_embeddings()):
            part.requires_grad_(False)
        if recipe.kind == "btr":  # the mask was never an input of the decoder: its embedding must be learnt
            table = model.get_input_embeddings().weight.requires_grad_(True)
            only = torch.zeros(len(table), 1, device=device)
            only[mask_token(task.tokenizer, recipe.model)] = 1
            table.register_hook(lambda gradient: gradient * only)
    if recipe.vocabulary == "used" and isinstance(task, T5Task):
        more = [task.end, *task.sentinels] if recipe.task == "pre-train" else [task.end]
        pieces = np.union1d(used_pieces(dataset), np.array(more))
        task.pieces = torch.from_numpy(pieces).to(device)


def follow(
    trainer: Trainer,
    validator: Validator | None,
    watch: Watch,
    stop: dict[str, bool],
    tokenizer: Any,
    max_steps: int | None,
) -> dict[str, Any] | None:
    """Train to the end, with checkpoints on the way and a validation after each epoch; gives the best one."""
    recipe, progress, accelerator = trainer.recipe, trainer.progress, trainer.accelerator
    best, saved = None, time.monotonic()
    every = recipe.validation.every
    if is_due(progress, every):  # at the very start, or stopped before the validation was done
        best = validate(trainer, validator, watch, tokenizer)
    for record in trainer.train(max_steps):
        if record:
            watch.tell(record)
        if is_due(progress, every):
            best = validate(trainer, validator, watch, tokenizer) or best
        (halt,) = broadcast_object_list([stop["asked"]])
        if halt or time.monotonic() - saved > 60 * recipe.checkpoint_minutes:
            if accelerator.is_main_process:
                trainer.save()
            saved = time.monotonic()
        if halt:
            raise Interrupted(f"interrupted; the same command goes on where it was ({trainer.run} holds what is done).")
    if trainer.complete and progress.validated < progress.step:  # within an epoch
        best = validate(trainer, validator, watch, tokenizer) or best
    return best


def is_due(progress: Progress, every: int | None) -> bool:
    """Whether it is time to validate: after an epoch, after every so many updates, and then also before the first."""
    if progress.step == 0:
        return every is not None
    ended = progress.update == 0 or (every is not None and progress.step % every == 0)
    return ended and progress.validated < progress.step


def validate(trainer: Trainer, validator: Validator | None, watch: Watch, tokenizer: Any) -> dict[str, Any] | None:
    """Measure the model after an epoch, and keep it if it is the best so far; gives the measure if it is."""
    progress, model = trainer.progress, trainer.task.model
    if trainer.accelerator.is_main_process:
        trainer.save()  # what was trained must not be lost if the validation fails
    with trainer.averaged():
        found = validator.measure(model, tokenizer) if validator else None
    (found,) = broadcast_object_list([found])
    progress.validated = progress.step
    better = found is not None and (progress.best is None or found["value"] > progress.best)
    if found is not None:
        watch.tell(
            {
                "step": progress.step,
                "epoch": progress.epoch + progress.update / len(trainer.updates),
                "validation": found,
            }
        )
        progress.best = found["value"] if better else progress.best
        progress.since_best = 0 if better else progress.since_best + 1
    if trainer.accelerator.is_main_process:
        if better or found is None:
            with trainer.averaged():
                save_model(trainer.run, model, tokenizer, trainer.recipe)
        trainer.save()
    return found if better else None


def save_model(run: Path, model: Any, tokenizer: Any, recipe: Recipe) -> None:
    """The model as `transformers` saves it, with the recipe it came from; the one before goes when this is complete."""
    temporary = run / "model.part"
    shutil.rmtree(temporary, ignore_errors=True)
    if hasattr(model.config, "scale_decoder_outputs"):  # transformers 5 calls every T5 tied; other tools believe it
        model.config.tie_word_embeddings = model.config.scale_decoder_outputs
    model.save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    write_recipe(recipe, temporary / "recipe.yaml")
    replace_folder(temporary, run / "model")


def read_best(run: Path) -> dict[str, Any] | None:
    """The best validation of an earlier part of the run."""
    if not (run / "log.jsonl").exists():
        return None
    records = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    found = [record["validation"] for record in records if "validation" in record]
    return max(found, key=lambda own: own["value"], default=None)


def write_facts(run: Path, trainer: Trainer) -> None:
    """What a reader of the run wants to know: the code's revision, and what it took."""
    progress, model = trainer.progress, trainer.task.model
    facts = {
        "version": __version__,
        "revision": git_revision(),
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "steps": progress.step,
        "examples": len(trainer.dataset),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "trained": sum(weight.numel() for weight in trainer.trained.values()),
        "processes": trainer.accelerator.num_processes,
        "complete": trainer.complete,
    }
    (run / "run.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def git_revision() -> str | None:
    """The revision of the code that runs, if it is a checkout."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    except OSError:  # there is no git
        return None
    return done.stdout.strip() or None


@contextmanager
def stopping() -> Iterator[dict[str, bool]]:
    """Ctrl-C and SIGTERM ask the run to stop after the present update; a later one does not wait."""
    stop = {"asked": False}
    first = 0.0

    def ask(number: int, frame: Any) -> None:
        nonlocal first
        if stop["asked"] and time.monotonic() - first > 2:  # a launcher passes the terminal's own signal on again
            raise KeyboardInterrupt
        if not stop["asked"]:
            stop["asked"], first = True, time.monotonic()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
