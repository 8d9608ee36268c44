"""Hashes of large files, stored in the user's cache: hashing the weights anew at every start takes up to a second.

A stored hash counts only while the file's size, its times of modification and of change, and its inode are those that
were read before it was hashed. The time of change can't be set by a program, so that weights which were replaced under
their old time of modification are hashed anew.
"""

import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from btr.corpus.files import user_cache

MIN_SIZE = 8_000_000  # bytes; a smaller file is hashed in the time that it takes to look its hash up
MIN_AGE = 2.0  # seconds since the last change: a file that changes twice within its clock's step keeps its times


@dataclass(frozen=True, slots=True)
class FileState:
    """What shows that a file has changed."""

    size: int
    modified: int  # nanoseconds
    changed: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "FileState":
        """Return the state that a file is in now."""
        state = path.stat()
        return cls(state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)

    @property
    def is_stored(self) -> bool:
        """Return whether the file's hash may be stored."""
        return self.size >= MIN_SIZE and time.time() - max(self.modified, self.changed) / 1e9 > MIN_AGE


def find_hash(path: Path, state: FileState) -> bytes | None:
    """Return the stored SHA-256 of a file in this state; None if there is none."""
    if not state.is_stored:
        return None
    try:
        record = json.loads(record_path(path).read_text(encoding="utf-8"))
        if record["path"] == str(path) and record["state"] == asdict(state):
            return bytes.fromhex(record["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def store_hash(path: Path, state: FileState, digest: bytes) -> None:
    """Store the SHA-256 of a file, if the cache can be written to."""
    if not state.is_stored:
        return
    target = record_path(path)
    record = {"path": str(path), "state": asdict(state), "sha256": digest.hex()}
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.replace(temporary, target)


def record_path(path: Path) -> Path:
    """Return where the hash of a file is stored."""
    return user_cache() / "hashes" / f"{sha256(str(path).encode()).hexdigest()[:16]}.json"
