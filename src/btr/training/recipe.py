"""Recipes: everything that a training run depends on, typed and checked before any work is done."""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from btr.corpus.files import PathLike
from btr.errors import InputError

SHOWN = 3  # problems of a recipe that are told at once


class Part(BaseModel):
    """A part of a recipe: unknown keys are errors, and nothing changes after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


P = TypeVar("P", bound=Part)
Share = Annotated[float, Field(ge=0, lt=1)]


class Synthetic(Part):
    """Pairs made from clean text by the error generator."""

    text: list[str]
    sentences: int = Field(gt=0)
    seed: int = 1
    weights: dict[str, float] = {}  # of kinds of errors; those of W&I if not said
    learners: list[str] = []  # M2 files: what their learners wrote is a kind of errors, too
    errors: float = Field(1.8, ge=1)  # a sentence, on average; W&I has 1.8
    skip: int = Field(0, ge=0)  # sentences at the text's start, such as those that another stage has

    @model_validator(mode="after")
    def _known_kinds(self) -> "Synthetic":
        from btr.training.synthetic import KINDS, LEARNERS, check_weights

        try:
            check_weights(self.weights, [*KINDS, LEARNERS] if self.learners else KINDS)
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self


class Data(Part):
    """What to train on. Paths may use $BTR_DATA and other variables of the environment."""

    pairs: list[str] = []  # .m2 or .tsv files of sources and targets
    candidates: list[str] = []  # their negatives: a candidates file for each file of pairs, in the same order
    text: list[str] = []  # paragraphs, one a line, plain or gzip, or `datasets:NAME`, for pre-training
    synthetic: Synthetic | None = None
    unchanged: float = Field(1.0, ge=0, le=1)  # share of the pairs without a correction that are kept
    max_source: int = Field(128, gt=1)
    max_target: int = Field(128, gt=1)
    limit: int | None = Field(None, gt=0)  # examples to take from the start; all if not said


class Objective(Part):
    """What is maximised (section 4.2). The defaults are the paper's; `focus` and what follows are variants of ours."""

    mask: float = Field(0.15, gt=0, lt=1)  # share of a row's tokens that are masked
    negatives: int = Field(0, ge=0)  # a_train
    spans: Literal["independent", "mean-3"] = "independent"  # pre-training: the experiments' way, or T5's
    focus: float = Field(0.0, ge=0, le=1)  # share of masks where candidates differ (or gold and source, without them)
    unlikelihood: Literal["all", "differing"] = "all"  # which masked tokens of negatives are pushed down
    negative_weight: float = Field(1.0, ge=0)  # of the unlikelihood
    listwise: bool = False  # -log f over gold and negatives instead, scored as contrast does
    softness: float = Field(0.0, ge=0)  # of listwise: 0 wants gold alone, more lets candidates share f by their use
    gap: float | None = Field(None, gt=0)  # of softness: f of the sum with the base model's log-probabilities, of
    # candidates that are at most so far below the first


class Optimizer(Part):
    """How weights move."""

    name: Literal["adafactor", "adamw"] = "adafactor"
    learning_rate: float = Field(1e-3, gt=0)
    schedule: Literal["constant", "linear", "inverse-sqrt"] = "constant"
    warmup_epochs: float = Field(0.0, ge=0)
    warmup_steps: int = Field(0, ge=0)
    weight_decay: float = Field(0.0, ge=0)
    clip: float | None = Field(1.0, gt=0)  # the gradient's greatest norm

    @model_validator(mode="after")
    def _one_warmup(self) -> "Optimizer":
        if self.warmup_epochs and self.warmup_steps:
            raise ValueError("say warmup_epochs or warmup_steps, not both")
        if self.schedule == "inverse-sqrt" and not (self.warmup_epochs or self.warmup_steps):
            raise ValueError("the schedule inverse-sqrt needs warmup_epochs or warmup_steps")
        return self


