"""The pipeline of a study: tuned settings and measures, each computed if it is not in the cache."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from btr.corpus.scores import Header, Scored
from btr.decisions.grid import DecisionGrid
from btr.decisions.search import THRESHOLDS
from btr.decisions.settings import Settings
from btr.decisions.tune import read_file
from btr.errors import InputError
from btr.metrics.hypotheses import read_hypotheses
from btr.metrics.significance import RESAMPLES
from btr.models.identity import model_hash
from btr.rerankers import parse_name
from btr.studies.cache import Key, StageFile, StudyCache
from btr.studies.coverage import tried_sizes
from btr.studies.examples import choose_examples
from btr.studies.losses import LENGTHS, measure_losses, scores_tokens
from btr.studies.measures import measure_base, measure_reranker, measure_ungraded, split_seeds
from btr.studies.plan import CandidatesPlan, Plan
from btr.studies.records import (
    BaseMeasures,
    Example,
    Losses,
    RerankerMeasures,
    TunedGrid,
    TunedSettings,
    UngradedMeasures,
)
from btr.studies.study_files import StudyFiles
from btr.studies.tuning import Lists, TuningPlan, tune_grid, tune_reranker
from btr.training.recipe import expand

ScoreFiles = Mapping[int | None, Sequence[StageFile]]  # by list of candidates


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


@dataclass(frozen=True)
class UngradedResult:
    """What was measured of a reranker without gold."""

    measures: UngradedMeasures
    settings: Settings
    seconds: float | None
    signature: str  # of the sentences and candidates


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
            self._grids[key] = header, DecisionGrid(self.sets[dataset].scorer, rows, header.kinds)
        return self._grids[key]

    def grids(self, files: ScoreFiles, dataset: str) -> Lists:
        """Read the scores of several lists of candidates."""
        return {size: self.grid(each, dataset)[1] for size, each in files.items()}

    def candidates(self, generator: str, dataset: str, size: int | None) -> StageFile | None:
        """Return a list of a model's candidates; None if there is none for this set."""
        return self.files.candidates(self.plan.candidates[generator], dataset, size)

    def base(self, plan: CandidatesPlan, dataset: str, size: int | None) -> BaseResult | None:
        """Measure a base model's candidates on a set; None if there are none."""
        file, data = self.files.candidates(plan, dataset, size), self.sets[dataset]
        if file is None:
            return None

        def measure() -> BaseMeasures:
            return measure_base(data.gold, read_hypotheses([file.path], data.gold))

        key = {"set": data.key, "candidates": file.hash, "resamples": RESAMPLES}
        measures = self.cache.value("base", key, BaseMeasures, measure, dataset)
        return BaseResult(measures, name_of(file), file.seconds)

    def tried_sizes(self, name: str, generator: str, dataset: str) -> list[int | None]:
        """Return the lists of candidates that a reranker's settings are tuned over on a set."""
        plan, reranker, given = self.plan, self.plan.rerankers[name], self.files.given[name]
        size = None
        if reranker.gives("top"):
            is_given = reranker.profile is not None or "candidates" in reranker.settings or given.top is None
            size = given.candidates if is_given else given.top
        return tried_sizes(plan, name, generator, dataset, size, lambda: self.settings(name, plan.base).candidates)

    def size_of(self, settings: Settings, generator: str, dataset: str) -> int | None:
        """Return the list of candidates that settings choose from."""
        return None if self.plan.sizes(generator, dataset) is None else settings.candidates

    def tuned(self, name: str, generator: str, dataset: str) -> TunedGrid | None:
        """Return the grid of a reranker on a set; a mixture has the weights that are best on the validation set."""
        sizes = self.tried_sizes(name, generator, dataset)
        every = {size: self.files.scores(name, generator, dataset, size) for size in sizes}
        files, plan = {size: scores for size, scores in every.items() if scores}, self.tuning_plan(name)
        if not files:
            return None
        mixture = self.mixture(name, generator) if plan.mix else None
        if mixture:
            plan = replace(plan, start=replace(plan.start, weights=mixture.settings.weights), mix=False)
        key = self.tuning_key(dataset, files, plan)
        tuned = self.cache.value("tuned", key, TunedGrid, lambda: tune_grid(self.grids(files, dataset), plan))
        if mixture and dataset == self.plan.validation:
            return replace(tuned, settings=mixture.settings, crossed=mixture.crossed)
        return tuned

    def tuning_plan(self, name: str) -> TuningPlan:
        """Return what is tuned of a reranker's settings, and what is given."""
        reranker = self.plan.rerankers[name]
        tops = None if reranker.gives("top") else self.plan.top
        thresholds = None if reranker.gives("threshold") else THRESHOLDS if reranker.threshold else (0.0,)
        return TuningPlan(self.files.given[name], tops, thresholds, reranker.mix, self.plan.folds)

    def tuning_key(self, dataset: str, files: ScoreFiles, plan: TuningPlan) -> Key:
        """Return what the best settings depend on."""
        hashes = [[size, *(file.hash for file in scores)] for size, scores in files.items()]
        tuning = {**asdict(plan), "start": plan.start.to_dict()}
        return {"set": self.sets[dataset].key, "scores": hashes, "tuning": tuning, "resamples": RESAMPLES}

    def mixture(self, name: str, generator: str) -> TunedSettings:
        """Return the best settings of several kinds of models on the validation set, weights included."""
        validation, plan = self.plan.validation, self.tuning_plan(name)
        sizes = self.tried_sizes(name, generator, validation)
        files = {size: self.files.scores(name, generator, validation, size) for size in sizes}

        def tune() -> TunedSettings:
            grids = self.grids(files, validation)
            if any(len(grid.distinct_kinds) < 2 for grid in grids.values()):
                raise InputError(f"rerankers.{name}: a mixture needs several kinds of models, e.g. contrast and base.")
            return tune_reranker(grids, plan)

        return self.cache.value("mixture", self.tuning_key(validation, files, plan), TunedSettings, tune)

    def settings(self, name: str, generator: str) -> Settings:
        """Return the settings that are best on the validation set."""
        tuned = self.tuned(name, generator, self.plan.validation)
        assert tuned is not None
        return tuned.settings

    def scores(self, name: str, generator: str, dataset: str, settings: Settings) -> list[StageFile]:
        """Return the scores of the candidates that settings choose from; none if there are none."""
        return self.files.scores(name, generator, dataset, self.size_of(settings, generator, dataset))

    def reranked(self, name: str, generator: str, dataset: str, settings: Settings) -> RerankerResult | None:
        """Measure a reranker on a set with gold."""
        files, data = self.scores(name, generator, dataset, settings), self.sets[dataset]
        if not files:
            return None
        reranker = self.plan.rerankers[name]
        key = {**measure_key(data.key, files, settings), "resamples": RESAMPLES}

        def measure() -> RerankerMeasures:
            header, grid = self.grid(files, dataset)
            settings.check_weights(header.kinds)
            if reranker.scores:  # scores that the study computed are of these candidates
                self.check_base_candidates(grid.rows, files[0].path, generator, dataset)
            seeds = [] if reranker.mix else split_seeds(grid)
            return measure_reranker(data.gold, grid, header.signature, settings, seeds)

        about = f"{', '.join(reranker.models)}, {dataset}"
        measures = self.cache.value("reranked", key, RerankerMeasures, measure, about)
        return RerankerResult(measures, settings, total_seconds(files))

    def ungraded(self, name: str, generator: str, dataset: str, settings: Settings) -> UngradedResult | None:
        """Measure what needs no gold of a reranker on a set."""
        files, data = self.scores(name, generator, dataset, settings), self.sets[dataset]
        if not files:
            return None

        def measure() -> UngradedMeasures:
            header, grid = self.grid(files, dataset)
            return measure_ungraded(grid, header.signature, settings)

        key = measure_key(data.key, files, settings)
        measures = self.cache.value("ungraded", key, UngradedMeasures, measure, dataset)
        candidates = self.candidates(generator, dataset, self.size_of(settings, generator, dataset))
        signature = data.signature + (f" · candidates:{name_of(candidates)}" if candidates else "")
        return UngradedResult(measures, settings, total_seconds(files), signature)

    def check_base_candidates(self, rows: Sequence[Scored], path: Path, generator: str, dataset: str) -> None:
        """Refuse scores of other base candidates than the model's, since differences are to them."""
        file, gold = self.candidates(generator, dataset, None), self.sets[dataset].gold
        texts = [] if file is None else [candidates[0] for candidates in read_hypotheses([file.path], gold)]
        for number, (row, text) in enumerate(zip(rows, texts), 1):
            if row.candidates.texts[0] != text:
                raise InputError(
                    f"{path}: has other candidates of sentence {number} than {generator}'s file for {dataset}."
                )

    def examples(self, dataset: str) -> list[Example]:
        """Return example outputs of all rerankers on the candidates that the set's main reranker chooses from."""
        main, base, data = self.plan.main_of(dataset), self.plan.base, self.sets[dataset]
        if main is None or self.tuned(main, base, self.plan.validation) is None:
            return []
        size = self.size_of(self.settings(main, base), base, dataset)
        every = {name: self.files.scores(name, base, dataset, size) for name in self.plan.heads}
        files = {name: scores for name, scores in every.items() if scores}
        if main not in files:
            return []
        settings = {name: self.at_size(name, size) for name in files}
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

    def at_size(self, name: str, size: int | None) -> Settings:
        """Return a reranker's best settings on the validation set, for another list of candidates."""
        settings = self.settings(name, self.plan.base)
        if size is None or self.plan.rerankers[name].gives("top"):
            return settings
        return replace(settings, candidates=size, top=size)

    def losses(self, name: str) -> Losses | None:
        """Return a model's mean cross-entropy by position; None if it gives tokens no probability (figure 3)."""
        kind, model = parse_name(name)
        if model is None or not scores_tokens(name):
            return None
        data, full_name = self.sets[self.plan.losses_on or self.plan.validation], f"{kind.kind}:{expand(model)}"
        identity = model_hash(expand(model))
        key = {"set": data.key, "kind": kind.kind, "model": identity, "lengths": list(LENGTHS)}
        return self.cache.value("losses", key, Losses, lambda: measure_losses(full_name, data.gold), name)


def measure_key(data: Key, files: Sequence[StageFile], settings: Settings) -> Key:
    """Return what a reranker's measures depend on."""
    return {"set": data, "scores": [file.hash for file in files], "settings": settings.to_dict()}


def name_of(file: StageFile) -> str:
    """Return what identifies candidates: their signature, or the file's name and hash."""
    return file.signature or f"{file.path.name}#{file.hash}"


def total_seconds(files: Sequence[StageFile]) -> float | None:
    """Return how long it took to write all files, if it is known."""
    seconds = [file.seconds for file in files if file.seconds is not None]
    return round(sum(seconds), 1) if len(seconds) == len(files) else None
