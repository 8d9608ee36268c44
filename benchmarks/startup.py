"""How long commands take to start: one sentence through `btr correct`, and --help, against the imports alone.

Every round starts each command once, in a process of its own, so that what else the machine does falls on all of them.
The ratios are of the processors' time (user and system), as medians over the rounds; elapsed seconds are printed too.
What is made once (conversions for CTranslate2, hashes, langid's arrays) is made before the first round. With the
defaults, a correction that takes more than 1.5 times as long as the imports gives the exit code 1.

    python benchmarks/startup.py [--json] [--rounds 5]
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from statistics import median

from common import Report

from btr.models.locate import fetched_folder

MAX_RATIO = 1.5
FULL = 5
IMPORTS = "imports"
CORRECT = [sys.executable, "-m", "btr.cli", "correct", "-"]
LANGUAGE_MODEL = "smollm2-135m"


@dataclass(frozen=True)
class Command:
    """A command, what it reads, and what it must print; None if that does not matter."""

    arguments: list[str]
    text: str = ""
    expected: str | None = None


COMMANDS = {
    IMPORTS: Command([sys.executable, "-c", "import torch, transformers, spacy"]),
    "correct": Command(CORRECT, "She have two dog.\n", "She has two dogs.\n"),
    # The judge is not sure of this edit without the language model.
    "correct_with_language_model": Command(CORRECT, "She is more taller than me.\n", "She is taller than me.\n"),
    "help": Command([sys.executable, "-m", "btr.cli", "--help"]),
    "evaluate_help": Command([sys.executable, "-m", "btr.cli", "evaluate", "--help"]),
}


@dataclass(frozen=True)
class Cost:
    """Seconds of the processors, and on the clock."""

    processor: float
    elapsed: float


def measure(command: Command) -> Cost:
    """Run a command in a process of its own."""
    with tempfile.TemporaryFile("w+") as text, tempfile.TemporaryFile("w+") as output:
        text.write(command.text)
        text.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(command.arguments, stdin=text, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read()
    if process.returncode or (command.expected is not None and printed != command.expected):
        sys.exit(f"{' '.join(command.arguments)}: exit code {process.returncode}, printed {printed!r}")
    return Cost(usage.ru_utime + usage.ru_stime, elapsed)


def main() -> int:
    """Measure all commands in turn, and compare them with the imports."""
    report = Report("start-up", rounds=FULL)
    names = list(COMMANDS)
    if not fetched_folder(LANGUAGE_MODEL).is_dir():
        names.remove("correct_with_language_model")
        report.say(f"without the language model: btr fetch {LANGUAGE_MODEL}")
    for name in names:  # makes what is made once
        measure(COMMANDS[name])
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(report.options["rounds"]):
        for name in names:
            costs[name].append(measure(COMMANDS[name]))
    for name, each in costs.items():
        elapsed = [cost.elapsed for cost in each]
        processor = median(cost.processor for cost in each)
        report.say(f"{name}: processors {processor:.2f} s, elapsed {median(elapsed):.2f} s, at best {min(elapsed):.2f}")
    imports = median(cost.processor for cost in costs.pop(IMPORTS))
    for name, each in costs.items():
        report.ratio(f"{name}_over_imports", median(cost.processor for cost in each) / imports)
    report.end()
    slowest = max(value for name, value in report.ratios.items() if name.startswith("correct"))
    return int(report.options["rounds"] >= FULL and slowest > MAX_RATIO)


if __name__ == "__main__":
    sys.exit(main())
