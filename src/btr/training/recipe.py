"""Recipes: everything that a training run depends on, typed and checked before any work is done."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from btr.corpus.files import PathLike, writing
from btr.errors import InputError
from btr.training import OBJECTIVES
from btr.training.batches import BatchBy
from btr.wording import nearest

MAX_PROBLEMS = 3  # of a recipe that one message names


class Part(BaseModel):
    """A section of a YAML file: unknown keys are errors, and nothing changes after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)


P = TypeVar("P", bound=Part)
Share = Annotated[float, Field(ge=0, lt=1)]


class Synthetic(Part):
    """Pairs made from clean text by the error generator."""

    text: list[str]
    sentences: int = Field(gt=0)
    seed: int = 1
    weights: dict[str, float] = {}  # by kind of error; a kind that is not named has its share in W&I
    learners: list[str] = []  # M2 files whose edits, reversed, are one more kind of error
    errors_per_sentence: float = Field(1.8, ge=1)  # on average; W&I has 1.8
    skip_sentences: int = Field(0, ge=0)  # at the start of the text, such as those that another stage has had

    @model_validator(mode="after")
    def _known_kinds(self) -> "Synthetic":
        from btr.training.error_kinds import KINDS, LEARNERS, check_error_weights

        try:
            check_error_weights(self.weights, [*KINDS, LEARNERS] if self.learners else KINDS)
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self


class Data(Part):
    """What to train on. Paths may have $BTR_DATA and other variables of the environment."""

    pairs: list[str] = []  # .m2 or .tsv files of sources and targets
    candidates: list[str] = []  # negatives: one candidates file per file of pairs, in the same order
    edits: list[str] = []  # edit-btr: one file of edit tables per M2 file of pairs, in the same order
    text: list[str] = []  # for pre-training: one paragraph per line, plain or gzip, or `datasets:OWNER/NAME`
    synthetic: Synthetic | None = None
    reverse: bool = False  # learn to write the source, with its errors, from the target
    unchanged_share: float = Field(1.0, ge=0, le=1)  # how many of the pairs without a correction are trained on
    max_source: int = Field(128, gt=1)  # tokens; longer examples are left out
    max_target: int = Field(128, gt=1)
    max_examples: int | None = Field(None, gt=0)  # from the start of the data; None: all


class ObjectiveSettings(Part):
    """What is maximised (section 4.2). The defaults are the paper's; the last three are variants of ours."""

    mask_share: float = Field(0.15, gt=0, lt=1)  # how many of a row's tokens are masked
    negatives: int = Field(0, ge=0)  # a_train
    spans: Literal["independent", "mean-3"] = "independent"  # pre-training: as in the paper's experiments, or T5's
    focus_share: float = Field(0.0, ge=0, le=1)  # btr: how many of the masks are where gold and other texts differ
    temperature: float = Field(0.0, ge=0)  # listwise: 0 gives gold all of f; above, candidates share it by their gain
    # listwise: candidates whose log-probability is more than this below the base candidate's do not compete, and the
    # base model's log-probabilities are added to the scores
    gap: float | None = Field(None, gt=0)


class Optimizer(Part):
    """How weights move."""

    name: Literal["adafactor", "adamw"] = "adafactor"
    learning_rate: float = Field(1e-3, gt=0)
    schedule: Literal["constant", "linear", "inverse-sqrt"] = "constant"
    warmup_epochs: float = Field(0.0, ge=0)
    warmup_steps: int = Field(0, ge=0)
    # the rate rises to its peak, or is held at it from the start, as in the authors' runs of BERT and RoBERTa
    warmup: Literal["linear", "constant"] = "linear"
    weight_decay: float = Field(0.0, ge=0)
    clip: float | None = Field(1.0, gt=0)  # the largest norm of the gradient

    @model_validator(mode="after")
    def _one_warmup(self) -> "Optimizer":
        if self.warmup_epochs and self.warmup_steps:
            raise ValueError("say warmup_epochs or warmup_steps, not both")
        if self.schedule == "inverse-sqrt" and not (self.warmup_epochs or self.warmup_steps):
            raise ValueError("the schedule inverse-sqrt needs warmup_epochs or warmup_steps")
        return self


