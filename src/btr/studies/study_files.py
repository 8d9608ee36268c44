"""The candidates and scores of a study: files of the user, or written when they are first needed."""

from pathlib import Path

from btr.candidates.decoding import DECODING
from btr.candidates.generate import generate
from btr.corpus.candidates import read_candidates
from btr.corpus.files import write_lines
from btr.decisions.settings import Settings, find_profile
from btr.decisions.tune import read_file
from btr.errors import InputError
from btr.models.batches import INT8
from btr.models.identity import model_hash
from btr.models.locate import locate_model
from btr.rerankers import RERANKERS, parse_name
from btr.rerankers.score import score
from btr.studies.cache import StageFile, StudyCache, Written
from btr.studies.dataset import DataSet
from btr.studies.plan import CandidatesPlan, Plan, RerankerPlan
from btr.training.recipe import expand


def check_files(plan: Plan, cache: StudyCache) -> None:
    """Check that the sets' files and those of the user exist, before anything is trained for them."""
    written = {stage.output for stage in plan.training}
    files = [path for candidates in [*plan.candidates.values(), *plan.decoding.values()] for path in candidates.paths()]
    for reranker in plan.rerankers.values():
        files += [path for by_set in reranker.scores.values() for paths in by_set.values() for path in paths]
    for path in files:
        if path not in written:
            cache.hash_of(expand(path))
    for name, dataset in plan.sets.items():
        DataSet(name, dataset, cache)


