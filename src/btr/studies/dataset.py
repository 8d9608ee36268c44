"""A data set of a study: its files, their identity for the cache, and its gold."""

from functools import cached_property
from pathlib import Path

from btr.metrics import METRICS
from btr.metrics.gold import Gold, load_gold, short_names
from btr.studies.cache import Key, StudyCache
from btr.studies.plan import DataSetPlan
from btr.training.recipe import expand


class DataSet:
    """A set of sentences with its gold, which is read when it is first needed."""

    def __init__(self, name: str, plan: DataSetPlan, cache: StudyCache) -> None:
        self.name, self.metric = name, plan.metric
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

    def sources(self) -> list[str]:
        """Return the uncorrected sentences."""
        return [self.gold.metric.source(index) for index in range(self.gold.metric.size)]
