"""What a run writes about itself: log.jsonl, one line per update or validation, and run.json."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from btr.corpus.files import PathLike, read_lines, write_lines
from btr.corpus.parallel import parse_json
from btr.errors import InputError
from btr.models.identity import read_object
from btr.records import is_number
from btr.training import OBJECTIVES
from btr.training.recipe import read_yaml

SCORE = "f0.5"  # the score that chooses the best model
LOG = "log.jsonl"
RECIPE = "recipe.yaml"
FACTS = "run.json"
CARD = "README.md"  # in the model's folder
WITHOUT_THRESHOLD = "0.0"  # key of a validation's grid


@dataclass(frozen=True)
class Update:
    """One step of the optimizer. `epoch` counts the epochs so far, with the part of the present one."""

    step: int
    loss: float
    epoch: float | None = None
    gradient_norm: float | None = None
    learning_rate: float | None = None
    tokens: int | None = None
    tokens_per_second: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the line of the log."""
        return asdict(self)


@dataclass(frozen=True)
class Measures:
    """Scores of a model on the validation set, in percent. A model that writes corrections has no threshold."""

    scores: Mapping[str, float]  # by the metric's names: precision, recall, f0.5
    threshold: float | None = None  # the best λ
    base: float | None = None  # score of the base candidates
    gold_first: float | None = None  # how often the reranker prefers gold to the candidates
    gold_f: float | None = None  # mean f(y|x) of gold among the candidates, from 0 to 1
    grid: Mapping[str, float] = field(default_factory=dict)  # score by λ
    signature: str | None = None

    @property
    def value(self) -> float:
        """Return the score that chooses the best model."""
        return self.scores[SCORE]

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as the log has them: scores first, and nothing that was not measured."""
        others = {one.name: getattr(self, one.name) for one in fields(self)[1:]}
        known = {name: value for name, value in others.items() if value is not None and value != {}}
        return {"value": self.value, **self.scores, **known}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Measures":
        """Read what `to_dict` gives."""
        names = {one.name for one in fields(cls)[1:]}
        scores = {name: value for name, value in values.items() if name not in names | {"value"} and is_number(value)}
        return cls(scores, **{name: values[name] for name in names if name in values})


@dataclass(frozen=True)
class Validation:
    """The measures of a model after some updates."""

    step: int
    epoch: float
    measures: Measures

    def to_dict(self) -> dict[str, Any]:
        """Return the line of the log."""
        return {"step": self.step, "epoch": self.epoch, "validation": self.measures.to_dict()}


@dataclass(frozen=True)
class History:
    """A run's updates and validations, in the order of steps."""

    updates: list[Update]
    validations: list[Validation]
    loss_per: str | None = None  # losses are in nats per this; None if the run's recipe is not there

    @property
    def best(self) -> Validation | None:
        """Return the validation with the highest score, the first of equals."""
        return max(self.validations, key=lambda row: row.measures.value, default=None)


def read_history(run: PathLike) -> History:
    """Read a run's log. A run that was resumed may have steps twice, of which the later one is used."""
    path = Path(run) / LOG
    if not path.is_file():
        raise InputError(f"{run}: has no {LOG}; name the folder that btr train wrote.")
    updates: dict[int, Update] = {}
    validations: dict[int, Validation] = {}
    for record in read_records(path):
        if isinstance(record, Update):
            updates[record.step] = record
        else:
            validations[record.step] = record
    if not updates and not validations:
        raise InputError(f"{path}: has no update yet; wait for the run's first.")
    return History(
        [updates[step] for step in sorted(updates)], [validations[step] for step in sorted(validations)], loss_per(run)
    )


def loss_per(run: PathLike) -> str | None:
    """Return what the losses of a run are a mean over, such as masked tokens, by the kind in its recipe."""
    path = Path(run) / RECIPE
    if not path.is_file():
        return None
    kind = read_yaml(path, "recipe", "recipes are in the folder recipes/", "kind, model and data").get("kind")
    return OBJECTIVES[kind].loss_per if isinstance(kind, str) and kind in OBJECTIVES else None


def read_records(path: Path) -> Iterator[Update | Validation]:
    """Stream the records of a log; a last line that is cut is left out."""
    lines = list(read_lines(path))
    known = {one.name for one in fields(Update)}
    for number, line in enumerate(lines, 1):
        if number == len(lines) and not line.endswith("}"):  # being written now, or cut when the run was killed
            break
        row = parse_json(line, path, number)
        if is_number(row.get("step")) and is_number(row.get("loss")):
            yield Update(**{name: value for name, value in row.items() if name in known})
        measured = row.get("validation")
        if isinstance(measured, dict):
            if not all(map(is_number, (row.get("step"), row.get("epoch"), measured.get(SCORE)))):
                raise InputError(f"{path}, line {number}: a validation needs step, epoch and {SCORE}.")
            yield Validation(row["step"], row["epoch"], Measures.from_dict(measured))


@dataclass(frozen=True)
class Facts:
    """How a model came to be: the code's version and revision, and what the run took."""

    version: str | None = None
    revision: str | None = None  # of the code, if it is a git checkout
    tokens: int | None = None
    seconds: float | None = None
    steps: int | None = None
    examples: int | None = None
    parameters: int | None = None
    trained: int | None = None  # parameters that are not frozen
    processes: int | None = None
    precision: str | None = None  # of matrix products: float32 or bfloat16
    complete: bool | None = None

    def write(self, run: Path) -> None:
        """Write run.json."""
        write_lines(run / FACTS, [json.dumps(asdict(self), indent=1)])


def read_facts(run: PathLike) -> Facts:
    """Read run.json; keys of other versions are left out."""
    path = Path(run) / FACTS
    try:
        values: Any = read_object(path)
    except FileNotFoundError:
        raise InputError(f"{run}: has no {FACTS}; name the folder that btr train wrote.") from None
    known = {one.name for one in fields(Facts)}
    return Facts(**{name: value for name, value in values.items() if name in known})
