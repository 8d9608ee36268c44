"""The settings of a decision: which candidates compete, how scores combine, and when the reranker's choice wins."""

import json
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from btr.errors import InputError
from btr.records import Record, is_number

PROFILES_FILE = "profiles.json"
COMMON_PROFILES = (
    "cautious",
    "minimal",
    "fluency",
)  # names that may be used with any model; some models have no such profile
PAPER = "paper"  # the profile that is a rule, and so applies to every BTR
AVERAGES = "log", "probability", "f"
DEFAULT_CANDIDATES = 5
DEFAULT_CUTOFF = 0.4  # of a judge, where no profile says otherwise


@dataclass(frozen=True, slots=True)
class Settings(Record):
    """Everything between the scores of candidates and the chosen text. Every verb reads and writes this one object."""

    candidates: int = DEFAULT_CANDIDATES  # how many the base model writes
    top: int | None = None  # how many of them compete (the paper's a_pred); None: all
    threshold: float = 0.0  # λ: how much f(y|x) must rise above the base candidate's
    at_least: bool = False  # accept a rise equal to λ, as the authors' code does; the paper says "more than"
    gap: float | None = None  # a candidate whose log-probability is more than this below the base candidate's is out
    drop_runaways: bool = False  # candidates that are far longer than the source, or unfinished, are out
    average: str = "log"  # how models of one kind are averaged: as log-probabilities, as probabilities, or as f
    weights: Mapping[str, float] = field(default_factory=dict)  # by kind of reranker; a kind that is absent counts 1
    rerankers: tuple[str, ...] = ()  # the kinds that the settings were tuned for
    cutoff: float | None = None  # a judge decides edit by edit: those at least this sure are made; None: λ per sentence
    base_edits_only: bool = False  # the judge makes only edits of the base candidate

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            check_type(name, getattr(self, name), hint)
        if not 0 <= self.threshold <= 1:
            raise InputError(f"the threshold is a difference of probabilities, from 0 to 1, not {self.threshold:g}.")
        if self.candidates < 1 or (self.top is not None and self.top < 1):
            raise InputError("the numbers of candidates (candidates, top) must be 1 or more.")
        if self.gap is not None and not self.gap >= 0:
            raise InputError(f"the gap is a difference of log-probabilities, 0 or more, not {self.gap:g}.")
        if self.cutoff is not None and not 0 <= self.cutoff <= 1:
            raise InputError(f"the cut-off is a probability, from 0 to 1, not {self.cutoff:g}.")
        if self.average not in AVERAGES:
            raise InputError(f"average must be one of {', '.join(AVERAGES)}, not {self.average!r}.")
        if not all(map(is_number, self.weights.values())):
            raise InputError("the weights must be finite numbers.")

    def accepts(self, margin: float) -> bool:
        """Return whether a candidate whose probability is this much above the base candidate's replaces it."""
        return margin >= self.threshold if self.at_least else margin > self.threshold

    def weight(self, kind: str) -> float:
        """Return what the scores of a kind of reranker count."""
        return self.weights.get(kind, 1.0)

    def check_weights(self, kinds: Sequence[str]) -> None:
        """Refuse a weight of a kind of reranker that gives no scores."""
        unknown = [kind for kind in self.weights if kind not in kinds]
        if unknown:
            raise InputError(f"there is a weight for {unknown[0]}, but the scores are of {', '.join(kinds)}.")

    def override(self, **changes: Any) -> "Settings":
        """Return the settings with each change that is not None; weights change only the kinds that they name."""
        given = {name: value for name, value in changes.items() if value is not None}
        if "weights" in given:
            given["weights"] = {**self.weights, **given["weights"]}
        return replace(self, **given)

    def signature(self) -> str:
        """Return what a decision depends on beside the scores, e.g. `threshold:0.4|top:5`."""
        if self.cutoff is not None:
            return f"cutoff:{self.cutoff:g}" + ("|base-edits-only" if self.base_edits_only else "")
        parts = [f"threshold:{self.threshold:g}"]
        if self.top is not None:
            parts.append(f"top:{self.top}")
        if self.at_least:
            parts.append("at-least")
        if self.gap is not None:
            parts.append(f"gap:{self.gap:g}")
        if self.drop_runaways:
            parts.append("drop-runaways")
        if self.average != "log":
            parts.append(f"average:{self.average}")
        if self.weights:
            parts.append("weights:" + ",".join(f"{kind}={weight:g}" for kind, weight in sorted(self.weights.items())))
        return "|".join(parts)

    @classmethod
    def from_dict(cls, values: object, where: str = "settings") -> "Settings":
        """Check settings from a file; `where` names it in errors."""
        if not isinstance(values, dict):
            raise InputError(f"{where}: expected settings as a JSON object, found {type(values).__name__}.")
        unknown = set(values) - {known.name for known in fields(cls)}
        if unknown:
            raise InputError(f"{where}: {sorted(unknown)[0]!r} is no setting.")
        try:
            rerankers = values.get("rerankers", ())
            return cls(**{**values, "rerankers": tuple(rerankers) if isinstance(rerankers, list) else rerankers})
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def check_type(name: str, value: object, hint: object) -> None:
    """Refuse a setting of another type than it should have, e.g. a text where a number is expected."""
    if name == "weights":
        valid = isinstance(value, Mapping) and all(
            isinstance(kind, str) and isinstance(weight, int | float) and not isinstance(weight, bool)
            for kind, weight in value.items()
        )
    elif name == "rerankers":
        valid = isinstance(value, tuple) and all(isinstance(kind, str) for kind in value)
    elif hint is bool:
        valid = isinstance(value, bool)
    elif hint in (float, float | None):
        valid = is_number(value) or (value is None and hint is not float)
    else:
        valid = isinstance(value, hint) and not isinstance(value, bool)  # type: ignore[arg-type]
    if not valid:
        raise InputError(
            f"{name} can't be {reprlib.repr(value)}."
        )  # shortened: in YAML a value may hold itself many times


