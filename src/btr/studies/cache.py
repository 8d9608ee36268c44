"""The cache of a study: every result is stored under a hash of the content of its inputs.

The hash covers the inputs' bytes and the options. So a result is reused whatever its input files are called; and if an
input changes, what depends on it, and nothing else, is computed again.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from btr import __version__
from btr.corpus.files import PathLike, file_hash, write_lines
from btr.errors import InputError
from btr.records import from_json, to_json

CACHE_VERSION = 5  # increase it when a record of records.py changes, so that cached values are computed again

T = TypeVar("T")
Key = Mapping[str, Any]  # the hashes and options that a result depends on, as JSON has them


@dataclass(frozen=True)
class StageFile:
    """A file that a stage wrote, or one of the user's, and what is known of its making."""

    path: Path
    hash: str
    signature: str | None = None
    seconds: float | None = None  # None: the file existed, or its making was interrupted and resumed


@dataclass(frozen=True)
class Written:
    """What is known of a file after it was written: its signature, and the seconds of work, without loading a model."""

    signature: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class FileDetails:
    """What is stored beside a file that a stage wrote."""

    key: dict[str, Any]
    signature: str | None
    seconds: float | None


class StudyCache:
    """The folder of a study's intermediate results."""

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.computed: list[str] = []  # the stages that were run by this process
        self._hashes: dict[str, str] = {}

    def file(
        self, stage: str, key: Key, suffix: str, write: Callable[[Path], Written], about: str | None = None
    ) -> StageFile:
        """Return the file that `write` writes."""
        path = self.path_of(stage, key, suffix)
        details_path = path.with_name(f"{path.name}.details.json")
        if path.is_file() and details_path.is_file():
            details = read_json(details_path, FileDetails)
        else:
            self.start(stage, about)
            details_path.unlink(missing_ok=True)
            is_resumed = path.with_name(f"{path.name}.part").exists()
            written = write(path)
            seconds = None if is_resumed or written.seconds is None else round(written.seconds, 1)
            details = FileDetails(dict(key), written.signature, seconds)
            write_json(details_path, to_json(details))
        return StageFile(path, self.hash_of(path), details.signature, details.seconds)

    def value(self, stage: str, key: Key, kind: type[T], compute: Callable[[], T], about: str | None = None) -> T:
        """Return what `compute` returns, a record of this kind."""
        key = {**key, "cache": CACHE_VERSION}
        path = self.path_of(stage, key, ".json")
        if not path.is_file():
            self.start(stage, about)
            write_json(path, {"key": key, "value": to_json(compute())})
        return read_json(path, kind, "value")  # also the first time, so that a second run can't differ

    def path_of(self, stage: str, key: Key, suffix: str) -> Path:
        """Return the path of a stage's result."""
        text = json.dumps([stage, key, __version__], sort_keys=True)
        return self.folder / f"{stage}-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"

    def start(self, stage: str, about: str | None) -> None:
        """Note that a stage is run, and print it on a terminal."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.computed.append(stage)
        if sys.stderr.isatty():
            print(f"{stage}: {about}" if about else stage, file=sys.stderr)

    def hash_of(self, path: PathLike) -> str:
        """Return a file's hash, computed once per process."""
        name = str(Path(path).resolve())
        if name not in self._hashes:
            self._hashes[name] = file_hash(path)
        return self._hashes[name]


def write_json(path: Path, content: object) -> None:
    """Write JSON, all or nothing."""
    write_lines(path, [json.dumps(content, ensure_ascii=False, allow_nan=False)])


def read_json(path: Path, kind: type[T], field: str | None = None) -> T:
    """Read a record, or the field of a JSON object that holds it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return from_json(kind, content if field is None else content[field])
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path}: is not what btr study wrote there; delete the file, and it will be computed again."
        ) from None
