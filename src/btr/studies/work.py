"""The work of a study: candidates, scores and measures, each made if it is not there."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from btr.candidates.generate import generate
from btr.corpus.candidates import read_candidates
from btr.corpus.files import write_lines
from btr.corpus.scores import Scored, read_scores
from btr.errors import InputError
from btr.metrics.evaluate import read_hypotheses
from btr.metrics.gold import Gold, load_gold, short_names
from btr.metrics.significance import RESAMPLES
from btr.models.batches import INT8
from btr.rerankers.base import Rule
from btr.rerankers.differences import NEAR
from btr.rerankers.free import Base
from btr.rerankers.rerank import read_ensemble
from btr.rerankers.score import WITH_MODEL, score
from btr.rerankers.table import THRESHOLDS, Setting, Table
from btr.studies import measures
from btr.studies.plan import Corpus, Plan, Reranker, Writer, check_seeds
from btr.studies.stages import Made, Stages
from btr.studies.tune import describe, try_all
from btr.training.recipe import expand

BY_POSITION = "btr", "contrast", "l2r", "r2l", "roberta"  # rerankers whose models can be asked about every token


class Set:
    """A set of sentences with its gold, which is read when it is first asked for."""

    def __init__(self, name: str, corpus: Corpus, stages: Stages) -> None:
        self.name, self.metric = name, corpus.metric
        self.paths = {
            "gold": [Path(expand(path)) for path in corpus.gold],
            "source": [Path(expand(path)) for path in [corpus.source] if path],
            "reference": [Path(expand(path)) for path in corpus.reference],
        }
        hashes = {kind: [stages.hash_of(path) for path in paths] for kind, paths in self.paths.items()}
        names = {kind: [path.name for path in paths] for kind, paths in self.paths.items()}  # signatures have them
        self.key = {"metric": corpus.metric, "names": names, "levels": short_names(self.paths["gold"]), **hashes}

    @cached_property
    def gold(self) -> Gold:
        """What outputs are scored against."""
        source = next(iter(self.paths["source"]), None)
        return load_gold(self.metric, gold=self.paths["gold"], source=source, reference=self.paths["reference"])

    def sources(self) -> list[str]:
        """Its sentences, uncorrected."""
        return measures.sources(self.gold)


class Work:
    """What a plan asks for, stage by stage."""

    def __init__(self, plan: Plan, stages: Stages) -> None:
        self.plan, self.stages = plan, stages
        self.sets = {name: Set(name, corpus, stages) for name, corpus in plan.sets.items()}
        self.validation = self.sets[plan.validation]
        self._rows: dict[tuple[str, ...], tuple[str, list[Scored]]] = {}
        self._log_probs: dict[str, bool] = {}  # whether candidates have them, by hash
        self.check()

    def check(self) -> None:
        """Look at all files and models that the plan names before any work is done."""
        writers = [*self.plan.candidates.values(), *self.plan.decoding.values()]
        rerankers = self.plan.rerankers.values()
        files = [path for own in writers for path in own.files.values()]
        files += [
            path for own in rerankers for sets in own.scores.values() for paths in sets.values() for path in paths
        ]
        models = [own.model for own in writers] + [spec.partition(":")[2] for own in rerankers for spec in own.models]
        for path in files:
            self.stages.hash_of(expand(path))
        for model in filter(None, models):
            self.stages.model_hash(expand(model))
        chief, base = self.plan.rerankers[self.plan.chief], self.plan.base
        if chief.scores and base not in chief.scores:
            raise InputError(f"{self.plan.chief} is looked at closely, and has no scores of {base}; name another main.")

    def candidates(self, writer: Writer, own: Set) -> Made | None:
        """A set's candidates; none if they are files, and there is none for this set."""
        if writer.files:
            if own.name not in writer.files:
                return None
            path = Path(expand(writer.files[own.name]))
            return Made(path, self.stages.hash_of(path), {})
        sources = self.stages.file("sources", own.key, ".txt", lambda path: self.write_sources(path, own))
        model = expand(writer.model or "")
        options = writer.model_dump(exclude={"files", "model"})
        key = {"sources": sources.hash, "model": self.stages.model_hash(model), **options}
        return self.stages.file(
            "candidates",
            key,
            ".jsonl",
            lambda path: generate(sources.path, model, path, **options),
            f"{writer.model}, {writer.method}, {own.name}",
        )

    def write_sources(self, path: Path, own: Set) -> Mapping[str, Any]:
        """Write a set's sentences, for a model to correct."""
        write_lines(path, own.sources())
        return {}

    def scores(self, reranker: Reranker, writer: str, own: Set) -> list[Made]:
        """A reranker's scores of a set's candidates, a file for each of its models.

        None if there are no candidates, or if they come without the log-probabilities that it needs.
        """
        if reranker.scores:
            paths = map(expand, reranker.scores.get(writer, {}).get(own.name, []))
            return [Made(Path(path), self.stages.hash_of(path), {}) for path in paths]
        candidates = self.candidates(self.plan.candidates[writer], own)
        if not candidates or not self.can_score(reranker, writer, own):
            return []
        return [self.score(candidates, spec, own.name, reranker.int8) for spec in reranker.models]

    def can_score(self, reranker: Reranker, writer: str, own: Set) -> bool:
        """Whether a set's candidates, and the validation set's, have the log-probabilities that a reranker may need."""
        if Base.kind not in reranker.models:
            return True
        files = [self.candidates(self.plan.candidates[writer], each) for each in (own, self.validation)]
        return all(made is not None and self.have_log_probs(made) for made in files)

    def have_log_probs(self, made: Made) -> bool:
        """Whether candidates come with what the base model found them worth; a lone one needs none."""
        if made.hash not in self._log_probs:
            rows = read_candidates(made.path)
            self._log_probs[made.hash] = all(row.log_probs is not None or len(row.texts) == 1 for row in rows)
        return self._log_probs[made.hash]

    def score(self, candidates: Made, spec: str, about: str, int8: bool) -> Made:
        """One model's scores of as many candidates as take part at all."""
        kind, _, model = spec.partition(":")
        model = expand(model)
        identity, top = self.stages.model_hash(model) if model else "", max(self.plan.top)
        key = {"candidates": candidates.hash, "kind": kind, "model": identity, "top": top}
        if kind == "contrast":
            key["near"] = NEAR
        int8 = int8 and kind in WITH_MODEL
        if int8:
            key["int8"] = INT8
        asked = f"{kind}:{model}" if model else kind

        def make(path: Path) -> Mapping[str, Any]:
            return {"signature": score(candidates.path, [asked], path, top=top, int8=int8), "spec": spec}

        return self.stages.file("scores", key, ".jsonl", make, f"{spec}, {about}")

    def rows(self, files: Sequence[Made], weights: Sequence[float] = ()) -> tuple[str, list[Scored]]:
        """Scores files as one reranker: its signature and rows."""
        key = (*(made.hash for made in files), *map(str, weights))
        if key not in self._rows:
            signature, rows = read_ensemble([made.path for made in files], "log", Rule(), weights)
            self._rows[key] = signature, list(rows)
        return self._rows[key]

    def base(self, writer: Writer, own: Set) -> dict[str, Any] | None:
        """What the base model's candidates are worth."""
        made = self.candidates(writer, own)
        if made is None:
            return None
        key = {"set": own.key, "candidates": made.hash, "resamples": RESAMPLES}
        told: dict[str, Any] = self.stages.value(
            "base", key, lambda: measures.measure_base(own.gold, read_hypotheses([made.path], own.gold)), own.name
        )
        source = made.told.get("signature") or f"{made.path.name}#{made.hash}"
        return {**told, "source": source, "seconds": made.told.get("seconds")}

    def tuned(self, reranker: Reranker, writer: str, own: Set) -> dict[str, Any] | None:
        """The grid of a reranker on a set, and its best setting there; a mixture's weights are the validation set's."""
        files = self.scores(reranker, writer, own)
        if not files:
            return None
        limits, weights = self.limits(reranker), self.weights(reranker, writer)
        key = {**self.tuning_key(own, files, limits), **({"weights": weights} if weights else {})}
        grid: dict[str, Any] = self.stages.value(
            "tuned", key, lambda: try_all(Table(own.gold.metric, [self.rows(files, weights)[1]]), *limits)
        )
        return {**grid, **self.mixture(reranker, writer)} if weights and own is self.validation else grid

    def limits(self, reranker: Reranker) -> tuple[list[int], tuple[float, ...], int]:
        """The numbers of candidates and thresholds to try, and the folds of the cross-validation."""
        return self.plan.top, THRESHOLDS if reranker.threshold else (0.0,), self.plan.folds

    def tuning_key(self, own: Set, files: Sequence[Made], limits: Sequence[Any]) -> dict[str, Any]:
        """What the best setting depends on."""
        return {"set": own.key, "scores": [made.hash for made in files], "limits": limits, "resamples": RESAMPLES}

    def mixture(self, reranker: Reranker, writer: str) -> dict[str, Any]:
        """The best setting of several models on the validation set, weights included."""
        files = self.scores(reranker, writer, self.validation)
        limits = self.limits(reranker)

        def search() -> dict[str, Any]:
            return describe(Table(self.validation.gold.metric, [self.rows([made])[1] for made in files]), *limits)

        found: dict[str, Any] = self.stages.value("mixture", self.tuning_key(self.validation, files, limits), search)
        return found

    def weights(self, reranker: Reranker, writer: str) -> list[float]:
        """The weights that a mixture has on the validation set; none if it is no mixture."""
        return list(self.mixture(reranker, writer)["best"]["weights"]) if reranker.mix else []

    def setting(self, reranker: Reranker, writer: str) -> Setting:
        """How many candidates take part, and the threshold, as the validation set has them best."""
        tuned = self.tuned(reranker, writer, self.validation)
        assert tuned is not None
        return Setting(tuned["best"]["top"], tuned["best"]["threshold"])

    def measured(self, reranker: Reranker, writer: str, own: Set) -> dict[str, Any] | None:
        """What a reranker is worth on a set, with the setting that is best on the validation set."""
        files = self.scores(reranker, writer, own)
        if not files:
            return None
        setting, weights = self.setting(reranker, writer), self.weights(reranker, writer)
        key = {
            "set": own.key,
            "scores": [made.hash for made in files],
            "setting": setting[:2],
            "weights": weights,
            "resamples": RESAMPLES,
            "told": measures.TOLD,
        }

        def measure() -> dict[str, Any]:
            signature, rows = self.rows(files, weights)
            if reranker.scores:  # others were made from these candidates
                self.check_first(rows, files[0].path, writer, own)
            seeds = [] if weights else [self.rows(seed)[1] for seed in split_seeds(files)]
            return {**measures.measure_rows(own.gold, rows, setting, seeds), "reranker": signature}

        told: dict[str, Any] = self.stages.value("reranked", key, measure, f"{', '.join(reranker.models)}, {own.name}")
        seconds = [made.told.get("seconds") for made in files]
        known = None if None in seconds else round(sum(filter(None, seconds)), 1)
        return {**told, "setting": {"top": setting.top, "threshold": setting.threshold}, "seconds": known}

    def check_first(self, rows: Sequence[Scored], path: Path, writer: str, own: Set) -> None:
        """Scores must be of the base model's candidates: differences are to the first of them."""
        made = self.candidates(self.plan.candidates[writer], own)
        firsts = [] if made is None else [candidates[0] for candidates in read_hypotheses([made.path], own.gold)]
        for number, (row, first) in enumerate(zip(rows, firsts), 1):
            if row.candidates[0] != first:
                raise InputError(
                    f"{path}: has other candidates of sentence {number} than {writer}'s file for {own.name}."
                )

    def examples(self, own: Set) -> list[dict[str, Any]]:
        """Example outputs of all rerankers on the base model's candidates."""
        plan, writer = self.plan, self.plan.base
        files = {name: self.scores(reranker, writer, own) for name, reranker in plan.rerankers.items()}
        known = {name: made for name, made in files.items() if made}
        if plan.chief not in known:
            return []
        settings = {name: self.setting(plan.rerankers[name], writer) for name in known}
        weights = {name: self.weights(plan.rerankers[name], writer) for name in known}
        key = {
            "set": own.key,
            "chief": plan.chief,
            "rerankers": [[n, [m.hash for m in made], settings[n][:2], weights[n]] for n, made in known.items()],
        }
        told: list[dict[str, Any]] = self.stages.value(
            "examples",
            key,
            lambda: measures.choose_examples(
                own.gold, plan.chief, {n: (self.rows(m, weights[n])[1], settings[n]) for n, m in known.items()}
            ),
        )
        return told

    def losses(self, spec: str) -> dict[str, Any] | None:
        """A model's mean cross-entropy of the validation set's targets by the token's position (figure 3)."""
        kind, _, model = spec.partition(":")
        if kind not in BY_POSITION:
            return None
        model = expand(model)
        identity, lengths = self.stages.model_hash(model), list(measures.LENGTHS)
        key = {"set": self.validation.key, "kind": kind, "model": identity, "lengths": lengths, "told": measures.TOLD}
        told: dict[str, Any] = self.stages.value(
            "losses", key, lambda: measures.measure_losses(kind, model, self.validation.gold), spec
        )
        return told


def split_seeds(files: Sequence[Made]) -> list[list[Made]]:
    """The files of each seed: of every kind that occurs several times the seed's own, and those that occur once."""
    kinds = [read_scores(made.path)[0].reranker for made in files]
    counts = Counter(kinds)
    size = max(counts.values())
    if size == 1:
        return []
    by_kind = {kind: [made for made, own in zip(files, kinds) if own == kind] for kind in counts}
    try:
        check_seeds(kinds)
    except ValueError as error:
        raise InputError(f"a reranker {error}.") from None
    return [[own[seed % len(own)] for own in by_kind.values()] for seed in range(size)]
