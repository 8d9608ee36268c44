"""The pipeline of a study: candidates, scores, settings and measures, each computed if it is not in the cache."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btr.candidates.generate import generate
from btr.corpus.candidates import read_candidates
from btr.corpus.files import write_lines
from btr.corpus.scores import Scored, read_scores
from btr.errors import InputError
from btr.metrics.evaluate import read_hypotheses
from btr.metrics.significance import RESAMPLES
from btr.models.batches import INT8
from btr.rerankers.base import Rule
from btr.rerankers.differences import NEAR
from btr.rerankers.free import Base
from btr.rerankers.rerank import read_ensemble
from btr.rerankers.score import WITH_MODEL, score
from btr.rerankers.table import THRESHOLDS, Setting, Table
from btr.studies.cache import Key, StageFile, StudyCache
from btr.studies.dataset import DataSet
from btr.studies.examples import choose_examples
from btr.studies.losses import BY_POSITION, LENGTHS, measure_losses
from btr.studies.measures import measure_base, measure_reranker
from btr.studies.plan import CandidatesPlan, Plan, RerankerPlan, check_seeds
from btr.studies.records import (
    BaseMeasures,
    BestSettings,
    CrossValidated,
    Example,
    Losses,
    RerankerMeasures,
    Tuned,
    TunedGrid,
)
from btr.studies.tune import describe, try_all
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
    settings: Setting
    seconds: float | None  # to score the candidates; None if they were not scored in one go


class Pipeline:
    """The stages of a study. A set, a model's candidates and a reranker are known by their names in the plan."""

    def __init__(self, plan: Plan, cache: StudyCache) -> None:
        self.plan, self.cache = plan, cache
        self.sets = {name: DataSet(name, dataset, cache) for name, dataset in plan.sets.items()}
        self._rows: dict[tuple[str, ...], tuple[str, list[Scored]]] = {}
        self._log_probs: dict[str, bool] = {}  # whether candidates have them, by hash
        self.check()

    def check(self) -> None:
        """Check that all files and models of the plan exist, before any work is done."""
        origins = [*self.plan.candidates.values(), *self.plan.decoding.values()]
        rerankers = self.plan.rerankers.values()
        files = [path for candidates in origins for path in candidates.files.values()]
        for reranker in rerankers:
            files += [path for by_set in reranker.scores.values() for paths in by_set.values() for path in paths]
        models = [candidates.model for candidates in origins]
        models += [spec.partition(":")[2] for reranker in rerankers for spec in reranker.models]
        for path in files:
            self.cache.hash_of(expand(path))
        for model in filter(None, models):
            self.cache.model_hash(expand(model))
        main = self.plan.main_reranker
        if main is None:
            return
        if self.plan.rerankers[main].scores and self.plan.base not in self.plan.rerankers[main].scores:
            raise InputError(f"the main reranker, {main}, has no scores of {self.plan.base}; name another as main.")

    def candidates(self, plan: CandidatesPlan, dataset: str) -> StageFile | None:
        """Return a set's candidates; None if they are files, and there is no file for this set."""
        if plan.files:
            if dataset not in plan.files:
                return None
            path = Path(expand(plan.files[dataset]))
            return StageFile(path, self.cache.hash_of(path))
        sources = self.cache.file(
            "sources", self.sets[dataset].key, ".txt", lambda path: write_lines(path, self.sets[dataset].sources())
        )
        model = expand(plan.model or "")
        options = plan.model_dump(exclude={"files", "model"})
        key = {"sources": sources.hash, "model": self.cache.model_hash(model), **options}

        def write(path: Path) -> str:
            return str(generate(sources.path, model, path, **options)["signature"])

        return self.cache.file("candidates", key, ".jsonl", write, f"{plan.model}, {plan.method}, {dataset}")

    def scores(self, reranker: RerankerPlan, generator: str, dataset: str) -> list[StageFile]:
        """Return a reranker's scores of a set's candidates, one file per model.

        There are none if there are no candidates, or if they come without the log-probabilities that it needs.
        """
        if reranker.scores:
            paths = [Path(expand(path)) for path in reranker.scores.get(generator, {}).get(dataset, [])]
            return [StageFile(path, self.cache.hash_of(path)) for path in paths]
        candidates = self.candidates(self.plan.candidates[generator], dataset)
        if not candidates or not self.can_score(reranker, generator, dataset):
            return []
        return [self.score(candidates, spec, dataset, reranker.int8) for spec in reranker.models]

    def can_score(self, reranker: RerankerPlan, generator: str, dataset: str) -> bool:
        """Return whether a set's and the validation set's candidates have the log-probabilities that are needed."""
        if Base.kind not in reranker.models:
            return True
        files = [self.candidates(self.plan.candidates[generator], name) for name in (dataset, self.plan.validation)]
        return all(file is not None and self.have_log_probs(file) for file in files)

    def have_log_probs(self, file: StageFile) -> bool:
        """Return whether candidates come with log-probabilities; a single candidate needs none."""
        if file.hash not in self._log_probs:
            rows = read_candidates(file.path)
            self._log_probs[file.hash] = all(row.log_probs is not None or len(row.texts) == 1 for row in rows)
        return self._log_probs[file.hash]

    def score(self, candidates: StageFile, spec: str, dataset: str, int8: bool) -> StageFile:
        """Return one model's scores of as many candidates as the plan's largest `top`."""
        kind, _, model = spec.partition(":")
        model = expand(model)
        identity, top = self.cache.model_hash(model) if model else "", max(self.plan.top)
        key = {"candidates": candidates.hash, "kind": kind, "model": identity, "top": top}
        if kind == "contrast":
            key["near"] = NEAR
        int8 = int8 and kind in WITH_MODEL
        if int8:
            key["int8"] = INT8

        def write(path: Path) -> str:
            return score(candidates.path, [f"{kind}:{model}" if model else kind], path, top=top, int8=int8)

        return self.cache.file("scores", key, ".jsonl", write, f"{spec}, {dataset}")

    def rows(self, files: Sequence[StageFile], weights: Sequence[float] = ()) -> tuple[str, list[Scored]]:
        """Return scores files as one reranker: its signature and rows."""
        key = (*(file.hash for file in files), *map(str, weights))
        if key not in self._rows:
            signature, rows = read_ensemble([file.path for file in files], "log", Rule(), weights)
            self._rows[key] = signature, list(rows)
        return self._rows[key]

    def base(self, plan: CandidatesPlan, dataset: str) -> BaseResult | None:
        """Measure a base model's candidates on a set; None if there are none."""
        file, data = self.candidates(plan, dataset), self.sets[dataset]
        if file is None:
            return None
        key = {"set": data.key, "candidates": file.hash, "resamples": RESAMPLES}
        measures = self.cache.value(
            "base",
            key,
            BaseMeasures,
            lambda: measure_base(data.gold, read_hypotheses([file.path], data.gold)),
            dataset,
        )
        return BaseResult(measures, file.signature or f"{file.path.name}#{file.hash}", file.seconds)

    def tuned(self, reranker: RerankerPlan, generator: str, dataset: str) -> TunedGrid | None:
        """Return the grid of a reranker on a set; a mixture has the weights that are best on the validation set."""
        files = self.scores(reranker, generator, dataset)
        if not files:
            return None
        metric, weights = self.sets[dataset].gold.metric, self.weights(reranker, generator)
        limits = self.limits(reranker)
        key = {**self.tuning_key(dataset, files, limits), **({"weights": weights} if weights else {})}
        grid = self.cache.value(
            "tuned", key, TunedGrid, lambda: as_grid(try_all(Table(metric, [self.rows(files, weights)[1]]), *limits))
        )
        if weights and dataset == self.plan.validation:
            mixture = self.mixture(reranker, generator)
            return TunedGrid(mixture.best, mixture.crossed, grid.tops, grid.grid, grid.changed)
        return grid

    def limits(self, reranker: RerankerPlan) -> tuple[list[int], tuple[float, ...], int]:
        """Return the numbers of candidates and thresholds to try, and the number of folds."""
        return self.plan.top, THRESHOLDS if reranker.threshold else (0.0,), self.plan.folds

    def tuning_key(self, dataset: str, files: Sequence[StageFile], limits: Sequence[Any]) -> dict[str, Any]:
        """Return what the best settings depend on."""
        hashes = [file.hash for file in files]
        return {"set": self.sets[dataset].key, "scores": hashes, "limits": limits, "resamples": RESAMPLES}

    def mixture(self, reranker: RerankerPlan, generator: str) -> Tuned:
        """Return the best settings of several models on the validation set, weights included."""
        validation = self.plan.validation
        files, limits = self.scores(reranker, generator, validation), self.limits(reranker)
        metric = self.sets[validation].gold.metric
        return self.cache.value(
            "mixture",
            self.tuning_key(validation, files, limits),
            Tuned,
            lambda: as_tuned(describe(Table(metric, [self.rows([file])[1] for file in files]), *limits)),
        )

    def weights(self, reranker: RerankerPlan, generator: str) -> list[float]:
        """Return the weights that a mixture has on the validation set; none if it is no mixture."""
        return list(self.mixture(reranker, generator).best.weights) if reranker.mix else []

    def setting(self, reranker: RerankerPlan, generator: str) -> Setting:
        """Return the number of candidates and the threshold that are best on the validation set."""
        tuned = self.tuned(reranker, generator, self.plan.validation)
        assert tuned is not None
        return Setting(tuned.best.top, tuned.best.threshold)

    def reranked(self, reranker: RerankerPlan, generator: str, dataset: str) -> RerankerResult | None:
        """Measure a reranker on a set, with the settings that are best on the validation set."""
        files, data = self.scores(reranker, generator, dataset), self.sets[dataset]
        if not files:
            return None
        setting, weights = self.setting(reranker, generator), self.weights(reranker, generator)
        key = {
            "set": data.key,
            "scores": [file.hash for file in files],
            "setting": setting[:2],
            "weights": weights,
            "resamples": RESAMPLES,
        }

        def measure() -> RerankerMeasures:
            signature, rows = self.rows(files, weights)
            if reranker.scores:  # scores that the study computed are of these candidates
                self.check_base_candidates(rows, files[0].path, generator, dataset)
            seeds = [] if weights else [self.rows(seed)[1] for seed in split_seeds(files)]
            return measure_reranker(data.gold, rows, signature, setting, seeds)

        measures = self.cache.value(
            "reranked", key, RerankerMeasures, measure, f"{', '.join(reranker.models)}, {dataset}"
        )
        seconds = [file.seconds for file in files if file.seconds is not None]
        total = round(sum(seconds), 1) if len(seconds) == len(files) else None
        return RerankerResult(measures, setting, total)

    def check_base_candidates(self, rows: Sequence[Scored], path: Path, generator: str, dataset: str) -> None:
        """Refuse scores of other base candidates than the model's, since differences are to them."""
        file, gold = self.candidates(self.plan.candidates[generator], dataset), self.sets[dataset].gold
        texts = [] if file is None else [candidates[0] for candidates in read_hypotheses([file.path], gold)]
        for number, (row, text) in enumerate(zip(rows, texts), 1):
            if row.candidates[0] != text:
                raise InputError(
                    f"{path}: has other candidates of sentence {number} than {generator}'s file for {dataset}."
                )

    def examples(self, dataset: str) -> list[Example]:
        """Return example outputs of all rerankers on the base model's candidates."""
        main, generator, data = self.plan.main_reranker, self.plan.base, self.sets[dataset]
        files = {
            name: scores
            for name, reranker in self.plan.rerankers.items()
            if (scores := self.scores(reranker, generator, dataset))
        }
        if main not in files:
            return []
        settings = {name: self.setting(self.plan.rerankers[name], generator) for name in files}
        weights = {name: self.weights(self.plan.rerankers[name], generator) for name in files}
        key: Key = {
            "set": data.key,
            "main": main,
            "rerankers": [
                [name, [file.hash for file in scores], settings[name][:2], weights[name]]
                for name, scores in files.items()
            ],
        }

        def choose() -> list[Example]:
            rows = {name: (self.rows(scores, weights[name])[1], settings[name]) for name, scores in files.items()}
            return choose_examples(data.gold, main, rows)

        return self.cache.value("examples", key, list[Example], choose)

    def losses(self, spec: str) -> Losses | None:
        """Return a model's mean cross-entropy by position; None if it gives tokens no probability (figure 3)."""
        kind, _, model = spec.partition(":")
        if kind not in BY_POSITION:
            return None
        model, data = expand(model), self.sets[self.plan.validation]
        key = {"set": data.key, "kind": kind, "model": self.cache.model_hash(model), "lengths": list(LENGTHS)}
        return self.cache.value("losses", key, Losses, lambda: measure_losses(kind, model, data.gold), spec)


