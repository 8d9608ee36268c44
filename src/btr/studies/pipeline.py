"""The pipeline of a study: tuned settings and measures, each computed if it is not in the cache."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from btr.corpus.scores import Header, Scored
from btr.decisions.grid import DecisionGrid
from btr.decisions.search import THRESHOLDS
from btr.decisions.settings import Settings
from btr.decisions.tune import read_file
from btr.errors import InputError
from btr.metrics.evaluate import read_hypotheses
from btr.metrics.significance import RESAMPLES
from btr.models.identity import model_hash
from btr.rerankers import parse_name
from btr.studies.cache import Key, StageFile, StudyCache
from btr.studies.examples import choose_examples
from btr.studies.losses import LENGTHS, measure_losses, scores_tokens
from btr.studies.measures import measure_base, measure_reranker
from btr.studies.plan import CandidatesPlan, Plan, check_seeds
from btr.studies.records import BaseMeasures, Example, Losses, RerankerMeasures, TunedGrid, TunedSettings
from btr.studies.study_files import StudyFiles
from btr.studies.tuning import TuningPlan, tune_grid, tune_reranker
from btr.training.recipe import expand


@dataclass(frozen=True)
class BaseResult:
    """What was measured of a base model's candidates on one set."""

    measures: BaseMeasures
    candidates_signature: str
    seconds: float | None  # to write them; None if they were not written in one go


@dataclass(frozen=True)
class RerankerResult:
    """What was measured of a reranker on one set."""

    measures: RerankerMeasures
    settings: Settings
    seconds: float | None  # to score the candidates; None if they were not scored in one go


