"""All that a study has found, by base model, reranker and set: what tables and figures are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from btr.errors import InputError
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
    losses: dict[str, Found] = field(default_factory=dict)
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
    if not work.can_score(plan.rerankers[plan.chief], plan.base, work.validation):
        raise InputError(
            f"{plan.chief} is looked at closely, and needs log-probabilities, which the candidates of {plan.base} come "
            "without; name another main."
        )
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


def losses(work: Work) -> dict[str, Found]:
    """The cross-entropy by position of the base model and of every reranker with models: seeds' mean, kinds' sum.

    A mixture has none: its weights are for means of whole sentences.
    """
    plan = work.plan
    models = {name: own.models for name, own in plan.rerankers.items() if own.models and not own.mix}
    if model := plan.candidates[plan.base].model:
        models = {plan.base: [f"l2r:{model}"], **models}
    found: dict[str, Found] = {}
    for name, specs in models.items():
        measured = [own for own in map(work.losses, specs) if own and own["curve"]]
        if len(measured) < len(specs):
            continue
        by_kind: dict[str, list[list[float]]] = {}
        for spec, own in zip(specs, measured):
            by_kind.setdefault(spec.partition(":")[0], []).append(own["curve"])
        means = [[sum(values) / len(values) for values in zip(*curves)] for curves in by_kind.values()]
        signature = " + ".join(f"{own['signature']}|targets:{own['targets']}" for own in measured)
        found[name] = {"curve": [sum(values) for values in zip(*means)], "signature": signature}
    return found


def known_by(scores: Mapping[str, float]) -> float:
    """The one number that a metric is known by, the last of its scores."""
    return list(scores.values())[-1]


def figure(value: float, signature: str, interval: Any = None) -> Cell:
    """A score with two digits, as the paper has it."""
    return Cell(f"{value:.2f}", value, tuple(interval) if interval else None, signature)
