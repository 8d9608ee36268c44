"""Long work over a stream: written as it is done, resumed after an interruption, shared between processes.

The stream is cut into windows of a fixed size, and each window is computed independently of the others. So its lines do
not depend on which process computes it, or when: a run that was interrupted and started again, and several processes
together, write the same file as one undisturbed run.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from btr.corpus.files import PathLike, check_not_input, refused_writes, writing
from btr.errors import FileError, InputError, Interrupted
from btr.progress import track

T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """This process's share of the work, among the processes that `accelerate launch` or `torchrun` started."""

    rank: int = 0
    world: int = 1

    @classmethod
    def current(cls) -> "Share":
        """Return what the launcher has set in the environment; without a launcher, all of the work."""
        return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))

    def wait(self) -> None:
        """Wait until all processes have come to this line, however long the slowest takes."""
        if self.world > 1:
            import torch
            from accelerate import PartialState

            PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(days=30)).wait_for_everyone()

    def part(self, output: PathLike) -> Path:
        """Return the file that this process writes to until all are done."""
        suffix = f".part-{self.rank}-of-{self.world}" if self.world > 1 else ".part"
        return Path(os.fspath(output) + suffix)


def write_windows(
    items: Iterable[T],
    work: Callable[[Sequence[T]], Iterable[str]],
    output: PathLike,
    header: dict[str, Any],
    size: int,
    what: str,
    *,
    keep_header: bool = True,
    resumable: bool = True,
) -> None:
    """Write a header, then a line for each item; `work` turns a window of `size` items into their lines.

    The header says what the lines depend on, so that the part file of another run is not continued. It is left out of
    the output if not `keep_header`. Items of standard input are not `resumable`: two streams look the same.
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
        with explaining_interruption(part), refused_writes(part), locked(part), open(part, "ab") as lines:
            if not resumable:
                lines.truncate(0)
            done = cut_to_whole_windows(part, header, size)
            lines.seek(0, os.SEEK_END)
            if not done:
                lines.write((json.dumps(header) + "\n").encode())
            every = enumerate(windows(items, size))
            assigned = (window for number, window in every if number % share.world == share.rank)
            for window in islice(assigned, done, None):
                lines.write("".join(line + "\n" for line in work(window)).encode())
                lines.flush()
    except InputError as error:
        if not isinstance(error, OtherRunError | FileError):
            part.unlink(missing_ok=True)  # once the bad input is mended, its signature is another
        raise
    share.wait()
    if share.rank == 0:
        merge([Share(rank, share.world).part(output) for rank in range(share.world)], output, size, keep_header)
    share.wait()


@contextmanager
def explaining_interruption(done: Path) -> Iterator[None]:
    """Turn Ctrl-C into the sentence that says how to continue, and which file holds what is done."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; the same command continues where it stopped ({done} holds what is done)."
        ) from None


class OtherRunError(InputError):
    """The part file belongs to another run, so this run must not remove it."""


@contextmanager
def locked(part: Path) -> Iterator[None]:
    """Refuse a second run that would write to the same part file.

    The operating system frees the lock of a process that is killed. Only its lock file stays, a hidden and empty file
    beside the part file, until a later run of the same command ends.
    """
    from filelock import FileLock, Timeout  # takes 0.1 s to import

    path = part.with_name(f".{part.name}.lock")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise OtherRunError(f"{part}: another run is writing to it; wait for it, or choose another output.") from None
    try:
        yield
    finally:
        with suppress(OSError):  # removed while locked: filelock refuses a lock on a file that has been removed
            path.unlink()
        lock.release()


def check_output(output: PathLike, inputs: Iterable[PathLike] = ()) -> None:
    """Refuse an output that can't be written, or that is also an input, before any work is done."""
    path = Path(output)
    inputs = list(inputs)
    if Share.current().world > 1 and "-" in [os.fspath(each) for each in (output, *inputs)]:
        raise InputError("several processes can't share standard input or output; name files.")
    check_not_input(output, inputs)
    if path.is_dir():
        raise InputError(f"{output}: is a folder; name a file in it.")
    if os.fspath(output) != "-" and not os.access(path.parent, os.W_OK):
        raise InputError(f"{output}: cannot be written; is {path.parent} a folder that you may write to?")


def windows(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of `size`, the last one shorter."""
    stream = iter(items)
    while window := list(islice(stream, size)):
        yield window


def cut_to_whole_windows(part: Path, header: dict[str, Any], size: int) -> int:
    """Cut a part file after its last whole window; return how many windows it has."""
    lines, end, whole = 0, 0, 0  # whole: where the last whole window ends, in bytes
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
                whole = end
    os.truncate(part, whole)
    return (lines - 1) // size if whole else 0


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