PAPER_SETTINGS = Settings(candidates=5, top=5, threshold=0.4, rerankers=("btr",))  # λ of the paper's main results
UNTUNED = (
    f"profile {PAPER}: the threshold is the paper's, {PAPER_SETTINGS.threshold:g}, and was not tuned for this model; "
    "btr tune finds the best one."
)


def read_profiles(folder: Path) -> dict[str, Settings]:
    """Return the settings by name that stand beside a model; none if there is no file."""
    path = folder / PROFILES_FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{path}: can't be read as JSON ({error}).") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected an object of settings by name.")
    return {name: Settings.from_dict(settings, f"{path}, {name}") for name, settings in values.items()}


def find_profile(name: str, folders: Sequence[Path], kinds: Sequence[str]) -> tuple[Settings | None, str | None]:
    """Return the settings of a profile for these kinds of rerankers, or None, and a line to show if they are not tuned.

    A profile applies only to the rerankers that it was tuned for; `paper` applies to every BTR. `folders` are those of
    the models, in order.
    """
    wanted = set(kinds)
    known: dict[str, list[Settings]] = {}
    for folder in folders:
        for profile, settings in read_profiles(folder).items():
            known.setdefault(profile, []).append(settings)
    if name == PAPER:
        known.setdefault(PAPER, []).append(PAPER_SETTINGS)  # after the models' own
    for settings in known.get(name, ()):
        if set(settings.rerankers) == wanted:
            return settings, UNTUNED if settings is PAPER_SETTINGS else None
    if name not in known and (known or name not in COMMON_PROFILES):
        known_names = f"these models have {', '.join(sorted(known))}" if known else "the model has no profiles"
        raise InputError(f"there is no profile {name!r}; {known_names}.")
    together = " + ".join(dict.fromkeys(kinds))
    names = dict.fromkeys(" + ".join(settings.rerankers) or "no reranker" for settings in known.get(name, ()))
    tuned = " or ".join(names)
    why = f"it was tuned for {tuned}" if tuned else "the model has no profiles"
    defaults = "the default settings are used: threshold 0, and all candidates compete"
    return None, f"profile {name} does not apply to {together} ({why}); {defaults}."
