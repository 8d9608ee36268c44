"""The plan of a study: the sets, candidates and rerankers of a YAML file, checked before any work is done."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from btr.candidates.decoding import DECODING
from btr.corpus.files import PathLike
from btr.decisions.settings import Settings
from btr.errors import InputError
from btr.metrics import METRICS
from btr.rerankers import parse_name
from btr.studies.training_plan import StagePlan
from btr.training.recipe import Part, check, read_yaml


class DataSetPlan(Part):
    """A set of sentences, and what outputs are scored against. Paths may have variables such as $BTR_DATA.

    A set with a source and nothing to score against, such as BEA's test set, is reranked without being scored.
    """

    metric: str = "m2"
    gold: list[str] = Field([])  # M2 files; several files are one set, and each is a group (CEFR level)
    source: str | None = None  # for gleu, and for sets without gold
    reference: list[str] = Field([])  # for gleu; with gold, for the oracle in place of the gold's corrections
    levels: dict[str, int] = Field({})  # sentences of each level, in order, where the set is one file
    main: str | None = None  # the reranker of this set's detailed tables and examples, in place of the plan's
    tuned_on: str | None = None  # the set that chooses a_train, a_pred and λ for the figures of λ and for Table 26
    sentences: int | None = Field(None, gt=0)  # for --dry-run, where the files are absent
    tokens: float = Field(30.0, gt=0)  # of a sentence on average, for --dry-run

    @model_validator(mode="after")
    def _complete(self) -> "DataSetPlan":
        try:
            needs = METRICS[self.metric].needs
        except InputError as error:
            raise ValueError(str(error).removesuffix(".")) from None
        if not self.has_gold and (self.source is None or self.gold or self.reference):
            raise ValueError(f"{self.metric} needs {' and '.join(needs)}")
        return self

    @property
    def has_gold(self) -> bool:
        """Whether outputs can be scored."""
        return all(getattr(self, kind) for kind in METRICS[self.metric].needs)


class CandidatesPlan(Part):
    """Where candidates come from: one file per set, or a model that writes them for every set.

    A model writes a list with a beam of a for each number a of candidates that is tried, as in the paper; with `size`
    it writes one list of so many, and smaller numbers are cut out of it. A set may have a file for each a.
    """

    files: dict[str, str | dict[int, str]] = Field({})
    model: str | None = None
    method: str = "beam"
    size: int | None = Field(None, gt=0)
    engine: Literal["transformers", "ctranslate2"] = "transformers"
    dtype: Literal["float32", "bfloat16", "int8"] = "float32"
    max_length: int = Field(200, gt=0)
    length_penalty: float = 1.0

    @model_validator(mode="after")
    def _one_origin(self) -> "CandidatesPlan":
        if bool(self.files) == bool(self.model):
            raise ValueError("give either files, one per set, or the model that writes the candidates")
        if self.files and self.model_fields_set != {"files"}:
            raise ValueError("method, size and the like are for a model, not for files")
        if self.method not in DECODING:
            raise ValueError(f"method must be one of {', '.join(DECODING.names())}, not {self.method!r}")
        return self

    def sizes(self, dataset: str, tops: Sequence[int]) -> list[int] | None:
        """Return the numbers of candidates that have a list each, of those in `tops`; None if there is one list."""
        if self.model:
            return None if self.size else list(tops)
        files = self.files.get(dataset)
        return [top for top in tops if top in files] if isinstance(files, dict) else None

    def paths(self) -> list[str]:
        """Return all files."""
        return [path for own in self.files.values() for path in (own.values() if isinstance(own, dict) else [own])]


class RerankerPlan(Part):
    """A reranker: models as `btr score` takes them, or scores files.

    Several models of one kind are seeds, and are averaged; different kinds are added (R2L and L2R). The number of
    candidates that compete and λ are tuned unless `settings` or a profile give them; with `mix`, also weights by kind.
    """

    models: list[str] = Field([])  # kind:model, base, mbr or vote
    scores: dict[str, dict[str, list[str]]] = Field({})  # candidates → set → files
    negatives: int | None = Field(None, ge=0)  # a_train, where rerankers with several values of it are compared
    variant_of: str | None = None  # the reranker that this one is like but for its a_train; see Plan.family
    threshold: bool = True  # whether it has a λ; the paper's R2L and BERT have none
    settings: dict[str, Any] = Field({})  # fields of Settings, e.g. top, threshold, gap, weights, drop_runaways
    profile: str | None = None  # settings by name, as the model's folder has them; `settings` come before them
    mix: bool = False
    int8: bool = False  # score in int8: faster on a CPU, and not exact

    @model_validator(mode="after")
    def _one_origin(self) -> "RerankerPlan":
        if bool(self.models) == bool(self.scores):
            raise ValueError("give either models or scores")
        try:
            kinds = [parse_name(name)[0].kind for name in self.models]
            Settings.from_dict(self.settings, "settings")
        except InputError as error:
            raise ValueError(str(error).removesuffix(".")) from None
        if self.int8 and not self.models:
            raise ValueError("int8 is for models, not for scores files")
        counts = {len(paths) for by_set in self.scores.values() for paths in by_set.values()}
        if self.scores and (0 in counts or len(counts) != 1):
            raise ValueError("scores: every set needs the same number of files, one or more")
        if self.mix and self.models and len(set(kinds)) < 2:
            raise ValueError("a mixture needs several kinds of models, e.g. contrast and base")
        if self.mix and self.gives("weights"):
            raise ValueError("mix tunes the weights; leave out mix, or the weights and the profile")
        if not self.threshold and self.gives("threshold"):
            raise ValueError("threshold: false means no λ; leave it out, or the λ of the settings and the profile")
        if not self.mix:
            check_seeds(kinds)
        return self

    def gives(self, field: str) -> bool:
        """Return whether the plan gives a field of Settings, so that it is not tuned."""
        return self.profile is not None or field in self.settings


class Plan(Part):
    """A study."""

    title: str = "Reranking study"
    training: list[StagePlan] = Field([])  # what is trained and generated first, in this order
    launch: str | None = None  # the command that starts training, e.g. accelerate launch --num_processes 2
    counts: dict[str, int] = Field({})  # pairs or paragraphs of training files, where these are absent
    sets: dict[str, DataSetPlan] = Field(min_length=1)
    validation: str  # the set on which λ and a_pred are tuned
    candidates: dict[str, CandidatesPlan] = Field(min_length=1)  # the base model's first, then larger models'
    rerankers: dict[str, RerankerPlan] = Field({})
    main: str | None = None  # the reranker of the detailed tables; the last one that is no variant if not given
    decoding: dict[str, CandidatesPlan] = Field({})  # methods to compare on the validation set
    losses_on: str | None = None  # the set of figure 3; the validation set if not given
    pretraining: dict[str, str | list[str]] = Field({})  # training runs whose curves are shown; several are seeds
    finetuning: dict[str, str | list[str]] = Field({})
    top: list[int] = Field([5, 10, 15, 20], min_length=1)  # values of a_pred to try; the first is the base model's beam
    folds: int = Field(10, ge=2)  # of the cross-validation

    @model_validator(mode="after")
    def _consistent(self) -> "Plan":
        check_name("validation", self.validation, self.sets)
        if not self.sets[self.validation].has_gold:
            raise ValueError(f"validation: {self.validation} needs gold, since settings are tuned on it")
        if self.main:
            check_name("main", self.main, self.rerankers)
        for name, dataset in self.sets.items():
            if dataset.main:
                check_name(f"sets.{name}.main", dataset.main, self.rerankers)
            if dataset.tuned_on:
                check_name(f"sets.{name}.tuned_on", dataset.tuned_on, self.sets)
                if not self.sets[dataset.tuned_on].has_gold:
                    raise ValueError(f"sets.{name}.tuned_on: {dataset.tuned_on} has no gold to tune on")
        if self.losses_on:
            check_name("losses_on", self.losses_on, self.sets)
            if not self.sets[self.losses_on].has_gold:
                raise ValueError(f"losses_on: {self.losses_on} needs gold, whose corrections are predicted")
        for part, names in (("sets", self.sets), ("candidates", self.candidates)):
            if len({file_stem(name) for name in names} - {""}) < len(names):  # file names are made from them
                raise ValueError(f"{part}: names must differ in letters or digits ({', '.join(names)})")
        for name in {"base", self.base} & set(self.rerankers):  # rows of tables
            raise ValueError(f"rerankers.{name}: is the base model's name; give it another")
        if min(self.top) < 1:
            raise ValueError("top: numbers of candidates are 1 or more")
        self._check_files()
        self._check_variants()
        return self

    def _check_files(self) -> None:
        """Check the names of sets and candidates that files are given for."""
        for part, candidates in (("candidates", self.candidates), ("decoding", self.decoding)):
            for name, plan in candidates.items():
                for dataset, files in plan.files.items():
                    check_name(f"{part}.{name}.files", dataset, self.sets)
                    if isinstance(files, dict) and self.top[0] not in files:
                        raise ValueError(
                            f"{part}.{name}.files.{dataset} needs a file for the first of top, {self.top[0]}"
                        )
                if plan.files and self.validation not in plan.files:
                    raise ValueError(f"{part}.{name}.files needs a file for the validation set, {self.validation}")
        for name, reranker in self.rerankers.items():
            for generator, by_set in reranker.scores.items():
                check_name(f"rerankers.{name}.scores", generator, self.candidates)
                for dataset in by_set:
                    check_name(f"rerankers.{name}.scores.{generator}", dataset, self.sets)
                    if self.sizes(generator, dataset):
                        raise ValueError(
                            f"rerankers.{name}.scores: {generator} has a list for each a_pred; name models"
                        )
                if self.validation not in by_set:
                    raise ValueError(f"rerankers.{name}.scores.{generator} needs files for {self.validation}")

    def _check_variants(self) -> None:
        """Check that variants are those of a reranker that gives its a_train, and no variant itself."""
        for name, reranker in self.rerankers.items():
            if (head := reranker.variant_of) is None:
                continue
            check_name(f"rerankers.{name}.variant_of", head, self.rerankers)
            if self.rerankers[head].variant_of:
                raise ValueError(f"rerankers.{name}.variant_of: {head} is a variant itself")
            if None in (reranker.negatives, self.rerankers[head].negatives):
                raise ValueError(
                    f"rerankers.{name}: a variant and its reranker, {head}, give their negatives (a_train)"
                )
        for main in [self.main, *(dataset.main for dataset in self.sets.values())]:
            if main and self.rerankers[main].variant_of:
                raise ValueError(f"main: {main} is a variant; name {self.rerankers[main].variant_of}")

    @property
    def heads(self) -> list[str]:
        """The rerankers that are no variants: the rows of the main tables."""
        return [name for name, reranker in self.rerankers.items() if reranker.variant_of is None]

    @property
    def main_reranker(self) -> str | None:
        """The reranker of the detailed tables and figures; None if the study has no reranker."""
        return self.main or next(reversed(self.heads), None)

    def main_of(self, dataset: str) -> str | None:
        """Return the reranker of a set's detailed tables."""
        return self.sets[dataset].main or self.main_reranker

    def family(self, name: str) -> list[str]:
        """Return a reranker and its variants, which differ in a_train, in the order of a_train."""
        head = self.rerankers[name].variant_of or name
        members = [head, *(other for other, plan in self.rerankers.items() if plan.variant_of == head)]
        return sorted(members, key=lambda member: self.rerankers[member].negatives or 0)

    @property
    def tuning_sets(self) -> list[str]:
        """The validation set, and the sets that others are tuned on: all numbers of candidates are tried there."""
        named = {dataset.tuned_on for dataset in self.sets.values()}
        return [name for name in self.sets if name == self.validation or name in named]

    def tuned_on(self, dataset: str) -> str:
        """Return the set whose best settings a set's figures of λ have."""
        own = dataset if dataset in self.tuning_sets else self.validation
        return self.sets[dataset].tuned_on or own

    @property
    def base(self) -> str:
        """The base model, by the name of its candidates."""
        return next(iter(self.candidates))

    def sizes(self, generator: str, dataset: str) -> list[int] | None:
        """Return the numbers of candidates that have a list each; None if there is one list."""
        return self.candidates[generator].sizes(dataset, self.top)


def check_seeds(kinds: Iterable[str]) -> None:
    """Refuse models some of whose kinds have other numbers of seeds; a kind may have a single model for all seeds."""
    counts = Counter(kinds)
    if len(set(counts.values()) - {1}) > 1:
        raise ValueError(f"has {dict(counts)} models; each kind needs one model, or the same number of seeds")


def file_stem(name: str) -> str:
    """Return a name as part of a file's name: letters, digits and hyphens."""
    return "-".join("".join(sign if sign.isalnum() else " " for sign in name.lower()).split())


def check_name(where: str, name: str, names: Collection[str]) -> None:
    """Refuse a name that the plan does not define."""
    if name not in names:
        raise ValueError(f"{where}: {name!r} is none of {', '.join(names)}")


def read_plan(path: PathLike) -> Plan:
    """Read a study's YAML file."""
    content = read_yaml(path, "study", "an example is examples/study.yaml", "sets, candidates and rerankers")
    return check(Plan, content, path, "study")