class ValidationSettings(Part):
    """What is measured after each epoch; the best model by it is saved."""

    gold: list[str] = []  # M2 files
    candidates: str | None = None  # to rerank; a base model writes its own
    partner: str | None = None  # r2l: the base model, whose L2R scores are added
    metric: Literal["m2", "errant"] = "m2"
    top: int = Field(5, gt=0)  # a_pred
    sentences: int | None = Field(None, gt=0)  # from the start of the set; None: all
    beam: int = Field(5, gt=0)
    length_penalty: float = 1.0
    engine: Literal["transformers", "ctranslate2"] = "ctranslate2"


class Expected(Part):
    """Counts of the data, with which `--dry-run` works where the data itself is not at hand."""

    pairs: int = Field(gt=0)  # sources per epoch; in pre-training, paragraphs
    targets: int | None = Field(None, gt=0)  # gold and negatives of all sources; None: one per source
    source_tokens: float = Field(gt=1)  # mean per source, and per paragraph, </s> included
    target_tokens: float | None = Field(None, gt=1)  # mean per target; None: as a source


class Recipe(Part):
    """A training run."""

    kind: str  # a name in OBJECTIVES
    task: Literal["correct", "pre-train"] = "correct"
    model: str  # where the weights start: a folder, a shipped model, a hub id, or a run's folder
    data: Data
    objective: ObjectiveSettings = ObjectiveSettings()
    optimizer: Optimizer = Optimizer()
    validation: ValidationSettings = ValidationSettings()
    expected: Expected | None = None
    seed: int = Field(0, ge=0)
    epochs: int | None = Field(None, gt=0)
    steps: int | None = Field(None, gt=0)
    batch_tokens: int = Field(1 << 20, gt=0)  # per update
    micro_tokens: int = Field(1 << 14, gt=0)  # in memory at once
    batch_by: BatchBy = "both_sides"  # how both are counted; longer_side: as fairseq does (training/batches.py)
    dropout: float | None = Field(None, ge=0, lt=1)  # None: as the model's configuration says
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 where it is fast
    freeze_embeddings: bool = False
    vocabulary: Literal["all", "used"] = "all"  # used: softmax over the tokens that the data has, faster on a CPU
    average_with_start: Share = 0.0  # share of the first weights in the model that is measured and saved
    average_with: dict[str, Share] = {}  # shares of other models in it, by their names
    checkpoint_minutes: float = Field(10.0, ge=0)

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        if kind not in OBJECTIVES:
            raise ValueError(f"must be one of {', '.join(OBJECTIVES.names())}, not {kind!r}")
        return kind

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        data, objective, trained = self.data, self.objective, OBJECTIVES[self.kind]
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("say how long: either epochs or steps")
        if self.task == "pre-train":
            if not data.text or data.pairs or data.candidates:
                raise ValueError("pre-training reads data.text, and neither pairs nor candidates")
            if not trained.is_t5:
                raise ValueError(f"only T5 models are pre-trained here, not {self.kind}")
        elif not data.pairs and data.synthetic is None:
            raise ValueError("data.pairs is empty, and so is data.synthetic: there is nothing to train on")
        trained.check(self)
        if objective.negatives and not data.candidates:
            raise ValueError("objective.negatives needs data.candidates")
        if data.candidates and len(data.candidates) != len(data.pairs):
            raise ValueError("data.candidates needs a file for each file of data.pairs")
        if data.edits and not trained.reads_edits:
            raise ValueError(f"data.edits is for kinds that learn from edit tables, not for {self.kind}")
        if data.edits and len(data.edits) != len(data.pairs):
            raise ValueError("data.edits needs a file of edit tables for each file of data.pairs")
        if data.edits and (data.synthetic is not None or data.candidates or data.text):
            raise ValueError("data.edits is about data.pairs; leave out synthetic, candidates and text")
        if data.reverse and (self.kind != "seq2seq" or self.task != "correct" or self.validation.gold):
            raise ValueError("data.reverse trains a seq2seq that writes errors, which no validation.gold can measure")
        if not trained.is_t5 and (self.freeze_embeddings or self.vocabulary == "used"):
            raise ValueError("freeze_embeddings and vocabulary: used are for T5 models")
        if self.freeze_embeddings and self.optimizer.weight_decay:
            raise ValueError("frozen embeddings would decay; leave out weight_decay")
        if self.task == "pre-train" and (data.synthetic is not None or data.unchanged_share < 1):
            raise ValueError("pre-training takes no pairs: data.synthetic and data.unchanged_share are for them")
        if sum(self.average_with.values()) + self.average_with_start >= 1:
            raise ValueError("the shares of average_with_start and average_with must add up to less than 1")
        if self.validation.gold and trained.reranker and not self.validation.candidates:
            raise ValueError("validating a reranker needs validation.candidates")
        if self.validation.partner and not trained.partner:
            raise ValueError(
                f"validation.partner is for kinds whose scores are added to another's, not for {self.kind}"
            )
        if self.batch_by == "longer_side" and self.batch_tokens % min(self.micro_tokens, self.batch_tokens):
            raise ValueError(
                "with batch_by: longer_side an update has a fixed number of batches; make batch_tokens a multiple of "
                "micro_tokens"
            )
        return self


