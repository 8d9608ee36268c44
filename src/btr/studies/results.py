"""All results of a study by base model, reranker and set: what its tables and figures are made from."""

from dataclasses import dataclass, field
from itertools import product

from btr.decisions.settings import Settings
from btr.errors import InputError
from btr.metrics.results import Interval
from btr.studies.pipeline import BaseResult, Pipeline, RerankerResult
from btr.studies.plan import Plan
from btr.studies.records import Example, TunedGrid
from btr.studies.table import Cell
from btr.training.recipe import expand
from btr.training.records import History, read_history


@dataclass(frozen=True)
class LossCurve:
    """The cross-entropy at each position, and what it depends on."""

    values: list[float]
    signature: str


@dataclass
class Results:
    """Results by (candidates, set) and by (reranker, candidates, set); what is absent could not be measured."""

    plan: Plan
    bases: dict[tuple[str, str], BaseResult] = field(default_factory=dict)
    tuned: dict[tuple[str, str, str], TunedGrid] = field(default_factory=dict)
    reranked: dict[tuple[str, str, str], RerankerResult] = field(default_factory=dict)
    decoding: dict[str, BaseResult] = field(default_factory=dict)
    losses: dict[str, LossCurve] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)
    pretraining: dict[str, History] = field(default_factory=dict)
    finetuning: dict[str, History] = field(default_factory=dict)

    def sets_of(self, generator: str) -> list[str]:
        """Return the sets for which there are candidates of a base model."""
        return [name for name in self.plan.sets if (generator, name) in self.bases]

    def rerankers_of(self, generator: str) -> list[str]:
        """Return the rerankers that have scored a base model's candidates."""
        return [name for name in self.plan.rerankers if (name, generator, self.plan.validation) in self.tuned]

    def sets_of_main(self) -> list[str]:
        """Return the sets on which the main reranker has scored the base model's candidates."""
        main, base = self.plan.main_reranker, self.plan.base
        return [name for name in self.sets_of(base) if (main, base, name) in self.reranked]

    def base_signature(self, generator: str, dataset: str) -> str:
        """Return what a base model's score depends on: metric, gold and candidates."""
        result = self.bases[generator, dataset]
        return f"{result.measures.signature} · candidates:{result.candidates_signature}"

    def signature(self, generator: str, dataset: str, reranker: str, settings: Settings | None = None) -> str:
        """Return what a reranker's score depends on: metric, gold, candidates, reranker and settings."""
        parts = [self.base_signature(generator, dataset), self.reranker_signature(reranker, generator, dataset)]
        return " · ".join(parts) + (f"|{settings.signature()}" if settings else "")

    def reranker_signature(self, reranker: str, generator: str, dataset: str) -> str:
        """Return the signature of a reranker's models."""
        return self.reranked[reranker, generator, dataset].measures.reranker_signature

    def tuned_signature(self, generator: str, dataset: str, reranker: str) -> str:
        """Return the signature of a reranker's score with the settings that it was measured with."""
        return self.signature(generator, dataset, reranker, self.reranked[reranker, generator, dataset].settings)


def collect(pipeline: Pipeline) -> Results:
    """Compute what is missing, and collect all results."""
    plan = pipeline.plan
    results = Results(plan)
    for name, run in plan.pretraining.items():
        results.pretraining[name] = read_history(expand(run))
    for name, run in plan.finetuning.items():
        results.finetuning[name] = read_history(expand(run))
    for generator, dataset in product(plan.candidates, plan.sets):
        if base := pipeline.base(plan.candidates[generator], dataset):
            results.bases[generator, dataset] = base
    if (main := plan.main_reranker) and not pipeline.files.can_score(plan.rerankers[main], plan.base, plan.validation):
        raise InputError(
            f"the main reranker, {main}, needs log-probabilities, which the candidates of {plan.base} come without; "
            "name another as main."
        )
    for name, method in plan.decoding.items():
        if base := pipeline.base(method, plan.validation):
            results.decoding[name] = base
    for name, (generator, dataset) in product(plan.rerankers, results.bases):
        if reranked := pipeline.reranked(name, generator, dataset):
            results.reranked[name, generator, dataset] = reranked
        if tuned := pipeline.tuned(name, generator, dataset):
            results.tuned[name, generator, dataset] = tuned
    for dataset in results.sets_of(plan.base):
        results.examples[dataset] = pipeline.examples(dataset)
    results.losses = collect_losses(pipeline)
    return results


def collect_losses(pipeline: Pipeline) -> dict[str, LossCurve]:
    """Return the loss curves of the base model and of every reranker with models: seeds' mean, kinds' sum.

    A mixture has none, since its weights are for the scores of whole sentences.
    """
    plan = pipeline.plan
    models = {
        name: reranker.models for name, reranker in plan.rerankers.items() if reranker.models and not reranker.mix
    }
    if model := plan.candidates[plan.base].model:
        models = {plan.base: [f"l2r:{model}"], **models}
    curves: dict[str, LossCurve] = {}
    for name, specs in models.items():
        measured = [losses for losses in map(pipeline.losses, specs) if losses and losses.curve]
        if len(measured) < len(specs):
            continue
        by_kind: dict[str, list[list[float]]] = {}
        for spec, losses in zip(specs, measured):
            by_kind.setdefault(spec.partition(":")[0], []).append(losses.curve)
        means = [[sum(values) / len(values) for values in zip(*seeds)] for seeds in by_kind.values()]
        signature = " + ".join(f"{losses.signature}|targets:{losses.targets}" for losses in measured)
        curves[name] = LossCurve([sum(values) for values in zip(*means)], signature)
    return curves


def score_cell(value: float, signature: str, interval: Interval | None = None) -> Cell:
    """Return a score with two digits, as the paper prints it."""
    return Cell(f"{value:.2f}", value, interval, signature)
