"""Plans: the sets, candidates and rerankers that a study is about, typed and checked before any work is done."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal

from pydantic import Field, model_validator

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.rerankers.score import check_spec
from btr.training.recipe import Part, check, read_yaml

Name = str


class Corpus(Part):
    """A set of sentences, and what outputs are scored against. Paths may use $BTR_DATA and the like."""

    metric: Literal["m2", "errant", "gleu"] = "m2"
    gold: list[str] = Field([])  # M2 files; several are one set, each a group (CEFR levels)
    source: str | None = None  # for gleu
    reference: list[str] = Field([])  # for gleu, and for the oracle if not those of the gold

    @model_validator(mode="after")
    def _complete(self) -> "Corpus":
        if self.metric == "gleu" and (self.source is None or not self.reference):
            raise ValueError("gleu needs source and reference")
        if self.metric != "gleu" and not self.gold:
            raise ValueError(f"{self.metric} needs gold, M2 files")
        return self


class Writer(Part):
    """Where candidates come from: files, one for each set, or a model that writes them for every set."""

    files: dict[Name, str] = Field({})
    model: str | None = None
    method: Literal["beam", "diverse", "top-k", "nucleus"] = "beam"
    size: int = Field(5, gt=0)
    engine: Literal["transformers", "ctranslate2"] = "transformers"
    dtype: Literal["float32", "bfloat16", "int8"] = "float32"
    max_length: int = Field(200, gt=0)
    length_penalty: float = 1.0

    @model_validator(mode="after")
    def _one_way(self) -> "Writer":
        if bool(self.files) == bool(self.model):
            raise ValueError("say either files, one a set, or the model that writes the candidates")
        if self.files and self.model_fields_set != {"files"}:
            raise ValueError("files are there already: method, size and the like are for a model")
        return self


class Reranker(Part):
    """A reranker: models as `btr score` takes them, or scores files.

    Several models of one kind are seeds, and are averaged; different kinds are added (R2L and L2R). With `mix` each has
    a weight instead, which is tuned.
    """

    models: list[str] = Field([])  # kind:model, base, mbr or vote
    scores: dict[Name, dict[Name, list[str]]] = Field({})  # candidates → set → files
    negatives: int | None = Field(None, ge=0)  # a_train, where several are compared
    threshold: bool = True  # whether it has a λ; the paper's R2L and BERT have none
    mix: bool = False
    int8: bool = False  # models score in int8: faster on a CPU, and not exact

    @model_validator(mode="after")
    def _one_way(self) -> "Reranker":
        if bool(self.models) == bool(self.scores):
            raise ValueError("say either models or scores")
        try:
            kinds = [check_spec(spec)[0] for spec in self.models]
        except InputError as error:
            raise ValueError(str(error).removesuffix(".")) from None
        if self.int8 and not self.models:
            raise ValueError("int8 is for models; scores are there already")
        files = {len(paths) for by_set in self.scores.values() for paths in by_set.values()}
        if self.scores and (0 in files or len(files) != 1):
            raise ValueError("scores: all sets need as many files, one or more")
        if self.mix and max(len(self.models), *files, 0) == 1:
            raise ValueError("a mixture needs several models, e.g. the reranker and base")
        if not self.mix:
            check_seeds(kinds)
        return self


class Plan(Part):
    """A study."""

    title: str = "Reranking study"
    sets: dict[Name, Corpus] = Field(min_length=1)
    validation: Name  # the set on which λ and a_pred are tuned
    candidates: dict[Name, Writer] = Field(min_length=1)  # the base model's first; others are of larger models
    rerankers: dict[Name, Reranker] = Field(min_length=1)
    main: Name = ""  # the reranker that is looked at closely; the last if not said
    decoding: dict[Name, Writer] = Field({})  # methods to compare on the validation set
    pretraining: dict[Name, str] = Field({})  # runs whose curves are shown
    finetuning: dict[Name, str] = Field({})
    top: list[int] = Field([5, 10, 15, 20], min_length=1)  # a_pred
    folds: int = Field(10, ge=2)  # of the cross-validation

    @model_validator(mode="after")
    def _consistent(self) -> "Plan":
        known("validation", self.validation, self.sets)
        if self.main:
            known("main", self.main, self.rerankers)
        for part, names in (("sets", self.sets), ("candidates", self.candidates)):
            if len({slug(name) for name in names} - {""}) < len(names):  # files are called by them
                raise ValueError(f"{part}: names must differ in letters or digits ({', '.join(names)})")
        for taken in {"base", self.base} & set(self.rerankers):  # rows of tables
            raise ValueError(f"rerankers.{taken}: is the base model's name; give it another")
        if min(self.top) < 1:
            raise ValueError("top: numbers of candidates are 1 or more")
        for part, writers in (("candidates", self.candidates), ("decoding", self.decoding)):
            for name, writer in writers.items():
                for own in writer.files:
                    known(f"{part}.{name}.files", own, self.sets)
                if writer.files and self.validation not in writer.files:
                    raise ValueError(f"{part}.{name}.files needs those of the validation set, {self.validation}")
        for name, reranker in self.rerankers.items():
            for writer_name, by_set in reranker.scores.items():
                known(f"rerankers.{name}.scores", writer_name, self.candidates)
                for own in by_set:
                    known(f"rerankers.{name}.scores.{writer_name}", own, self.sets)
                if self.validation not in by_set:
                    raise ValueError(f"rerankers.{name}.scores.{writer_name} needs those of {self.validation}")
        return self

    @property
    def chief(self) -> Name:
        """The reranker that is looked at closely."""
        return self.main or list(self.rerankers)[-1]

    @property
    def base(self) -> Name:
        """The base model, by the name of its candidates."""
        return next(iter(self.candidates))


def check_seeds(kinds: Iterable[str]) -> None:
    """Refuse a reranker some of whose kinds have more models (seeds) than others; a kind may have one for all."""
    counts = Counter(kinds)
    if len(set(counts.values()) - {1}) > 1:
        raise ValueError(f"has {dict(counts)} models; all of its kinds need one, or as many seeds")


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return "-".join("".join(sign if sign.isalnum() else " " for sign in name.lower()).split())


def known(where: str, name: str, names: Collection[str]) -> None:
    """Refuse a name that stands for nothing."""
    if name not in names:
        raise ValueError(f"{where}: {name!r} is none of {', '.join(names)}")


def read_plan(path: PathLike) -> Plan:
    """Read a study's file."""
    content = read_yaml(path, "study", "an example is examples/study.yaml", "sets, candidates and rerankers")
    return check(Plan, content, path, "study")
