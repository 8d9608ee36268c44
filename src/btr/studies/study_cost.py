"""What a study costs, before it is paid: `btr study PLAN --dry-run`. Nothing is trained, written or scored.

Where a corpus is absent, the counts of the plan and of the recipes stand in; where a model is still to be trained, its
size is that of the model its recipe starts from.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.models.locate import SHIPPED
from btr.records import Record
from btr.rerankers import parse_name
from btr.studies.coverage import has_candidates, is_measured, tried_sizes
from btr.studies.plan import Plan, read_plan
from btr.studies.training_plan import StagePlan
from btr.studies.training_stages import is_trained
from btr.training.architecture import build_without_weights, first_model, load_config
from btr.training.cost import FLOPS_PER_SECOND, stage_cost
from btr.training.flops import BatchShape, EncoderLayers, T5Layers
from btr.training.recipe import read_recipe

FORWARD = 1 / 3  # of the FLOPs of training: without the backward pass
MASKED = "btr", "contrast", "roberta"  # kinds that mask each token of a candidate in turn


@dataclass(frozen=True, slots=True)
class StudyStage(Record):
    """A stage of a study and its cost; `is_done` says that its result is there already."""

    stage: str  # train, generate, score or tables
    what: str
    sentences: int
    tokens: int
    flops: float
    hours: float
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class StudyCost(Record):
    """All stages of a study, in order."""

    stages: tuple[StudyStage, ...]
    devices: int
    flops_per_second: float  # of one device

    @property
    def hours(self) -> float:
        """Return the hours of the stages that are not done, one after another."""
        return sum(stage.hours for stage in self.stages if not stage.is_done)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as JSON has it, with the hours in all."""
        return {**super(StudyCost, self).to_dict(), "hours": self.hours}


def study_cost(plan: PathLike, *, devices: int = 1, flops_per_second: float | None = None) -> StudyCost:
    """Return every stage of a study with its cost, and run nothing.

    Where the number of candidates is still to be tuned, the first of the plan's `top` is counted.
    """
    rate = FLOPS_PER_SECOND if flops_per_second is None else flops_per_second
    if devices < 1 or not rate > 0:
        raise InputError("devices and flops_per_second must be above 0.")
    counter = StageCounter(read_plan(plan), devices, rate)
    stages = [
        *counter.training(),
        *counter.generating(),
        *counter.scoring(),
        StudyStage("tables", "report", 0, 0, 0.0, 0.0),
    ]
    return StudyCost(tuple(stages), devices, rate)