class StudyFiles:
    """The files of a study. A set, a model's candidates and a reranker are known by their names in the plan.

    `size` says which list of candidates is meant, where there is one for each number of them; None: the only list.
    """

    def __init__(self, plan: Plan, cache: StudyCache) -> None:
        self.plan, self.cache = plan, cache
        self.sets = {name: DataSet(name, dataset, cache) for name, dataset in plan.sets.items()}
        self._log_probs: dict[str, bool] = {}  # whether candidates have them, by hash
        self.check()
        self.given = {name: self.given_settings(name) for name in plan.rerankers}

    def check(self) -> None:
        """Check that all models of the plan exist, before any work is done."""
        models = [candidates.model for candidates in [*self.plan.candidates.values(), *self.plan.decoding.values()]]
        models += [name.partition(":")[2] for reranker in self.plan.rerankers.values() for name in reranker.models]
        for model in filter(None, models):
            model_hash(expand(model))
        main = self.plan.main_reranker
        if main and self.plan.rerankers[main].scores and self.plan.base not in self.plan.rerankers[main].scores:
            raise InputError(f"the main reranker, {main}, has no scores of {self.plan.base}; name another as main.")

    def given_settings(self, name: str) -> Settings:
        """Return the settings that the plan gives for a reranker, with defaults for the others."""
        reranker, settings = self.plan.rerankers[name], Settings()
        if reranker.profile is not None:
            kinds_and_models = [(kind.kind, model) for kind, model in map(parse_name, reranker.models)]
            for by_set in list(reranker.scores.values())[:1]:
                header, _ = read_file([expand(path) for path in by_set[self.plan.validation]])
                kinds_and_models = [(scorer.kind, scorer.model) for scorer in header.rerankers]
            folders = [Path(locate_model(expand(model))) for _, model in kinds_and_models if model]
            found, note = find_profile(reranker.profile, folders, [kind for kind, _ in kinds_and_models])
            if found is None:
                raise InputError(f"rerankers.{name}: {(note or '').partition(';')[0]}; give settings instead.")
            settings = found
        return Settings.from_dict({**settings.to_dict(), **reranker.settings}, f"rerankers.{name}.settings")

    def first_size(self, generator: str, dataset: str) -> int | None:
        """Return the list that the base model is measured by: that of the first number of candidates."""
        sizes = self.plan.sizes(generator, dataset)
        return sizes[0] if sizes else None

    def candidates(self, plan: CandidatesPlan, dataset: str, size: int | None) -> StageFile | None:
        """Return a list of a set's candidates; None if they are files, and there is no file for it."""
        if plan.files:
            files = plan.files.get(dataset)
            name = files.get(size or 0) if isinstance(files, dict) else files
            return StageFile(Path(expand(name)), self.cache.hash_of(expand(name))) if name else None

        def write_sources(path: Path) -> Written:
            write_lines(path, self.sets[dataset].sources())
            return Written()

        sources = self.cache.file("sources", self.sets[dataset].key, ".txt", write_sources)
        model = expand(plan.model or "")
        options = {**plan.model_dump(exclude={"files", "model"}), "size": plan.size or size or self.plan.top[0]}
        provider = DECODING.provider(plan.method)
        key = {"sources": sources.hash, "model": model_hash(model), "provider": provider, **options}

        def write(path: Path) -> Written:
            generated = generate(sources.path, model, path, **options)
            return Written(generated.signature, generated.seconds)

        about = f"{plan.model}, {plan.method} {options['size']}, {dataset}"
        return self.cache.file("candidates", key, ".jsonl", write, about)

    def scores(self, name: str, generator: str, dataset: str, size: int | None) -> list[StageFile]:
        """Return a reranker's scores of a set's candidates, one file per model.

        There are none if there are no candidates, or if they come without the log-probabilities that it needs.
        """
        reranker = self.plan.rerankers[name]
        if reranker.scores:
            paths = [Path(expand(path)) for path in reranker.scores.get(generator, {}).get(dataset, [])]
            return [StageFile(path, self.cache.hash_of(path)) for path in paths]
        candidates = self.candidates(self.plan.candidates[generator], dataset, size)
        if not candidates or not self.can_score(reranker, generator, dataset):
            return []
        return [self.score(candidates, name, model, dataset, size) for model in reranker.models]

    def can_score(self, reranker: RerankerPlan, generator: str, dataset: str) -> bool:
        """Return whether a set's and the validation set's candidates have the log-probabilities that are needed."""
        if not any(parse_name(model)[0].needs_log_probs for model in reranker.models):
            return True
        files = [
            self.candidates(self.plan.candidates[generator], name, self.first_size(generator, name))
            for name in (dataset, self.plan.validation)
        ]
        return all(file is not None and self.have_log_probs(file) for file in files)

    def have_log_probs(self, file: StageFile) -> bool:
        """Return whether candidates come with log-probabilities; a single candidate needs none."""
        if file.hash not in self._log_probs:
            rows = read_candidates(file.path)
            self._log_probs[file.hash] = all(row.log_probs is not None or len(row.texts) == 1 for row in rows)
        return self._log_probs[file.hash]

    def score(self, candidates: StageFile, reranker: str, name: str, dataset: str, size: int | None) -> StageFile:
        """Return one model's scores of the candidates that may compete with any settings that are tried."""
        kind, model = parse_name(name)
        given, plan = self.given[reranker], self.plan.rerankers[reranker]
        top = given.top if plan.gives("top") else size or max(self.plan.top)
        identity = None if model is None else model_hash(expand(model))
        is_int8 = plan.int8 and kind.needs_model
        key = {
            "candidates": candidates.hash,
            "reranker": f"{kind.__module__}:{kind.__qualname__}",
            "provider": RERANKERS.provider(kind.kind),
            "signature": None if kind.needs_model else kind().signature,
            "model": identity,
            "int8": INT8 if is_int8 else None,
            "top": top,
            "gap": given.gap,
            "drop_runaways": given.drop_runaways,
        }

        def write(path: Path) -> Written:
            full_name = kind.kind if model is None else f"{kind.kind}:{expand(model)}"
            scored = score(
                candidates.path, full_name, path, top=top, gap=given.gap, drop_runaways=given.drop_runaways,
                int8=is_int8,
            )  # fmt: skip
            return Written(scored.signature, scored.seconds)

        about = f"{name}, {dataset}" + (f", {size} candidates" if size else "")
        return self.cache.file("scores", key, ".jsonl", write, about)
