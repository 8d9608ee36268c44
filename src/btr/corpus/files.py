"""Reading and writing text files, in one way for the whole project.

Lines are UTF-8, plain or gzip, with Unix or Windows ends; `-` is standard input or output.
Writing goes to a temporary file that is renamed at the end, so that no file is left half-written.
"""

import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import IO, BinaryIO, cast

from btr.errors import FileError, InputError
from btr.wording import count_of

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]
GZIP_MAGIC = b"\x1f\x8b"
UNWRITABLE = re.compile("[\0\ud800-\udfff]")
FULL = errno.ENOSPC, errno.EDQUOT
OS_ERROR = re.compile(r"\(os error (\d+)\)")  # how libraries in Rust, such as safetensors, name an error of the system


def as_paths(value: Paths | None) -> list[PathLike]:
    """Return a list of paths, also for a single path (which may be a string) and for None."""
    if value is None:
        return []
    return [value] if isinstance(value, str | os.PathLike) else list(value)


def open_bytes(path: PathLike) -> BinaryIO:
    """Open for reading; gzip is recognised by its first two bytes rather than by the file's name."""
    try:
        if os.fspath(path) == "-":
            if sys.stdin is None or sys.stdin.buffer.closed:
                raise InputError("standard input (-) can be read once only; name a file for the others.")
            raw = sys.stdin.buffer
        else:
            raw = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise FileError(f"{path}: no such file; check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; name a file in it.") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror}).") from None
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))
    if buffered.peek(2)[:2] == GZIP_MAGIC:
        return cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
    return buffered


@contextmanager
def reading(path: PathLike) -> Iterator[BinaryIO]:
    """Open for reading, and raise an InputError if the file turns out to be broken."""
    with open_bytes(path) as file:
        try:
            yield file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"{path}: is a broken gzip file ({str(error).rstrip('.')}); fetch or pack it again."
            ) from None
        except OSError as error:
            raise FileError(f"{path}: cannot be read ({error.strerror}).") from None


def read_lines(path: PathLike) -> Iterator[str]:
    """Stream the lines of a text file without their ends; the last newline may be missing."""
    with reading(path) as file:
        for number, raw in enumerate(file, 1):
            yield _decode(raw, path, number)


def _decode(raw: bytes, path: PathLike, number: int) -> str:
    if number == 1:
        refuse_utf16(raw, path)
    if b"\0" in raw:
        raise not_text(path, number)
    try:
        line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise not_text(path, number, error.object[error.start]) from None
    return line.removesuffix("\n").removesuffix("\r")


