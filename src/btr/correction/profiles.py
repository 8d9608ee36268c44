"""Profiles: settings that were tuned for a purpose, kept beside the model that they belong to."""

import json
from pathlib import Path
from typing import NamedTuple

from btr.errors import InputError
from btr.models.locate import locate_model

FILE = "profiles.json"
NAMES = "minimal", "fluency"


class Profile(NamedTuple):
    """How many candidates are written, and how many of them take part; how much f must rise; how far below the first
    one's log-probability those may be that take part; and what the model's scores count beside others'."""

    candidates: int = 5
    top: int | None = None
    threshold: float = 0.0
    gap: float | None = None
    weight: float = 1.0


def read_profile(model: str, name: str) -> Profile:
    """A model's profile (`kind:model`, or a base model's name); without a file of profiles, the defaults."""
    if name not in NAMES:
        raise InputError(f"profile must be one of {', '.join(NAMES)}, not {name!r}.")
    folder = Path(locate_model(model.partition(":")[2] or model))
    try:
        own = json.loads((folder / FILE).read_text(encoding="utf-8"))[name]
        numbers = int(own["candidates"]), int(own["top"])
        return Profile(*numbers, float(own["threshold"]), float(own["gap"]), float(own["weight"]))
    except FileNotFoundError:
        return Profile()
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"{folder / FILE}: is no file of profiles ({error}).") from None
