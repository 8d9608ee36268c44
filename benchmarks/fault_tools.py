"""What faults.py breaks with: a small disk, permissions that hold for root too, and inputs that can't be opened."""

import ctypes
import errno
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

PERMISSION_CAPABILITIES = 0b111  # the lowest three: CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
CAPABILITY_VERSION = 0x20080522
READ, WRITE = 0o555, 0o755


class SmallDisk:
    """A folder on a file system of its own; an ordinary folder where none can be mounted."""

    def __init__(self, place: Path, megabytes: int = 32) -> None:
        place.mkdir()
        self.place, self.work, self.filler = place, place / "work", place / "filler"
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
        self.is_mounted = os.getuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0
        self.work.mkdir()

    def used(self) -> int:
        """Return the bytes in use."""
        state = os.statvfs(self.place)
        return (state.f_blocks - state.f_bfree) * state.f_frsize

    def fill(self, free: int) -> None:
        """Leave room for so many bytes."""
        state = os.statvfs(self.place)
        with open(self.filler, "wb") as file:
            file.truncate(0)
            os.posix_fallocate(file.fileno(), 0, max(1, state.f_bavail * state.f_frsize - free))

    def set_read_only(self, value: bool) -> None:
        """Mount it read-only, or as before; take the permission to write away where it is not mounted."""
        if self.is_mounted:
            subprocess.run(["mount", "-o", f"remount,{'ro' if value else 'rw'}", str(self.place)], check=True)
        else:
            self.work.chmod(READ if value else WRITE)

    def mend(self) -> None:
        """Make room, and allow everything."""
        self.set_read_only(False)
        self.work.chmod(WRITE)
        self.filler.unlink(missing_ok=True)

    def end(self) -> None:
        """Unmount it."""
        self.mend()
        if self.is_mounted:
            subprocess.run(["umount", str(self.place)], check=True)


def obey_permissions() -> None:
    """Let the permissions of files hold for this process, though it may be root's."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    data[0] &= ~PERMISSION_CAPABILITIES  # effective
    if libc.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


def limit_files(size: int) -> None:
    """Let this process write no file larger than that."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def watch_opens(act: Callable[[str], None]) -> None:
    """Call `act` with the path of each file that this process is about to open for reading."""

    def handle(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        if not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_DIRECTORY)):
            act(os.path.abspath(os.fsdecode(arguments[0])))

    sys.addaudithook(handle)


def record_opens(paths: list[Path], log: Path) -> None:
    """Write down how often each of some files is opened."""
    counts, known = Counter[str](), {str(path) for path in paths}

    def act(path: str) -> None:
        if path in known:
            counts[path] += 1
            log.write_text("".join(f"{path}\n" for path in counts.elements()))

    watch_opens(act)


def fail_at_open(path: Path, number: int, vanishes: bool) -> None:
    """Let a file vanish just before it is opened for the n-th time, or let that and all later times fail."""
    count = 0

    def act(opened: str) -> None:
        nonlocal count
        if opened == str(path):
            count += 1
            if count >= number and vanishes:
                with suppress(FileNotFoundError):
                    path.unlink()
            elif count >= number:
                raise OSError(errno.EIO, os.strerror(errno.EIO), opened)

    watch_opens(act)