class StageCounter:
    """Counts the stages of a plan."""

    def __init__(self, plan: Plan, devices: int, flops_per_second: float) -> None:
        self.plan, self.devices, self.flops_per_second = plan, devices, flops_per_second
        self.layers = cache(self._layers)

    def training(self) -> Iterator[StudyStage]:
        """Give the stages of the training."""
        for stage in self.plan.training:
            if stage.generate:
                count = self.count_pairs(stage)
                tokens = self.training_tokens(stage.generate)
                is_done = Path(expand_known(stage.output)).is_file()
                what = f"{stage.output} ({stage.size} candidates)"
                yield self.generate_stage(what, stage.model or "", count, tokens, stage.size, is_done)
                continue
            path = expand_known(stage.train or "")
            cost = stage_cost(
                read_recipe(path, stage.changes), path, devices=self.devices, flops_per_second=self.flops_per_second
            )
            for folder, _ in stage.runs:  # which differ in their seeds
                is_done = is_trained(Path(expand_known(folder)))
                yield StudyStage("train", folder, cost.pairs, cost.tokens, cost.flops.total, cost.hours, is_done)

    def generating(self) -> Iterator[StudyStage]:
        """Give the candidates that models write for each set, and for the comparison of decoding methods."""
        plan = self.plan
        for (generator, candidates), dataset in product(plan.candidates.items(), plan.sets):
            if not candidates.model:
                continue
            written = {
                size
                for name in plan.rerankers
                if is_measured(plan, name, generator, dataset)
                for size in self.sizes(name, generator, dataset)
            }
            first = candidates.size or plan.top[0]
            for size in sorted({first, *(size for size in written if size)}):
                what = f"{generator}, {dataset} ({size} candidates)"
                yield self.generate_stage(what, candidates.model, *self.set_size(dataset), size, False)
        for name, method in plan.decoding.items():
            if method.model:
                size = method.size or plan.top[0]
                what = f"{name}, {plan.validation} ({size} candidates)"
                yield self.generate_stage(what, method.model, *self.set_size(plan.validation), size, False)

    def scoring(self) -> Iterator[StudyStage]:
        """Give the scores of each reranker's models."""
        plan, known = self.plan, set[tuple[str, str, str, int]]()
        for name, generator, dataset in product(plan.rerankers, plan.candidates, plan.sets):
            if not plan.rerankers[name].models or not is_measured(plan, name, generator, dataset):
                continue
            for size, model in product(self.sizes(name, generator, dataset), plan.rerankers[name].models):
                count = size or max(plan.top)
                if (model, generator, dataset, count) in known:
                    continue
                known.add((model, generator, dataset, count))
                yield self.score_stage(f"{model}, {generator}, {dataset} ({count} candidates)", model, dataset, count)

    def sizes(self, name: str, generator: str, dataset: str) -> list[int | None]:
        """Return the lists of candidates that a reranker scores."""
        plan = self.plan
        by_size = plan.sizes(generator, dataset)
        if not has_candidates(plan, generator, dataset):
            return []
        if by_size is None:
            return [None]
        settings = plan.rerankers[name].settings
        given = settings.get("candidates") or settings.get("top")
        tried = tried_sizes(plan, name, generator, dataset, given, lambda: plan.top[0])
        return list(dict.fromkeys([*tried, given or by_size[0]]))

    def generate_stage(
        self, what: str, model: str, sentences: int, tokens: float, size: int, is_done: bool
    ) -> StudyStage:
        """Return the cost of writing candidates: one pass of the encoder, and one of the decoder per candidate."""
        length = round(tokens)
        batch = BatchShape(1, length, size, length, size * length)
        return self.stage(
            "generate", what, sentences, (1 + size) * length, self.flops("seq2seq", model, batch), is_done
        )

    def score_stage(self, what: str, name: str, dataset: str, size: int) -> StudyStage:
        """Return the cost of scoring candidates; masked kinds read a candidate once for each of its tokens."""
        kind, model = parse_name(name)
        sentences, tokens = self.set_size(dataset)
        length = round(tokens)
        rows = size * length if kind.kind in MASKED else size
        is_t5 = kind.kind not in ("roberta", "bert")
        row = 2 * length if kind.kind == "roberta" else length  # which reads source and candidate as one row
        scored = size * length if is_t5 or kind.kind == "roberta" else size
        batch = BatchShape(1, length, rows, row, scored) if is_t5 else BatchShape(0, 0, rows, row, scored)
        flops = self.flops(kind.kind, model, batch) if model else 0.0
        read = (length if is_t5 else 0) + rows * row if model else 0
        return self.stage("score", what, sentences, read, flops, False)

    def stage(self, stage: str, what: str, sentences: int, tokens: int, flops: float, is_done: bool) -> StudyStage:
        """Return a stage whose tokens and FLOPs are per sentence."""
        total = flops * sentences
        hours = total / self.flops_per_second / self.devices / 3600
        return StudyStage(stage, what, sentences, tokens * sentences, total, hours, is_done)

    def flops(self, kind: str, model: str, batch: BatchShape) -> float:
        """Return the FLOPs of a forward pass."""
        return FORWARD * self.layers(kind, model).flops(batch).total

    def _layers(self, kind: str, model: str) -> T5Layers | EncoderLayers:
        """Return the sizes of a model's layers; one that is not trained yet has those of its recipe's first model."""
        folder, name = Path(expand_known(model)), model
        if not folder.is_dir() and not (SHIPPED / model).is_dir():
            stages = [
                stage
                for stage in self.plan.training
                for run, _ in stage.runs
                if stage.train and Path(run) == folder.parent
            ]
            for stage in stages[:1]:
                path = Path(expand_known(stage.train or ""))
                name = first_model(read_recipe(path, stage.changes), path)
        objective = {"contrast": "btr", "l2r": "seq2seq"}.get(kind, kind)
        built = build_without_weights(objective, load_config(expand_known(name)))
        return EncoderLayers(built) if kind in ("roberta", "bert") else T5Layers(built, None, False)

    def set_size(self, dataset: str) -> tuple[int, float]:
        """Return a set's sentences, counted or as the plan says, and their mean number of tokens."""
        plan = self.plan.sets[dataset]
        if plan.sentences:
            return plan.sentences, plan.tokens
        from btr.studies.cache import StudyCache
        from btr.studies.dataset import DataSet

        try:
            return DataSet(dataset, plan, StudyCache(Path())).scorer.size, plan.tokens
        except InputError as error:
            raise InputError(
                f"{str(error).removesuffix('.')}; or give sets.{dataset}.sentences for --dry-run."
            ) from None

    def count_pairs(self, stage: StagePlan) -> int:
        """Return how many sources a training file has."""
        from btr.corpus.pairs import read_sources

        path = stage.generate or ""
        if path in self.plan.counts:
            return self.plan.counts[path]
        for plan in self.plan.sets.values():
            if plan.sentences and path in (*plan.gold, plan.source):
                return plan.sentences
        if not Path(expand_known(path)).is_file():
            raise InputError(f"{path}: no such file; for --dry-run, give its number of sentences in the key counts.")
        return sum(1 for _ in read_sources(expand_known(path)))

    def training_tokens(self, path: str) -> float:
        """Return the mean tokens of a training file's sources, as a recipe that trains on it expects them."""
        for stage in self.plan.training:
            if stage.train:
                recipe = read_recipe(expand_known(stage.train), stage.changes)
                if path in recipe.data.pairs and recipe.expected:
                    return recipe.expected.source_tokens
        return next((plan.tokens for plan in self.plan.sets.values() if path in plan.gold), 30.0)


def expand_known(path: str) -> str:
    """Return a path with the environment's variables that are set; others stay as they are."""
    return os.path.expandvars(os.path.expanduser(path))
