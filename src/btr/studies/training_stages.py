"""Run the training of a study: each stage whose result is not there yet."""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from btr.errors import InputError
from btr.studies.plan import Plan
from btr.studies.training_plan import StagePlan
from btr.training.recipe import expand
from btr.training.records import CARD, FACTS, read_facts


def run_training(plan: Plan) -> list[str]:
    """Run the stages of a plan's training in order; return the names of those that were run.

    A model that is in its run's folder without a log, such as an imported checkpoint, is not trained again. A run that
    was stopped continues.
    """
    done = []
    for stage in plan.training:
        if stage.generate:
            if not Path(expand(stage.output)).is_file():
                write_candidates(stage)
                done.append("generate")
            continue
        for folder, changes in stage.runs:
            if not is_trained(Path(expand(folder))):
                train_run(expand(stage.train or ""), expand(folder), changes, plan.launch)
                done.append("train")
    return done


def is_trained(run: Path) -> bool:
    """Return whether a run has its model, and is complete if it was trained here: the model's card is written last."""
    model = run / "model"
    if not (model / "config.json").is_file():
        return False
    return not (run / FACTS).is_file() or (bool(read_facts(run).complete) and (model / CARD).is_file())


def write_candidates(stage: StagePlan) -> None:
    """Write the candidates that others train on or are validated on."""
    from btr.candidates.generate import generate

    output = Path(expand(stage.output))
    output.parent.mkdir(parents=True, exist_ok=True)
    model = expand(stage.model or "")
    generate(expand(stage.generate or ""), model, output, size=stage.size, max_length=stage.max_length)


def train_run(recipe: str, folder: str, changes: Mapping[str, Any], launch: str | None) -> None:
    """Train in this process, or by the plan's launcher in processes of their own."""
    if launch is None:
        from btr.training.train import train

        train(recipe, folder, changes=changes)
        return
    values = [f"{key}={json.dumps(value)}" for key, value in changes.items()]  # JSON is YAML, which --set reads
    options = [part for value in values for part in ("--set", value)]
    command = [*shlex.split(launch), "-m", "btr.cli", "train", recipe, "--output", folder, *options]
    try:
        done = subprocess.run(command, stdout=sys.stderr)
    except OSError as error:
        raise InputError(f"{command[0]}: can't be started ({error.strerror}); see the plan's key launch.") from None
    if done.returncode:
        raise InputError(f"{recipe}: training ended with code {done.returncode}; the same command continues it.")