class Validation(Part):
    """What is measured after each epoch, and every so many updates; the best model by it is kept."""

    gold: list[str] = []  # M2 files
    candidates: str | None = None  # to rerank; a seq2seq model writes its own
    metric: Literal["m2", "errant"] = "m2"
    top: int = Field(5, gt=0)  # a_pred
    sentences: int | None = Field(None, gt=0)  # as many from the start; all if not said
    every: int | None = Field(None, gt=0)  # updates; also before the first one
    beam: int = Field(5, gt=0)
    length_penalty: float = 1.0
    engine: Literal["transformers", "ctranslate2"] = "ctranslate2"


class Recipe(Part):
    """A training run."""

    kind: Literal["seq2seq", "btr", "r2l", "roberta", "bert"]
    task: Literal["correct", "pre-train"] = "correct"
    model: str  # where the weights start: a folder, a shipped model, a hub id, or a run's folder
    data: Data
    objective: Objective = Objective()
    optimizer: Optimizer = Optimizer()
    validation: Validation = Validation()
    seed: int = Field(0, ge=0)
    epochs: int | None = Field(None, gt=0)
    steps: int | None = Field(None, gt=0)
    batch_tokens: int = Field(1 << 20, gt=0)  # of an update, both sides
    micro_tokens: int = Field(1 << 14, gt=0)  # that are in memory at once
    dropout: float | None = Field(None, ge=0, lt=1)  # the model's own if not said
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 on a GPU that has it
    freeze_embeddings: bool = False
    vocabulary: Literal["all", "used"] = "all"  # used: softmax over the pieces that the data has, faster on a CPU
    keep: Share | dict[str, Share] = 0.0  # of the first weights, or other models', in the model measured and saved
    patience: int | None = Field(None, gt=0)  # validations without a better one before the run stops
    checkpoint_minutes: float = Field(10.0, ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        data, objective = self.data, self.objective
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("say how long: either epochs or steps")
        if self.task == "pre-train":
            if not data.text or data.pairs or data.candidates:
                raise ValueError("pre-training reads data.text, and neither pairs nor candidates")
            if self.kind not in ("btr", "r2l", "seq2seq"):
                raise ValueError(f"only T5 models are pre-trained here, not {self.kind}")
        elif not data.pairs and data.synthetic is None:
            raise ValueError("data.pairs is empty, and so is data.synthetic: there is nothing to train on")
        if objective.negatives and (not data.candidates or self.kind not in ("btr", "roberta")):
            raise ValueError("negatives are for btr and roberta, and need data.candidates")
        if data.candidates and len(data.candidates) != len(data.pairs):
            raise ValueError("data.candidates needs a file for each file of data.pairs")
        if objective.listwise and not objective.negatives:
            raise ValueError("listwise compares gold with negatives; set objective.negatives")
        if objective.softness and not objective.listwise:
            raise ValueError("softness is listwise's; set objective.listwise")
        if objective.gap is not None and not objective.softness:
            raise ValueError("gap compares the base model's candidates; set objective.softness")
        if objective.listwise and objective.focus:
            raise ValueError("listwise masks each differing token, so that focus has nothing to choose")
        if self.kind != "btr" and (objective.listwise or objective.focus or objective.unlikelihood != "all"):
            raise ValueError("listwise, focus and unlikelihood: differing are for btr")
        if self.kind in ("roberta", "bert") and (self.freeze_embeddings or self.vocabulary == "used"):
            raise ValueError("freeze_embeddings and vocabulary: used are for T5 models")
        if self.freeze_embeddings and self.optimizer.weight_decay:
            raise ValueError("frozen embeddings would decay; leave out weight_decay")
        if self.task == "pre-train" and (data.synthetic is not None or data.unchanged < 1):
            raise ValueError("pre-training takes no pairs: data.synthetic and data.unchanged are for them")
        if isinstance(self.keep, dict) and not 0 < sum(self.keep.values()) < 1:
            raise ValueError("keep: the shares of other models must add up to more than 0 and less than 1")
        if self.patience and not self.validation.gold:
            raise ValueError("patience needs validation.gold")
        if self.validation.gold and self.kind != "seq2seq" and not self.validation.candidates:
            raise ValueError("validating a reranker needs validation.candidates")
        return self


def read_recipe(path: PathLike, changes: dict[str, Any] | None = None) -> Recipe:
    """Read a recipe; `changes` are put in place of what it says (`{"seed": 2, "optimizer.name": "adamw"}`)."""
    content = read_yaml(path, "recipe", "recipes are in the folder recipes/", "kind, model and data")
    for key, value in (changes or {}).items():
        *parents, last = key.split(".")
        place = content
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise InputError(f"{path}: {key} can't be set, since {parent} is no part with keys.")
        place[last] = value
    return check(Recipe, content, path, "recipe")


class Unique(yaml.SafeLoader):
    """YAML that may not say a key twice, of which the first would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known = set[str]()
        for key, _ in node.value:
            if str(key.value) in known:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands there twice", key.start_mark)
            known.add(str(key.value))
        return super().construct_mapping(node, deep)


def read_yaml(path: PathLike, what: str, where: str, keys: str) -> dict[str, Any]:
    """The keys of a YAML file, unchecked; if it is no `what`, say `where` those are and which `keys` they have."""
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Unique)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {where}.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; name a {what} in it.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line}: is no proper YAML ({getattr(error, 'problem', error)}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: is no {what}; expected keys such as {keys}.")
    return content


def check(whole: type[P], content: dict[str, Any], path: PathLike, what: str) -> P:
    """A file's content as typed parts; what is wrong with it is told in one sentence."""
    try:
        return whole.model_validate(content)
    except ValidationError as error:
        problems = [describe(problem, whole, what) for problem in error.errors()]
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        told = "; ".join(problems[:SHOWN]) + more
        raise InputError(f"{path}: {told}{'' if told.endswith('?') else '.'}") from None


def describe(problem: Any, whole: type[Part], what: str) -> str:
    """One of pydantic's errors in the file's own words; a misspelt key is told the nearest known one."""
    *parents, last = map(str, problem["loc"]) if problem["loc"] else ("",)
    where = ".".join([*parents, last])
    if problem["type"] == "extra_forbidden":
        fields = part_at(whole, parents).model_fields
        near = difflib.get_close_matches(last, fields, 1, 0.5)
        known = f"did you mean {near[0]}?" if near else f"known are {', '.join(fields)}"
        return f"{where} is no key of a {what}; {known}"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "list_type":
        message = "must be a list, e.g. [FILE]"
    elif problem["type"] in ("model_type", "dict_type"):
        message = "must be keys with values, not a single value"
    message = message[:1].lower() + message[1:]
    return f"{where}: {message}" if where else message


def part_at(whole: type[Part], keys: Sequence[str]) -> type[Part]:
    """The part that keys lead to; a name in a dictionary of parts leads no further."""
    part: Any = whole
    for key in keys:
        kind = part.model_fields[key].annotation if key in part.model_fields else part
        inner = [kind, *get_args(kind)]  # the part itself, or one of those that a union or a dictionary has
        part = next((own for own in inner if hasattr(own, "model_fields")), whole)
    return cast(type[Part], part)


def write_recipe(recipe: Recipe, path: PathLike) -> None:
    """Write what was run, all defaults included."""
    Path(path).write_text(yaml.safe_dump(recipe.model_dump(), sort_keys=False), encoding="utf-8")


def expand(path: str) -> str:
    """A path with the environment's variables in it, such as $BTR_DATA."""
    expanded = os.path.expandvars(os.path.expanduser(path))
    if "$" in expanded:
        raise InputError(f"{path}: names a variable that is not set; e.g. export BTR_DATA=/path/to/corpora.")
    return expanded