class Pipeline:
    """The stages of a study. A set, a model's candidates and a reranker are known by their names in the plan."""

    def __init__(self, plan: Plan, cache: StudyCache) -> None:
        self.plan, self.cache, self.files = plan, cache, StudyFiles(plan, cache)
        self.sets = self.files.sets
        self._grids: dict[tuple[str, ...], tuple[Header, DecisionGrid]] = {}

    def grid(self, files: Sequence[StageFile], dataset: str) -> tuple[Header, DecisionGrid]:
        """Read scores files as one reranker, and measure the candidates."""
        key = (dataset, *(file.hash for file in files))
        if key not in self._grids:
            header, rows = read_file([file.path for file in files])
            self._grids[key] = header, DecisionGrid(self.sets[dataset].gold.metric, rows, header.kinds)
        return self._grids[key]

    def base(self, plan: CandidatesPlan, dataset: str) -> BaseResult | None:
        """Measure a base model's candidates on a set; None if there are none."""
        file, data = self.files.candidates(plan, dataset), self.sets[dataset]
        if file is None:
            return None

        def measure() -> BaseMeasures:
            return measure_base(data.gold, read_hypotheses([file.path], data.gold))

        key = {"set": data.key, "candidates": file.hash, "resamples": RESAMPLES}
        measures = self.cache.value("base", key, BaseMeasures, measure, dataset)
        return BaseResult(measures, file.signature or f"{file.path.name}#{file.hash}", file.seconds)

    def tuned(self, name: str, generator: str, dataset: str) -> TunedGrid | None:
        """Return the grid of a reranker on a set; a mixture has the weights that are best on the validation set."""
        files, plan = self.files.scores(name, generator, dataset), self.tuning_plan(name)
        if not files:
            return None
        mixture = self.mixture(name, generator) if plan.mix else None
        if mixture:
            plan = replace(plan, start=replace(plan.start, weights=mixture.settings.weights), mix=False)
        key = self.tuning_key(dataset, files, plan)
        tuned = self.cache.value("tuned", key, TunedGrid, lambda: tune_grid(self.grid(files, dataset)[1], plan))
        if mixture and dataset == self.plan.validation:
            return replace(tuned, settings=mixture.settings, crossed=mixture.crossed)
        return tuned

    def tuning_plan(self, name: str) -> TuningPlan:
        """Return what is tuned of a reranker's settings, and what is given."""
        reranker = self.plan.rerankers[name]
        tops = None if reranker.gives("top") else self.plan.top
        thresholds = None if reranker.gives("threshold") else THRESHOLDS if reranker.threshold else (0.0,)
        return TuningPlan(self.files.given[name], tops, thresholds, reranker.mix, self.plan.folds)

    def tuning_key(self, dataset: str, files: Sequence[StageFile], plan: TuningPlan) -> Key:
        """Return what the best settings depend on."""
        hashes = [file.hash for file in files]
        tuning = {**asdict(plan), "start": plan.start.to_dict()}
        return {"set": self.sets[dataset].key, "scores": hashes, "tuning": tuning, "resamples": RESAMPLES}

    def mixture(self, name: str, generator: str) -> TunedSettings:
        """Return the best settings of several kinds of models on the validation set, weights included."""
        validation, plan = self.plan.validation, self.tuning_plan(name)
        files = self.files.scores(name, generator, validation)

        def tune() -> TunedSettings:
            header, grid = self.grid(files, validation)
            if len(set(header.kinds)) < 2:
                raise InputError(f"rerankers.{name}: a mixture needs several kinds of models, e.g. contrast and base.")
            return tune_reranker(grid, plan)

        return self.cache.value("mixture", self.tuning_key(validation, files, plan), TunedSettings, tune)

    def settings(self, name: str, generator: str) -> Settings:
        """Return the settings that are best on the validation set."""
        tuned = self.tuned(name, generator, self.plan.validation)
        assert tuned is not None
        return tuned.settings

    def reranked(self, name: str, generator: str, dataset: str) -> RerankerResult | None:
        """Measure a reranker on a set, with the settings that are best on the validation set."""
        files, data = self.files.scores(name, generator, dataset), self.sets[dataset]
        if not files:
            return None
        reranker, settings = self.plan.rerankers[name], self.settings(name, generator)
        key = {
            "set": data.key,
            "scores": [file.hash for file in files],
            "settings": settings.to_dict(),
            "resamples": RESAMPLES,
        }

        def measure() -> RerankerMeasures:
            header, grid = self.grid(files, dataset)
            settings.check_weights(header.kinds)
            if reranker.scores:  # scores that the study computed are of these candidates
                self.check_base_candidates(grid.rows, files[0].path, generator, dataset)
            seeds = [] if reranker.mix else split_seeds(grid)
            return measure_reranker(data.gold, grid, header.signature, settings, seeds)

        about = f"{', '.join(reranker.models)}, {dataset}"
        measures = self.cache.value("reranked", key, RerankerMeasures, measure, about)
        seconds = [file.seconds for file in files if file.seconds is not None]
        total = round(sum(seconds), 1) if len(seconds) == len(files) else None
        return RerankerResult(measures, settings, total)

    def check_base_candidates(self, rows: Sequence[Scored], path: Path, generator: str, dataset: str) -> None:
        """Refuse scores of other base candidates than the model's, since differences are to them."""
        file, gold = self.files.candidates(self.plan.candidates[generator], dataset), self.sets[dataset].gold
        texts = [] if file is None else [candidates[0] for candidates in read_hypotheses([file.path], gold)]
        for number, (row, text) in enumerate(zip(rows, texts), 1):
            if row.candidates.texts[0] != text:
                raise InputError(
                    f"{path}: has other candidates of sentence {number} than {generator}'s file for {dataset}."
                )

    def examples(self, dataset: str) -> list[Example]:
        """Return example outputs of all rerankers on the base model's candidates."""
        main, base, data = self.plan.main_reranker, self.plan.base, self.sets[dataset]
        every = {name: self.files.scores(name, base, dataset) for name in self.plan.rerankers}
        files = {name: scores for name, scores in every.items() if scores}
        if main is None or main not in files:
            return []
        settings = {name: self.settings(name, base) for name in files}
        key: Key = {
            "set": data.key,
            "main": main,
            "rerankers": [
                [name, [file.hash for file in scores], settings[name].to_dict()] for name, scores in files.items()
            ],
        }

        def choose() -> list[Example]:
            grids = {name: (self.grid(scores, dataset)[1], settings[name]) for name, scores in files.items()}
            return choose_examples(data.gold, main, grids)

        return self.cache.value("examples", key, list[Example], choose)

    def losses(self, name: str) -> Losses | None:
        """Return a model's mean cross-entropy by position; None if it gives tokens no probability (figure 3)."""
        kind, model = parse_name(name)
        if model is None or not scores_tokens(name):
            return None
        data, full_name = self.sets[self.plan.validation], f"{kind.kind}:{expand(model)}"
        identity = model_hash(expand(model))
        key = {"set": data.key, "kind": kind.kind, "model": identity, "lengths": list(LENGTHS)}
        return self.cache.value("losses", key, Losses, lambda: measure_losses(full_name, data.gold), name)


def split_seeds(grid: DecisionGrid) -> list[DecisionGrid]:
    """Return one reranker per seed: one model of each kind; a kind with a single model has it in every seed."""
    counts = Counter(grid.kinds)
    seeds = max(counts.values())
    if seeds == 1:
        return []
    try:
        check_seeds(grid.kinds)
    except ValueError as error:
        raise InputError(f"a reranker {error}.") from None
    by_kind = [[k for k, other in enumerate(grid.kinds) if other == kind] for kind in counts]
    grids = []
    for seed in range(seeds):
        models = [group[seed % len(group)] for group in by_kind]
        rows = [Scored(row.candidates, tuple(row.scores[k] for k in models)) for row in grid.rows]
        grids.append(DecisionGrid(grid.metric, rows, tuple(counts)))
    return grids