def refuse_utf16(start: bytes, path: PathLike) -> None:
    """Refuse a file in UTF-16, recognised by its first bytes."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is UTF-16; convert the file to UTF-8.")


def not_text(path: PathLike, line: int, byte: int = 0) -> InputError:
    """Return the error for a line with a byte that is no UTF-8 text (0: a NUL byte)."""
    if not byte:
        return InputError(f"{path}, line {line}: has a NUL byte; this is a binary file, not text.")
    return InputError(f"{path}, line {line}: byte {byte:#04x} is not UTF-8; convert the file to UTF-8.")


def check_text(text: str) -> str:
    """Return a text if it can be written as UTF-8: it has no NUL characters and no unpaired surrogates."""
    if not isinstance(text, str):
        raise InputError(f"expected a text, not {type(text).__name__}.")
    if match := UNWRITABLE.search(text):
        what = "zero bytes" if match[0] == "\0" else "unpaired surrogates"
        raise InputError(f"a text has no {what}; take out character {match.start() + 1:,}.")
    return text


def read_text(path: PathLike) -> list[str]:
    """Read all lines of a text file that must not be empty."""
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path}: is empty; expected one sentence per line.")
    return lines


def check_same_length(named: Iterable[tuple[str, int]]) -> None:
    """Refuse files that should have the same number of sentences and do not."""
    (first, length), *others = [*named] or [("", 0)]
    for name, other in others:
        if other != length:
            raise InputError(
                f"{name} has {count_of(other, 'sentence')} but {first} has {length:,}; "
                "they must correspond line by line."
            )


def zip_lines(paths: Iterable[PathLike]) -> Iterator[tuple[str, ...]]:
    """Stream the lines of several files side by side; it is an error if one ends before the others."""
    yield from zip_streams([(path, read_lines(path)) for path in paths])


def zip_streams(named: Sequence[tuple[PathLike, Iterator[str]]]) -> Iterator[tuple[str, ...]]:
    """Stream the texts of several files side by side; it is an error if one ends before the others."""
    for number, row in enumerate(zip_longest(*(stream for _, stream in named)), 1):
        for (name, _), line in zip(named, row, strict=True):
            if line is None:
                raise InputError(f"{name}: ends before line {number:,}, which its companion files still have.")
        yield cast(tuple[str, ...], row)


def file_sha256(path: PathLike) -> str:
    """Return the SHA-256 of the file's (unpacked) bytes."""
    digest = hashlib.sha256()
    with reading(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_hash(path: PathLike) -> str:
    """Return the first eight hexadecimal digits of the SHA-256, as signatures have them."""
    return file_sha256(path)[:8]


def user_cache() -> Path:
    """Return the folder for what is fetched, expanded or converted, and for named test sets."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "btr"


def check_is_file(path: PathLike, what: str) -> None:
    """Refuse what can be read only once; `what` says in the message what the file holds."""
    if os.fspath(path) == "-" or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()):
        raise InputError(
            f"{path} ({what}): is read twice, which standard input, a pipe or a device can't be; save it to a file."
        )


def check_not_input(output: PathLike, inputs: Iterable[PathLike]) -> None:
    """Refuse an output that is also an input."""
    path = Path(output)
    if any(path.is_file() and Path(other).is_file() and path.samefile(other) for other in inputs):
        raise InputError(f"{output}: is an input, too; choose another output.")


def file_signature(path: PathLike, what: str) -> str:
    """Return a file's name and hash, as signatures have them; `what` says in messages what the file holds."""
    check_is_file(path, what)
    return f"{Path(path).name}#{file_hash(path)}"


@contextmanager
def refused_writes(path: PathLike) -> Iterator[None]:
    """Say in one sentence what the system refuses while a file or folder is written, such as room on a full disk.

    Other errors pass: of the network, of files elsewhere, and mistakes in the code.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause = system_error(error)
        if cause is None or not is_about(cause, path):
            raise
        way_out = "; make room, and run the same command again" if cause.errno in FULL else ""
        raise FileError(f"{path}: cannot be written ({cause.strerror or cause}){way_out}.") from None


def system_error(error: Exception) -> OSError | None:
    """Return the system's error behind one that a library has raised; None if there is none."""
    if isinstance(error, OSError):
        return error
    context = error.__context__
    if isinstance(error, RuntimeError) and isinstance(context, OSError) and not error.__suppress_context__:
        return context  # torch raises its own while Python writes for it
    match = OS_ERROR.search(str(error))
    return OSError(int(match[1]), os.strerror(int(match[1]))) if match else None


def is_about(error: OSError, path: PathLike) -> bool:
    """Return whether an error may come from writing a path: the system's, of no file or of one in the same folder."""
    if error.errno is None or isinstance(error, ConnectionError | TimeoutError):  # BrokenPipeError, too
        return False
    if error.filename is None:
        return True
    folder, named = Path(os.path.realpath(path)).parent, Path(os.path.realpath(str(error.filename)))
    return named.is_relative_to(folder) or folder.is_relative_to(named)  # a missing folder's parent


@contextmanager
def writing(path: PathLike) -> Iterator[IO[str]]:
    """Open for writing: gzip by the name's `.gz`; the file appears under its name only when complete."""
    if os.fspath(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it.")
    if target.exists() and not target.is_file():  # a pipe or a device: it can't be replaced by renaming
        with refused_writes(path), open(target, "w", encoding="utf-8", newline="\n") as text:
            yield text
        return
    with refused_writes(path), new_file(target) as text:
        yield text


@contextmanager
def new_file(target: Path) -> Iterator[IO[str]]:
    """Open a temporary file that takes the place of `target` when it is complete."""
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            binary = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if target.suffix == ".gz" else raw
            with io.TextIOWrapper(cast(IO[bytes], binary), encoding="utf-8", newline="\n") as text:
                yield text
        os.chmod(temporary, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write a file line by line; it appears only when it is complete."""
    with writing(path) as file:
        file.writelines(f"{line}\n" for line in lines)


@contextmanager
def writing_folder(path: PathLike) -> Iterator[Path]:
    """Give an empty folder to write to; it takes the place of `path` when it is complete."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{target.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with refused_writes(path):
            temporary.mkdir(parents=True)
            yield temporary
            replace_folder(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_folder(new: Path, target: Path) -> None:
    """Rename a complete folder to `target`; the former one is `TARGET.old` until that is done."""
    old = target.with_name(f"{target.name}.old")
    if target.exists():  # else a run was killed between the two renamings, and the old one is all that there is
        shutil.rmtree(old, ignore_errors=True)
        os.rename(target, old)
    os.rename(new, target)
    shutil.rmtree(old, ignore_errors=True)
