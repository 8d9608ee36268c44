"""Long work over a stream: written as it goes, resumed after an interruption, shared between processes.

The stream is cut into windows of fixed size, each computed by itself. So whoever computes a window, and whenever,
writes the same lines: a run that was stopped and started again, or two processes, make the same file as one
undisturbed run.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from btr.corpus.files import PathLike, writing
from btr.errors import InputError, Interrupted
from btr.progress import track

T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """This process among those that work together (under `accelerate launch` or `torchrun`)."""

    rank: int = 0
    world: int = 1

    @classmethod
    def current(cls) -> "Share":
        """What the launcher says; alone if there is none."""
        return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            import torch
            from accelerate import PartialState

            PartialState(cpu=not torch.cuda.is_available()).wait_for_everyone()

    def part(self, output: PathLike) -> Path:
        """Where this process writes until all are done."""
        suffix = f".part-{self.rank}-of-{self.world}" if self.world > 1 else ".part"
        return Path(os.fspath(output) + suffix)


def write_windows(
    items: Iterable[T],
    work: Callable[[Sequence[T]], Iterable[str]],
    output: PathLike,
    header: dict[str, Any],
    size: int,
    what: str,
) -> None:
    """Write a header, then a line for each item; `work` turns a window of items into their lines."""
    items = track(items, None, what)
    if os.fspath(output) == "-":
        with writing(output) as file:
            file.write(json.dumps(header) + "\n")
            for window in windows(items, size):
                file.writelines(line + "\n" for line in work(window))
        return
    share = Share.current()
    part = share.part(output)
    done = resume(part, header, size)
    try:
        with open(part, "a", encoding="utf-8", newline="\n") as file:
            if not done:
                file.write(json.dumps(header) + "\n")
            mine = (window for number, window in enumerate(windows(items, size)) if number % share.world == share.rank)
            for window in islice(mine, done, None):
                file.writelines(line + "\n" for line in work(window))
                file.flush()
    except InputError:
        part.unlink()  # what is bad must be mended first, and is another input then
        raise
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; the same command goes on where it was ({part} holds what is done).") from None
    share.wait()
    if share.rank == 0:
        merge([Share(rank, share.world).part(output) for rank in range(share.world)], output, size)
    share.wait()


def windows(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of `size`, the last one shorter."""
    stream = iter(items)
    while window := list(islice(stream, size)):
        yield window


def resume(part: Path, header: dict[str, Any], size: int) -> int:
    """How many whole windows an earlier run left; anything after them is cut off."""
    try:
        lines = part.read_bytes().splitlines(keepends=True) if part.exists() else []
        if lines and lines[-1][-1:] != b"\n":
            lines.pop()
        if not lines:
            part.unlink(missing_ok=True)
            return 0
        if lines[0] != (json.dumps(header) + "\n").encode():
            raise InputError(
                f"{part}: is an unfinished file of another model or input; remove it, or choose another output."
            )
        done = (len(lines) - 1) // size
        os.truncate(part, sum(map(len, lines[: 1 + done * size])) if done else 0)
        return done
    except OSError as error:
        raise InputError(f"{part}: cannot be written ({error.strerror}).") from None


def merge(parts: Sequence[Path], output: PathLike, size: int) -> None:
    """Put the windows of all parts in order, under the output's name, and remove the parts."""
    with ExitStack() as stack, writing(output) as out:
        files = [stack.enter_context(open(part, encoding="utf-8", newline="\n")) for part in parts]
        headers = [file.readline() for file in files]
        out.write(headers[0])
        number = 0
        while lines := list(islice(files[number % len(files)], size)):
            out.writelines(lines)
            number += 1
    for part in parts:
        part.unlink()
