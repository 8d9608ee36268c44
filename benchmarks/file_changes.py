"""The files that a run writes: their hashes without times, and a look at each change of a file before it happens."""

import hashlib
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMES = re.compile(  # in JSON, in a model's card, and in a report's Table 29 as Markdown and HTML
    rb'"(?:seconds|tokens_per_second)": [^,}\n]+|^\| hours \|.*'
    rb"|^\*\*Table 29\.(?:.|\n)*?\n\n- |<b>Table 29\.(?:.|\n)*?</table>",
    re.MULTILINE,
)
TABLE_OF_TIMES = "table-29."
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}


def is_temporary(path: Path) -> bool:
    """Return whether a path is no result yet, or none any more: hidden, a part, or a folder that was replaced."""
    return any(part.startswith(".") or ".part" in part or part.endswith((".old", ".records")) for part in path.parts)


def content_hash(path: Path) -> str:
    """Return the hash of a file without times."""
    return hashlib.sha256(TIMES.sub(b"", path.read_bytes())).hexdigest()


def list_files(folder: Path) -> dict[str, Path]:
    """Return all files by their path in the folder, but for logs that grow line by line."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in paths.items() if "tensorboard" not in name and TABLE_OF_TIMES not in name}


def results(folder: Path) -> dict[str, str]:
    """Return the hashes of all results."""
    return {name: content_hash(path) for name, path in list_files(folder).items() if not is_temporary(Path(name))}


class Watcher:
    """In a run's process: calls `act` with each change of a file of its folder, before it happens."""

    def __init__(self, act: Callable[[str, tuple[Any, ...]], None]) -> None:
        self.act, self.is_acting = act, False
        self.folder = os.getcwd() + os.sep
        sys.addaudithook(self.handle)

    def handle(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at an event of Python's."""
        if self.is_acting or not (event in CHANGES or (event == "open" and is_writing(arguments[2]))):
            return
        path = arguments[0]
        if isinstance(path, str | bytes | os.PathLike) and in_folder(os.fsdecode(path), self.folder):
            self.is_acting = True
            self.act(event, arguments)
            self.is_acting = False


def in_folder(path: str, folder: str) -> bool:
    return os.path.abspath(path).startswith(folder)


def is_writing(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def record(log: Path) -> None:
    """Write down every change of a file, and what is renamed to a final name."""
    log.write_text("")

    def act(event: str, arguments: tuple[Any, ...]) -> None:
        row: dict[str, object] = {}
        if event == "os.rename":
            old, new = (Path(os.path.relpath(os.fsdecode(each))) for each in arguments[:2])
            if not is_temporary(new):
                files = [path for path in (old, *old.rglob("*")) if path.is_file()]
                hashes = {str(new / path.relative_to(old)): content_hash(path) for path in files}
                row = {"to": str(new), "is_folder": old.is_dir(), "files": hashes}
        with open(log, "a") as file:
            file.write(json.dumps(row) + "\n")

    Watcher(act)


def kill_at_change(number: int, empties: bool) -> None:
    """Kill this process before its change `number`; `empties`: if it is to empty a file, right after that."""
    left = number

    def act(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        left -= 1
        if left > 0:
            return
        if empties and event == "open" and arguments[2] & os.O_TRUNC:
            os.close(os.open(arguments[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
        os.kill(os.getpid(), signal.SIGKILL)

    Watcher(act)