def as_tuned(found: dict[str, Any]) -> Tuned:
    """Return what `tune` found as a record."""
    best, crossed = found["best"], found["crossed"]
    return Tuned(
        BestSettings(best["top"], best["threshold"], tuple(best["weights"]), best["scores"]),
        CrossValidated(
            crossed["folds"], crossed["scores"], crossed["difference"], tuple(crossed["interval"]), crossed["p"]
        ),
    )


def as_grid(found: dict[str, Any]) -> TunedGrid:
    """Return a grid of `tune` as a record."""
    tuned = as_tuned(found)
    return TunedGrid(tuned.best, tuned.crossed, found["tops"], found["grid"], found["changed"])


def split_seeds(files: Sequence[StageFile]) -> list[list[StageFile]]:
    """Return the files of each seed: one of each kind; a kind with a single file has it in every seed."""
    kinds = [read_scores(file.path)[0].reranker for file in files]
    counts = Counter(kinds)
    seeds = max(counts.values())
    if seeds == 1:
        return []
    by_kind = [[file for file, other in zip(files, kinds) if other == kind] for kind in counts]
    try:
        check_seeds(kinds)
    except ValueError as error:
        raise InputError(f"a reranker {error}.") from None
    return [[group[seed % len(group)] for group in by_kind] for seed in range(seeds)]
