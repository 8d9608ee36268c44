"""The training runs that a study shows: their curves, averaged over seeds, and how many pairs they were trained on."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from btr.training.recipe import expand, read_recipe
from btr.training.records import LOG, History, Measures, Update, Validation, read_history

K = TypeVar("K")


@dataclass(frozen=True)
class Run:
    """A training run that has a log."""

    folder: Path
    history: History


def read_runs(runs: Mapping[str, str | list[str]]) -> dict[str, list[Run]]:
    """Read the logs of runs by name; several runs of one name are seeds.

    A folder with a model and no log holds a model that was trained elsewhere; it has no curve.
    """
    read = {}
    for name, folders in runs.items():
        paths = [Path(expand(folder)) for folder in ([folders] if isinstance(folders, str) else folders)]
        logged = [path for path in paths if (path / LOG).is_file() or not (path / "model").is_dir()]
        if logged:
            read[name] = [Run(path, read_history(path)) for path in logged]
    return read


def mean_history(runs: Sequence[Run]) -> History:
    """Return the mean curves of several seeds, over the steps and validations that all of them have."""
    if len(runs) == 1:
        return runs[0].history
    updates = [{update.step: update for update in run.history.updates} for run in runs]
    validations = [{row.epoch: row for row in run.history.validations} for run in runs]
    return History(
        [
            Update(step, mean(seed[step].loss for seed in updates), updates[0][step].epoch)
            for step in common_keys(updates)
        ],
        [mean_validation([seed[epoch] for seed in validations]) for epoch in common_keys(validations)],
    )


def mean_validation(rows: Sequence[Validation]) -> Validation:
    """Return the mean scores of validations of the same epoch, with λ and without."""
    scores, grids = [row.measures.scores for row in rows], [row.measures.grid for row in rows]
    measures = Measures(
        {name: mean(seed[name] for seed in scores) for name in common_keys(scores)},
        grid={threshold: mean(seed[threshold] for seed in grids) for threshold in common_keys(grids)},
        signature=rows[0].measures.signature,
    )
    return Validation(rows[0].step, rows[0].epoch, measures)


def common_keys(seeds: Sequence[Mapping[K, object]]) -> list[K]:
    """Return the keys that all seeds have, in order."""
    return [key for key in seeds[0] if all(key in seed for seed in seeds)]


def mean(values: Iterable[float]) -> float:
    """Return the mean of some numbers."""
    return statistics.fmean(values)


@dataclass(frozen=True)
class TrainingSize:
    """The kind of a run's model, its a_train, and the pairs of a source and a target that it was trained on."""

    kind: str
    negatives: int
    pairs: int
    signature: str


def training_size(run: Path) -> TrainingSize | None:
    """Count the pairs that a run was trained on, negatives included; None if its prepared data is gone."""
    files = sorted((run / "data").glob("examples-*.arrow"))
    if not files or not (run / "recipe.yaml").is_file():
        return None
    from datasets import Dataset

    recipe = read_recipe(run / "recipe.yaml")
    table = Dataset.from_file(str(files[-1])).data.table
    pairs = sum(len(chunk.flatten()) for chunk in table.column("targets").chunks)
    return TrainingSize(recipe.kind, recipe.objective.negatives, pairs, f"run:{run.name}|{files[-1].stem}")
