"""A data set of a study: its files, their identity for the cache, and its gold, if it has any."""

from functools import cached_property
from pathlib import Path

from btr.corpus.files import read_text
from btr.errors import InputError
from btr.metrics import METRICS
from btr.metrics.base import Metric
from btr.metrics.gold import Gold, load_gold, short_names
from btr.studies.cache import Key, StudyCache
from btr.studies.no_gold import NoGold
from btr.studies.plan import DataSetPlan
from btr.training.recipe import expand


class DataSet:
    """A set of sentences with its gold, which is read when it is first needed."""

    def __init__(self, name: str, plan: DataSetPlan, cache: StudyCache) -> None:
        self.name, self.metric, self.has_gold, self.plan = name, plan.metric, plan.has_gold, plan
        self.paths = {
            "gold": [Path(expand(path)) for path in plan.gold],
            "source": [Path(expand(path)) for path in [plan.source] if path],
            "reference": [Path(expand(path)) for path in plan.reference],
        }
        hashes = {kind: [cache.hash_of(path) for path in paths] for kind, paths in self.paths.items()}
        names = {kind: [path.name for path in paths] for kind, paths in self.paths.items()}  # for signatures
        levels = short_names(self.paths["gold"])
        metric = {"metric": plan.metric, "provider": METRICS.provider(plan.metric)}
        self.key: Key = {**metric, "names": names, "levels": levels, **hashes}

    @cached_property
    def gold(self) -> Gold:
        """What outputs are scored against."""
        source = next(iter(self.paths["source"]), None)
        return load_gold(self.metric, gold=self.paths["gold"], source=source, reference=self.paths["reference"])

    @cached_property
    def scorer(self) -> Metric:
        """The metric over the gold; without gold, one that knows the sources and scores nothing."""
        return self.gold.metric if self.has_gold else NoGold(read_text(self.paths["source"][0]))

    @property
    def signature(self) -> str:
        """What the sentences depend on, and the metric if there is gold."""
        if self.has_gold:
            return self.scorer.signature()
        return f"source:{self.paths['source'][0].name}#{self.key['source'][0]}"

    def sources(self) -> list[str]:
        """Return the uncorrected sentences."""
        return [self.scorer.source(index) for index in range(self.scorer.size)]

    def levels(self) -> dict[str, int]:
        """Return the number of sentences of each level, by the gold's files or by the plan; none if not known."""
        if self.plan.levels:
            if sum(self.plan.levels.values()) != self.scorer.size:
                raise InputError(
                    f"sets.{self.name}.levels: has {sum(self.plan.levels.values()):,} sentences, but the set has "
                    f"{self.scorer.size:,}."
                )
            return self.plan.levels
        groups = (self.gold.groups if self.has_gold else None) or []
        return {group: list(groups).count(group) for group in dict.fromkeys(groups)}
