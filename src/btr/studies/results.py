"""All that a study has found, by base model, reranker and set: what tables and figures are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from btr.studies.plan import Plan
from btr.studies.sheets import Cell
from btr.studies.work import Work
from btr.training.history import History, read_history
from btr.training.recipe import expand

Found = Mapping[str, Any]

COLUMNS = {"precision": "P", "recall": "R", "f0.5": "F0.5", "gleu": "GLEU"}


@dataclass
class Results:
    """Measures by (candidates, set) and by (reranker, candidates, set); what is not there could not be measured."""

    plan: Plan
    bases: dict[tuple[str, str], Found] = field(default_factory=dict)
    tuned: dict[tuple[str, str, str], Found] = field(default_factory=dict)
    reranked: dict[tuple[str, str, str], Found] = field(default_factory=dict)
    decoding: dict[str, Found] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    pretraining: dict[str, History] = field(default_factory=dict)
    finetuning: dict[str, History] = field(default_factory=dict)

    def sets_of(self, writer: str) -> list[str]:
        """The sets for which a base model's candidates are at hand."""
        return [name for name in self.plan.sets if (writer, name) in self.bases]

    def rerankers_of(self, writer: str) -> list[str]:
        """The rerankers that have scored a base model's candidates."""
        return [name for name in self.plan.rerankers if (name, writer, self.plan.validation) in self.tuned]

    def signature(self, writer: str, own: str, reranker: str = "", **setting: Any) -> str:
        """What a figure depends on: metric and gold, candidates, reranker and its setting."""
        base = self.bases[writer, own]
        parts = [base["signature"], f"candidates:{base['source']}"]
        if reranker:
            told = "".join(f"|{name}:{value:g}" for name, value in setting.items())
            parts.append(self.reranked[reranker, writer, own]["reranker"] + told)
        return " · ".join(parts)


def gather(work: Work) -> Results:
    """Run what is missing, and collect everything."""
    plan = work.plan
    results = Results(plan)
    for name, run in plan.pretraining.items():
        results.pretraining[name] = read_history(expand(run))
    for name, run in plan.finetuning.items():
        results.finetuning[name] = read_history(expand(run))
    for writer, own in product(plan.candidates, plan.sets):
        if base := work.base(plan.candidates[writer], work.sets[own]):
            results.bases[writer, own] = base
    for name, decoder in plan.decoding.items():
        if base := work.base(decoder, work.validation):
            results.decoding[name] = base
    for (name, reranker), (writer, own) in product(plan.rerankers.items(), results.bases):
        if measured := work.measured(reranker, writer, work.sets[own]):
            results.reranked[name, writer, own] = measured
        if tuned := work.tuned(reranker, writer, work.sets[own]):
            results.tuned[name, writer, own] = tuned
    for own in results.sets_of(plan.base):
        results.examples[own] = work.examples(work.sets[own])
    results.losses = losses(work)
    return results


def losses(work: Work) -> dict[str, list[float]]:
    """The cross-entropy by position of the base model and of every reranker with models: seeds' mean, kinds' sum.

    A mixture has none: its weights are for means of whole sentences.
    """
    plan = work.plan
    found: dict[str, list[float]] = {}
    if model := plan.candidates[plan.base].model:
        found[plan.base] = work.losses(f"l2r:{model}") or []
    for name, reranker in plan.rerankers.items():
        if reranker.mix:
            continue
        by_kind: dict[str, list[list[float]]] = {}
        for spec in reranker.models:
            if curve := work.losses(spec):
                by_kind.setdefault(spec.partition(":")[0], []).append(curve)
        means = [[sum(values) / len(values) for values in zip(*curves)] for curves in by_kind.values()]
        if means and len({spec.partition(":")[0] for spec in reranker.models}) == len(by_kind):
            found[name] = [sum(values) for values in zip(*means)]
    return {name: curve for name, curve in found.items() if curve}


def known_by(scores: Mapping[str, float]) -> float:
    """The one number that a metric is known by, the last of its scores."""
    return list(scores.values())[-1]


def figure(value: float, signature: str, interval: Any = None) -> Cell:
    """A score with two digits, as the paper has it."""
    return Cell(f"{value:.2f}", value, tuple(interval) if interval else None, signature)
