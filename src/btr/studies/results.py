"""All results of a study by base model, reranker and set: what its tables and figures are made from."""

from dataclasses import dataclass, field

from btr.decisions.settings import Settings
from btr.metrics.results import Interval
from btr.studies.pipeline import BaseResult, RerankerResult, UngradedResult
from btr.studies.plan import Plan
from btr.studies.records import Example, TunedGrid, TunedSettings
from btr.studies.sizes import Sizes
from btr.studies.table import Cell
from btr.studies.training_runs import Run


@dataclass(frozen=True)
class LossCurve:
    """The cross-entropy at each position, and what it depends on."""

    values: list[float]
    signature: str


@dataclass(frozen=True)
class BestOnSet:
    """The reranker, of the main one and its variants, that is best on a set, with its best settings there."""

    reranker: str
    tuned: TunedSettings


@dataclass(frozen=True)
class RankCurve:
    """The mean probability of each rank, and what it depends on."""

    values: list[float]
    signature: str


@dataclass
class Results:
    """Results by (candidates, set) and by (reranker, candidates, set); what is absent could not be measured.

    `reranked` and `ungraded` (sets without gold) have the settings that are best on the validation set; `transferred`
    those of the best reranker on the set that a set is tuned on.
    """

    plan: Plan
    bases: dict[tuple[str, str], BaseResult] = field(default_factory=dict)
    lists: dict[tuple[str, str, int], str] = field(default_factory=dict)  # signatures, by number of candidates
    tuned: dict[tuple[str, str, str], TunedGrid] = field(default_factory=dict)
    reranked: dict[tuple[str, str, str], RerankerResult] = field(default_factory=dict)
    ungraded: dict[tuple[str, str, str], UngradedResult] = field(default_factory=dict)
    best_on: dict[str, BestOnSet] = field(default_factory=dict)
    transferred: dict[str, RerankerResult | UngradedResult] = field(default_factory=dict)
    ranks: dict[tuple[str, str], RankCurve] = field(default_factory=dict)  # by reranker and set
    decoding: dict[str, BaseResult] = field(default_factory=dict)
    losses: dict[str, LossCurve] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)
    pretraining: dict[str, list[Run]] = field(default_factory=dict)
    finetuning: dict[str, list[Run]] = field(default_factory=dict)
    sizes: Sizes | None = None
    base_seconds: dict[tuple[str, str], float | None] = field(default_factory=dict)  # of sets without gold

    def sets_of(self, generator: str) -> list[str]:
        """Return the sets with gold for which there are candidates of a base model."""
        return [name for name in self.plan.sets if (generator, name) in self.bases]

    def rerankers_of(self, generator: str) -> list[str]:
        """Return the rerankers that have scored a base model's candidates, without variants."""
        return [name for name in self.plan.heads if (name, generator, self.plan.validation) in self.tuned]

    def sets_of_main(self) -> list[str]:
        """Return the sets on which their main reranker has scored the base model's candidates."""
        base = self.plan.base
        return [name for name in self.sets_of(base) if (self.plan.main_of(name), base, name) in self.reranked]

    def main_of(self, dataset: str) -> str:
        """Return the main reranker of a set that has one."""
        main = self.plan.main_of(dataset)
        assert main is not None
        return main

    def base_signature(self, generator: str, dataset: str, size: int | None = None) -> str:
        """Return what a base model's score depends on: metric, gold and candidates."""
        result = self.bases[generator, dataset]
        candidates = self.lists.get((generator, dataset, size or 0), result.candidates_signature)
        return f"{result.measures.signature} · candidates:{candidates}"

    def signature(self, generator: str, dataset: str, reranker: str, settings: Settings | None = None) -> str:
        """Return what a reranker's score depends on: metric, gold, candidates, reranker and settings."""
        size = settings.candidates if settings else None
        parts = [self.base_signature(generator, dataset, size), self.reranker_signature(reranker, generator, dataset)]
        return " · ".join(parts) + (f"|{settings.signature()}" if settings else "")

    def reranker_signature(self, reranker: str, generator: str, dataset: str) -> str:
        """Return the signature of a reranker's models."""
        return self.reranked[reranker, generator, dataset].measures.reranker_signature

    def tuned_signature(self, generator: str, dataset: str, reranker: str) -> str:
        """Return the signature of a reranker's score with the settings that it was measured with."""
        return self.signature(generator, dataset, reranker, self.reranked[reranker, generator, dataset].settings)


def score_cell(value: float, signature: str, interval: Interval | None = None) -> Cell:
    """Return a score with two digits, as the paper prints it."""
    return Cell(f"{value:.2f}", value, interval, signature)
