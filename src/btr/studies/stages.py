"""Stages: what a study has computed, kept by the content of what it was computed from.

A stage's name is a hash of its inputs' bytes and its options. So what is done is found again, whatever the files are
called; and if an input changes, what depends on it, and nothing else, is computed anew.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import btr
from btr.corpus.files import PathLike, file_hash, write_lines
from btr.errors import InputError
from btr.models.locate import locate_model

NOT_THE_MODEL = "README.md", "profiles.json"  # what scores and candidates do not depend on


class Made(NamedTuple):
    """A file that a stage made, or one that was there, and what is known of how it was made."""

    path: Path
    hash: str
    told: Mapping[str, Any]


class Stages:
    """The folder of a study's stages."""

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.ran: list[str] = []  # in this run
        self._hashes: dict[str, str] = {}

    def file(
        self, what: str, key: Mapping[str, Any], suffix: str, make: Callable[[Path], Mapping[str, Any]], about: str = ""
    ) -> Made:
        """The file that `make` writes, and what it tells of it; with the seconds that it took."""
        path = self.place(what, key, suffix)
        made = path.with_name(f"{path.name}.made.json")
        if not (path.is_file() and made.is_file()):
            self.start(what, about)
            made.unlink(missing_ok=True)
            resumed = path.with_name(f"{path.name}.part").exists()
            start = time.perf_counter()
            told = make(path)
            seconds = None if resumed else round(time.perf_counter() - start, 1)
            self.write(made, {"key": key, "seconds": seconds, **told})
        return Made(path, self.hash_of(path), read(made))

    def value(self, what: str, key: Mapping[str, Any], compute: Callable[[], Any], about: str = "") -> Any:
        """What `compute` gives, as JSON has it."""
        path = self.place(what, key, ".json")
        if not path.is_file():
            self.start(what, about)
            self.write(path, {"key": key, "value": compute()})
        return read(path)["value"]

    def place(self, what: str, key: Mapping[str, Any], suffix: str) -> Path:
        """Where a stage's file is."""
        text = json.dumps([what, key, btr.__version__], sort_keys=True)
        return self.folder / f"{what}-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"

    def start(self, what: str, about: str) -> None:
        """Note that a stage is run; on a terminal, say so."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ran.append(what)
        if sys.stderr.isatty():
            print(f"{what}: {about}" if about else what, file=sys.stderr)

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write JSON, all or nothing."""
        write_lines(path, [json.dumps(content, ensure_ascii=False, allow_nan=False)])

    def hash_of(self, path: PathLike) -> str:
        """A file's hash, computed once a run."""
        name = str(Path(path).resolve())
        if name not in self._hashes:
            self._hashes[name] = file_hash(path)
        return self._hashes[name]

    def model_hash(self, name: str) -> str:
        """A model's hash, without loading it: of its folder's files but the card; a model of the hub is its name."""
        folder = Path(locate_model(name))
        if not folder.is_dir():
            return name
        files = sorted(path for path in folder.iterdir() if path.is_file() and is_of_model(path.name))
        if not (folder / "config.json").is_file():
            raise InputError(f"{name}: has no config.json; has the model been trained?")
        return hashlib.sha256(" ".join(f"{path.name}#{self.hash_of(path)}" for path in files).encode()).hexdigest()[:8]


def is_of_model(name: str) -> bool:
    """Whether a file of a model's folder is part of the model; hidden ones are locks and the like."""
    return not name.startswith(".") and name not in NOT_THE_MODEL


def read(path: Path) -> Any:
    """A stage's JSON; one that is broken is told by name."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{path}: is not what btr study wrote; remove it, and it will be computed again.") from None
