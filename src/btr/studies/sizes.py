"""How much data a study has: the paper's Tables 4, 13 and 21."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from btr.corpus.pairs import read_pairs
from btr.studies.plan import Plan
from btr.studies.training_runs import TrainingSize, training_size
from btr.training.recipe import expand, read_recipe

if TYPE_CHECKING:
    from btr.studies.pipeline import Pipeline

STREAM = "datasets:"  # the start of a dataset's id


@dataclass(frozen=True)
class CorpusSize:
    """A corpus, what it is used for, and its number of pairs, sentences or paragraphs, if it is known."""

    name: str
    usage: str
    count: int | None
    signature: str


@dataclass(frozen=True)
class Sizes:
    """The sizes of all corpora, of the training data by a_train, and of sets by level."""

    corpora: list[CorpusSize]
    training: list[TrainingSize]
    levels: dict[str, dict[str, int]]  # by set; sets without levels are absent
    signatures: dict[str, str]  # of the sets


def collect_sizes(pipeline: "Pipeline") -> Sizes:
    """Count the sentences of sets and levels, and the pairs of training files and runs."""
    plan = pipeline.plan
    corpora, signatures = list(training_files(plan)), {name: data.signature for name, data in pipeline.sets.items()}
    for name, dataset in pipeline.sets.items():
        corpora.append(CorpusSize(name, usage_of(plan, name), dataset.scorer.size, signatures[name]))
    folders = [folder for own in plan.finetuning.values() for folder in ([own] if isinstance(own, str) else own)]
    counted = [size for folder in folders if (size := training_size(Path(expand(folder))))]
    levels = {name: dataset.levels() for name, dataset in pipeline.sets.items()}
    by_level = {name: each for name, each in levels.items() if each}
    unique = {(size.kind, size.negatives): size for size in reversed(counted)}
    return Sizes(corpora, list(unique.values())[::-1], by_level, signatures)


def usage_of(plan: Plan, dataset: str) -> str:
    """Return what a set is for."""
    if dataset == plan.validation:
        return "validation"
    return "tuning" if dataset in plan.tuning_sets else "test"


def training_files(plan: Plan) -> Iterator[CorpusSize]:
    """Give the size of each file that the plan's recipes train on, once."""
    known = set[str]()
    for stage in plan.training:
        if not stage.train:
            continue
        data = read_recipe(expand(stage.train), stage.changes).data
        for path, usage in [(path, "pre-training") for path in data.text] + [(path, "training") for path in data.pairs]:
            if path not in known:
                known.add(path)
                origin = "as the plan says" if path in plan.counts else "counted"
                yield CorpusSize(short_name(path), usage, count_lines(plan, path, usage), f"file:{path}|{origin}")


def short_name(path: str) -> str:
    """Return a corpus's name: the file's, or the last part of a dataset's id."""
    return path.rpartition("/")[2] if path.startswith(STREAM) else Path(path).name


def count_lines(plan: Plan, path: str, usage: str) -> int | None:
    """Return how many pairs or paragraphs a training file has: as the plan says, or counted."""
    if path in plan.counts:
        return plan.counts[path]
    if path.startswith(STREAM) or not Path(expand(path)).is_file():
        return None
    from btr.training.data import read_paragraphs  # needs torch

    lines = read_paragraphs(path) if usage == "pre-training" else read_pairs(expand(path))
    return sum(1 for _ in lines)