def read_recipe(path: PathLike, changes: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe; `changes` replace what it says (`{"seed": 2, "optimizer.name": "adamw"}`)."""
    content = read_yaml(path, "recipe", "recipes are in the folder recipes/", "kind, model and data")
    for key, value in (changes or {}).items():
        *parents, last = key.split(".")
        section = content
        for parent in parents:
            section = section.setdefault(parent, {})
            if not isinstance(section, dict):
                raise InputError(f"{path}: {key} can't be set, since {parent} is a single value and has no keys.")
        section[last] = value
    return check(Recipe, content, path, "recipe")


class UniqueKeyLoader(yaml.SafeLoader):
    """Reads YAML and refuses a key that stands there twice; `yaml` would drop the first without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in known:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands there twice", key.start_mark)
            known.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: PathLike, what: str, where: str, keys: str) -> dict[str, Any]:
    """Return the keys of a YAML file, unchecked. Errors say what was expected, where such files are, and their keys."""
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), UniqueKeyLoader)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {where}.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; name a {what} in it.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({reason}).") from None
    except RecursionError:
        raise InputError(f"{path}: is not valid YAML (it is nested too deeply).") from None
    except Exception as error:  # where yaml can't convert a value, such as the date 2001-99-99, it raises anything
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        reason = str(getattr(error, "problem", error)).partition("\n")[0].rstrip(".")
        raise InputError(f"{path}{line}: is not valid YAML ({reason}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: is no {what}; expected keys such as {keys}.")
    return content


def check(whole: type[P], content: dict[str, Any], path: PathLike, what: str) -> P:
    """Return a file's content as typed sections; if something is wrong with it, one sentence says what."""
    try:
        return whole.model_validate(content)
    except ValidationError as error:
        problems = [describe(problem, whole, what) for problem in error.errors()]
        more = f"; and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        message = "; ".join(problems[:MAX_PROBLEMS]) + more
        raise InputError(f"{path}: {message}{'' if message.endswith('?') else '.'}") from None


def describe(problem: Any, whole: type[Part], what: str) -> str:
    """Return one of pydantic's errors in the words of the file; for an unknown key, name the nearest known one."""
    *parents, last = map(str, problem["loc"]) if problem["loc"] else ("",)
    where = ".".join([*parents, last])
    if problem["type"] == "extra_forbidden":
        fields = part_at(whole, parents).model_fields
        near = nearest(last, fields)
        known = f"did you mean {near}?" if near else f"known are {', '.join(fields)}"
        return f"{where} is no key of a {what}; {known}"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "list_type":
        message = "must be a list, e.g. [FILE]"
    elif problem["type"] in ("model_type", "dict_type"):
        message = "must be keys with values, not a single value"
    message = message[:1].lower() + message[1:]
    return f"{where}: {message}" if where else message


def part_at(whole: type[Part], keys: Sequence[str]) -> type[Part]:
    """Return the section that keys lead to; a name in a dictionary of sections leads no further."""
    part: Any = whole
    for key in keys:
        kind = part.model_fields[key].annotation if key in part.model_fields else part
        inner = [kind, *get_args(kind)]  # the section itself, or one of those in a union or a dictionary
        part = next((each for each in inner if hasattr(each, "model_fields")), whole)
    return cast(type[Part], part)


def write_recipe(recipe: Recipe, path: PathLike) -> None:
    """Write a recipe with all its defaults."""
    with writing(path) as file:
        file.write(yaml.safe_dump(recipe.model_dump(), sort_keys=False))


def expand(path: str) -> str:
    """Return a path with the environment's variables, such as $BTR_DATA, filled in."""
    expanded = os.path.expandvars(os.path.expanduser(path))
    if "$" in expanded:
        raise InputError(f"{path}: names a variable that is not set; e.g. export BTR_DATA=/path/to/corpora.")
    return expanded
