"""Commands in forked processes: what is imported here once is not imported again, so a run takes only its own time."""

import importlib
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

THREADS = {"jemalloc_bg_thd"}  # of pyarrow's allocator, which takes care of forks


def import_modules(names: Iterable[str]) -> None:
    """Import modules, and make sure that no thread was started: a fork has only the thread that forks."""
    for name in names:
        with suppress(Exception):  # of a package that makes its modules in another way
            importlib.import_module(name)
    running = {(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    if others := running - {Path("/proc/self/comm").read_text().strip()} - THREADS:
        sys.exit(f"an import has started threads ({', '.join(sorted(others))}), so that forked processes could hang")


def import_all() -> None:
    """Import the libraries that take long, and load the parser and langid's model."""
    import_modules(["torch", "transformers", "spacy", "datasets", "accelerate", "ctranslate2", "matplotlib", "btr.cli"])
    from btr.correction.language import load_identifier
    from btr.correction.segments import load_splitter
    from btr.metrics.errant import load_annotator

    load_annotator()
    load_identifier()
    load_splitter()


@dataclass
class Child:
    """A process that was started in a session of its own."""

    pid: int
    log: Path

    def __post_init__(self) -> None:
        self.descriptor = os.pidfd_open(self.pid)

    def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit code (negative: the signal); None if the process still runs after so many seconds."""
        if seconds is not None and not select.select([self.descriptor], [], [], seconds)[0]:
            return None
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        """Kill the process itself, and none of those that it has started."""
        os.kill(self.pid, signal.SIGKILL)

    def end_session(self, seconds: float = 5.0) -> int:
        """Return how many processes of the session outlive the first by more than some seconds; these are killed."""
        deadline = time.monotonic() + seconds
        while (left := session(self.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return len(left)


def session(leader: int) -> list[int]:
    """Return the running processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, number = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):  # it has ended
            continue
        if int(number) == leader and state != "Z":
            found.append(int(folder.name))
    return found


def start(
    arguments: list[str], folder: Path, log: Path, prepare: Callable[[], object] = lambda: None, *, learn: bool = False
) -> Child:
    """Run `btr` with these arguments in a folder, in a forked process; what it prints goes to the log.

    With `learn`, its modules are written down beside the log, for `import_modules`.
    """
    from btr.cli import main

    sys.stdout.flush()
    if pid := os.fork():
        return Child(pid, log)
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for standard in (1, 2):
            os.dup2(target, standard)
        sys.argv = ["btr", *arguments]
        prepare()
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        if learn:
            log.with_suffix(".modules").write_text("\n".join(sys.modules))
        with suppress(OSError):  # of a standard output that is full
            sys.stdout.flush()
        os._exit(code)
