"""Long work over a stream: written as it goes, resumed after an interruption, shared between processes.

The stream is cut into windows of fixed size, each computed by itself. So whoever computes a window, and whenever,
writes the same lines: a run that was stopped and started again, or two processes, make the same file as one
undisturbed run.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

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
        """Wait until all processes are here, however long the slowest takes."""
        if self.world > 1:
            import torch
            from accelerate import PartialState

            PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(days=30)).wait_for_everyone()

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
    keep_header: bool = True,
) -> None:
    """Write a header, then a line for each item; `work` turns a window of items into their lines.

    The header says what the lines depend on, so that another run's are not taken for this one's. Where the file's
    format has no header, it is not kept in the end.
    """
    items = track(items, None, what)
    share = Share.current()
    if os.fspath(output) == "-":
        with writing(output) as file:
            if keep_header:
                file.write(json.dumps(header) + "\n")
            for window in windows(items, size):
                file.writelines(line + "\n" for line in work(window))
        return
    part = share.part(output)
    share.wait()
    try:
        with open(part, "ab") as file_, locked(file_, part):
            done = resume(part, header, size)
            file_.seek(0, os.SEEK_END)
            if not done:
                file_.write((json.dumps(header) + "\n").encode())
            mine = (window for number, window in enumerate(windows(items, size)) if number % share.world == share.rank)
            for window in islice(mine, done, None):
                file_.write("".join(line + "\n" for line in work(window)).encode())
                file_.flush()
    except InputError as error:
        if not isinstance(error, OtherRunError):
            part.unlink(missing_ok=True)  # what is bad must be mended first, and is another input then
        raise
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; the same command goes on where it was ({part} holds what is done).") from None
    share.wait()
    if share.rank == 0:
        merge([Share(rank, share.world).part(output) for rank in range(share.world)], output, size, keep_header)
    share.wait()


class OtherRunError(InputError):
    """The unfinished file belongs to another run: it is not ours to remove."""


@contextmanager
def locked(file: IO[bytes], part: Path) -> Iterator[None]:
    """Keep a second run from writing to the same file."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on this system
        pass
    except OSError:
        raise OtherRunError(f"{part}: another run is writing to it; wait for it, or choose another output.") from None
    yield


def check_output(output: PathLike, inputs: Iterable[PathLike] = ()) -> None:
    """Refuse an output that can't be written, or that is one of the inputs, before any work is done."""
    path = Path(output)
    inputs = list(inputs)
    if Share.current().world > 1 and "-" in [os.fspath(own) for own in (output, *inputs)]:
        raise InputError("several processes can't share standard input or output; name files.")
    if any(path.is_file() and Path(other).is_file() and path.samefile(other) for other in inputs):
        raise InputError(f"{output}: is an input, too; choose another output.")
    if path.is_dir():
        raise InputError(f"{output}: is a folder; name a file in it.")
    if os.fspath(output) != "-" and not os.access(path.parent, os.W_OK):
        raise InputError(f"{output}: cannot be written; is {path.parent} a folder that you may write to?")


def windows(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of `size`, the last one shorter."""
    stream = iter(items)
    while window := list(islice(stream, size)):
        yield window


def resume(part: Path, header: dict[str, Any], size: int) -> int:
    """How many whole windows an earlier run left; anything after them is cut off."""
    lines, end, keep = 0, 0, 0
    with open(part, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            if not end and line != (json.dumps(header) + "\n").encode():
                raise OtherRunError(
                    f"{part}: is an unfinished file of another model, input or setting; "
                    "remove it, or choose another output."
                )
            lines, end = lines + 1, end + len(line)
            if lines > 1 and (lines - 1) % size == 0:
                keep = end
    os.truncate(part, keep)
    return (lines - 1) // size if keep else 0


def merge(parts: Sequence[Path], output: PathLike, size: int, keep_header: bool) -> None:
    """Put the windows of all parts in order, under the output's name, and remove the parts."""
    with ExitStack() as stack, writing(output) as out:
        files = [stack.enter_context(open(part, encoding="utf-8", newline="\n")) for part in parts]
        headers = [file.readline() for file in files]
        if keep_header:
            out.write(headers[0])
        number = 0
        while lines := list(islice(files[number % len(files)], size)):
            out.writelines(lines)
            number += 1
    for part in parts:
        part.unlink()
