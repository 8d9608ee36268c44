"""Random input: 10,000 inputs per parser, of which each must be accepted or refused in one sentence.

Files (M2, JSON lines, TSV, recipes, studies, judges, profiles) are read by the functions that the commands call, and
one input in twenty is given to the command line itself, in this process. Requests (JSON bodies by schemathesis from
the OpenAPI document, forms of LanguageTool, documents) go to the server's application in this process, with scripted
models.

A promise is broken, and the exit code is 1, if anything but an InputError is raised, a command ends with another code
than 0 or 2 or leaves a part of its output, an answer has a status of 500 or more (but for 503 and 504), or an input
takes more than 10 seconds of the processors' time or adds more than 256 MB to the process.

    python benchmarks/fuzz.py [--json] [--inputs 10000] [--seed 0] [--only NAME]
"""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a changed name of a model is not looked up

from common import Report
from fuzz_files import ROOT, file_parsers
from fuzz_http import http_parsers
from fuzz_inputs import Attempts
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

MAX_SECONDS, MAX_MEMORY = 10.0, 256 << 20  # of one input: processors' time, and bytes beyond those before it
HANGS_AFTER = 120.0  # seconds on the clock, which other processes also use
ADDRESS_SPACE = 4 << 30  # bytes that the process may map beyond those at the start: a runaway ends as a MemoryError


class TooSlow(BaseException):
    """An input took too long."""


@dataclass
class Outcome:
    """What became of a parser's inputs."""

    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0  # processors' seconds of one input
    largest: int = 0  # bytes of resident memory that one input added
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)  # how many, and the shortest input

    @property
    def inputs(self) -> int:
        return self.accepted + self.refused + sum(count for count, _ in self.failures.values())

    def attempt(self, call: Callable[[], bool], content: object) -> None:
        """Call what must return whether an input was accepted, and store what happened."""
        before, started = reset_peak(), time.process_time()
        signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER)
        try:
            is_accepted = call()
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.accepted += is_accepted
            self.refused += not is_accepted
        except (Exception, TooSlow) as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.fail(describe(error), content)
        seconds, added = time.process_time() - started, memory("VmHWM") - before
        self.slowest, self.largest = max(self.slowest, seconds), max(self.largest, added)
        if seconds > MAX_SECONDS or added > MAX_MEMORY:
            self.fail("more time or memory than allowed", content)

    def fail(self, what: str, content: object) -> None:
        """Count a broken promise; the shortest input that shows it is stored."""
        count, shortest = self.failures.get(what, (0, repr(content)))
        self.failures[what] = count + 1, min(shortest, repr(content), key=len)


def describe(error: BaseException) -> str:
    """Return what broke, and the line of code."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "/btr/" in frame.filename]
    where = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}: {str(error)[:100]}{where}" if not own else f"{type(error).__name__}{where}"


def try_many(inputs: int, start: int, strategy: SearchStrategy[Any], attempt: Callable[[Any], None]) -> None:
    """Try so many inputs."""

    @seed(start)
    @settings(
        max_examples=inputs, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def try_one(content: Any) -> None:
        attempt(content)

    try_one()


def parsers(folder: Path) -> Iterator[tuple[str, Attempts]]:
    """Yield what is tried, by name."""
    yield from file_parsers(folder)
    yield from http_parsers(folder)


def try_all(attempts: Attempts, inputs: int, start: int) -> Outcome:
    """Try so many inputs, in equal parts of each kind."""
    outcome = Outcome()
    kinds = list(attempts)
    for k, (strategy, call) in enumerate(kinds):
        share = (inputs - outcome.inputs) // (len(kinds) - k)

        def attempt(content: Any, call: Callable[[Any], bool] = call) -> None:
            outcome.attempt(lambda: call(content), content)

        try_many(share, start + k, strategy, attempt)
    return outcome


def main() -> None:
    report = Report(__doc__ or "", inputs=10_000, seed=0, only="")
    inputs, start, only = (report.options[name] for name in ("inputs", "seed", "only"))
    os.chdir(ROOT)  # examples name files
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, raise_too_slow)
    limit_memory()
    report.say("| parser | inputs | accepted | refused | broken promises | slowest | largest |\n|" + " --- |" * 7)
    failures: list[str] = []
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="btr-fuzz-") as folder:
        for name, attempts in parsers(Path(folder)):
            if only not in name:
                continue
            outcome = try_all(attempts, inputs, start)
            broken = sum(count for count, _ in outcome.failures.values())
            figures[name] = {
                "inputs": outcome.inputs,
                "accepted": outcome.accepted,
                "refused": outcome.refused,
                "broken": broken,
                "seconds": round(outcome.slowest, 3),
                "bytes": outcome.largest,
            }
            report.say(
                f"| {name} | {outcome.inputs:,} | {outcome.accepted:,} | {outcome.refused:,} | {broken:,} "
                f"| {outcome.slowest:.2f} s | {outcome.largest / 1e6:.1f} MB |"
            )
            failures += [
                f"{name}: {what} ({count:,}): {shown[:500]}" for what, (count, shown) in outcome.failures.items()
            ]
    if report.json:
        print(json.dumps(figures))
    if failures:
        sys.exit("\n".join(failures))


def raise_too_slow(*_: object) -> None:
    raise TooSlow


def memory(name: str) -> int:
    """Return bytes of this process's memory: VmRSS for now, VmHWM for the peak since `reset_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10


def reset_peak() -> int:
    """Let the peak of memory be measured from now on; return what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def limit_memory() -> None:
    """Let memory that grows without end be a MemoryError."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ADDRESS_SPACE, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
