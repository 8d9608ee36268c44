"""Commands are killed with SIGKILL at many moments, and started again: the result is that of an undisturbed run.

generate, score, correct, train and study run on toy models (toy_runs.py). They are killed

- at moments that are uniform over the time that a run takes,
- at moments when they change a file: a run is killed before its n-th opening for writing, renaming or removal (or just
  after a file was emptied), with n drawn from all of its changes,
- both as forked processes and, a few times each, as real ones (`python -m btr.cli …`).

Only the command's own process is killed, not those that it has started. It is started again and killed again, up to
four times; then it may end. After each kill, every file under its final name must be one that an undisturbed run has
renamed to that name; a folder of a model or a checkpoint must have all of its files. When a run has ended, its files
must be equal byte for byte. Not compared are only: seconds and tokens per second (run.json, progress.json, log.jsonl,
Table 29, *.details.json, the card's hours), and TensorBoard's log. The exit code is 1 if a promise is broken.

    python benchmarks/killed.py [--json] [--times 100] [--changes 50] [--real 5] [--seed 0] [--size 300]
        [--only train,study]
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from common import Report
from file_changes import is_temporary, kill_at_change, list_files, record, results
from forked import Child, import_all, import_modules, start
from toy_runs import write_inputs

NAMES = "generate", "score", "correct", "train", "study"
MAX_KILLS = 4  # of one run, until it may end


@dataclass
class Command:
    """A command, and what an undisturbed run of it does."""

    name: str
    arguments: list[str]
    seconds: float = 0.0
    real_seconds: float = 0.0
    changes: int = 0  # of files
    files: dict[str, str] = field(default_factory=dict)  # hash by path, at the end
    versions: dict[str, set[str]] = field(default_factory=dict)  # hashes that each path has had
    folders: dict[str, set[str]] = field(default_factory=dict)  # what was in folders when they were renamed


@dataclass
class Outcome:
    """What happened to a command, in numbers."""

    by_clock: int = 0
    at_changes: int = 0
    real: int = 0
    compared: int = 0  # runs that have ended; each was killed once to four times before
    different: int = 0  # runs whose files are not those of the undisturbed one, or that could not continue
    half_written: int = 0
    left_processes: int = 0
    left_files: int = 0  # hidden temporary files beside the result

    @property
    def broken(self) -> int:
        return self.different + self.half_written + self.left_processes


def commands(inputs: Path) -> list[Command]:
    """Return the commands; outputs are relative to the folder in which they run."""
    base, btr = f"{inputs}/base", f"btr:{inputs}/btr"
    short = ["--size", "2", "--max-length", "12"]
    return [
        Command("generate", ["generate", f"{inputs}/sources.txt", "--model", base, *short, "-o", "out.jsonl"]),
        Command("score", ["score", f"{inputs}/candidates.jsonl", "--reranker", btr, "-o", "scores.jsonl"]),
        Command(
            "correct",
            [
                "correct",
                f"{inputs}/letter.txt",
                "--candidates",
                "2",
                "--model",
                base,
                "--reranker",
                btr,
                "-o",
                "better.txt",
            ],
        ),
        Command("train", ["train", f"{inputs}/train.yaml", "-o", "run"]),
        Command("study", ["study", f"{inputs}/study.yaml", "-o", "report"]),
    ]


class Trial:
    """Runs a command again and again in folders of its own, and counts what goes wrong."""

    def __init__(self, command: Command, folder: Path, generator: random.Random, report: Report) -> None:
        self.command, self.folder, self.generator, self.report = command, folder, generator, report
        self.outcome, self.killed = Outcome(), list[Child]()
        self.log = folder / f"{command.name}.log"
        self.run = folder / f"{command.name}-run"

    def start(self, prepare: Callable[[], object] = lambda: None, real: bool = False, learn: bool = False) -> Child:
        """Start the command, forked or really."""
        if not real:
            return start(self.command.arguments, self.run, self.log, prepare, learn=learn)
        line = [sys.executable, "-m", "btr.cli", *self.command.arguments]
        with open(self.log, "w") as log:
            process = subprocess.Popen(line, cwd=self.run, stdout=log, stderr=log, start_new_session=True)
        process.returncode = 0  # it is waited for here, and not by its object
        return Child(process.pid, self.log)

    def clear(self) -> None:
        shutil.rmtree(self.run, ignore_errors=True)
        self.run.mkdir()

    def observe(self) -> None:
        """Run the command undisturbed, and note what it does."""
        changes = self.folder / "changes.jsonl"
        for real, prepare in ((True, None), (False, None), (False, None), (False, lambda: record(changes))):
            self.clear()
            started = time.perf_counter()
            if self.start(prepare or (lambda: None), real, learn=prepare is None).wait():
                sys.exit(f"{self.command.name} failed without being killed: {self.log.read_text()[-2000:]}")
            seconds = time.perf_counter() - started
            if real:
                self.command.real_seconds = seconds
            elif prepare is None:
                self.command.seconds = seconds
                import_modules(self.log.with_suffix(".modules").read_text().split())
        rows = [json.loads(line) for line in changes.read_text().splitlines()]
        self.command.changes, self.command.files = len(rows), results(self.run)
        for row in filter(None, rows):
            for name, each in row["files"].items():
                self.command.versions.setdefault(name, set()).add(each)
            if row["is_folder"]:
                names = set(row["files"])
                self.command.folders[row["to"]] = self.command.folders.get(row["to"], names) & names

    def killed_by_clock(self, real: bool = False) -> bool:
        """Start the command, and kill it after a random time; return whether it had not ended before."""
        child = self.start(real=real)
        code = child.wait(self.generator.uniform(0, self.command.real_seconds if real else self.command.seconds))
        if code is None:
            child.kill()
            code = child.wait()
        return self.check(child, code)

    def killed_at_change(self) -> bool:
        """Start the command, and let it be killed at a random change of a file."""
        number, empties = self.generator.randint(1, self.command.changes), self.generator.random() < 0.5
        child = self.start(lambda: kill_at_change(number, empties))
        return self.check(child, child.wait())

    def check(self, child: Child, code: int | None) -> bool:
        """Look at what is there after a kill; return whether the process was killed."""
        if code not in (0, -signal.SIGKILL):
            self.complain("different", f"exit code {code}: {self.log.read_text()[-500:]}")
        self.killed.append(child)
        if code == -signal.SIGKILL:
            self.check_half_written()
        return code == -signal.SIGKILL

    def check_half_written(self) -> None:
        """Every result must be one that the undisturbed run had too, and every renamed folder must be complete."""
        found = results(self.run)
        wrong = [name for name, each in found.items() if each not in self.command.versions.get(name, ())]
        wrong = [name for name in wrong if not name.endswith("log.jsonl")]  # it grows line by line
        for folder, names in self.command.folders.items():
            if (self.run / folder).exists():
                wrong += sorted(names - set(found))
        if wrong:
            self.complain("half_written", ", ".join(wrong))

    def complain(self, what: str, text: str) -> None:
        setattr(self.outcome, what, getattr(self.outcome, what) + 1)
        self.report.say(f"{self.command.name}: {what}: {text}")

    def attempt(self, kill: Callable[[], bool], most: int, real: bool = False) -> int:
        """Kill a run and those that continue it, `most` times at most; let it end, and compare. Return the kills."""
        self.clear()
        kills = 0
        while kills < most and kill():
            kills += 1
        if not kills:
            return 0
        child = self.start(real=real)
        if child.wait():
            self.complain("different", f"it does not continue: {self.log.read_text()[-500:]}")
        else:
            self.compare()
        self.outcome.compared += 1
        self.outcome.left_processes += sum(each.end_session() for each in (*self.killed, child))
        self.killed.clear()
        return kills

    def compare(self) -> None:
        """Compare a run that has ended with the undisturbed one."""
        found = results(self.run)
        names = sorted(found.keys() | self.command.files.keys())
        if wrong := [name for name in names if found.get(name) != self.command.files.get(name)]:
            self.complain("different", ", ".join(wrong))
        self.outcome.left_files += sum(is_temporary(Path(name)) for name in list_files(self.run))

    def repeat(self, times: int, kill: Callable[[], bool], most: int = MAX_KILLS, real: bool = False) -> int:
        """Kill that many times; a run that has ended before its moment does not count."""
        done = 0
        for _ in range(4 * times):
            if done < times:
                done += self.attempt(kill, min(self.generator.randint(1, most), times - done), real)
        return done

    def print_counts(self) -> None:
        """Print the counts so far."""
        counts = ", ".join(
            f"{each.name.replace('_', ' ')} {getattr(self.outcome, each.name)}" for each in fields(Outcome)
        )
        self.report.say(f"{self.command.name}: {counts}")


def main() -> int:
    """Kill all commands, and print a table."""
    names = ",".join(NAMES)
    report = Report("killed at any moment", times=100, changes=50, real=5, seed=0, size=300, only=names)
    options = report.options
    rows = [
        "| | a run takes | killed: by the clock | at a change of a file | real processes | runs compared "
        "| different | half-written | processes left | hidden files left |",
        "| --- |" + " --: |" * 9,
    ]
    import_all()
    broken = 0
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name) / "inputs"
        inputs.mkdir()
        write_inputs(inputs, options["size"])
        for command in commands(inputs):
            if command.name not in options["only"].split(","):
                continue
            trial = Trial(command, Path(name), random.Random(f"{options['seed']} {command.name}"), report)
            trial.observe()
            report.say(f"{command.name}: {command.seconds:.1f} s, {command.changes} changes of files")
            outcome = trial.outcome
            outcome.by_clock = trial.repeat(options["times"], trial.killed_by_clock)
            trial.print_counts()
            outcome.at_changes = trial.repeat(options["changes"], trial.killed_at_change)
            trial.print_counts()
            outcome.real = trial.repeat(options["real"], partial(trial.killed_by_clock, real=True), 1, True)
            trial.print_counts()
            numbers = {each.name: getattr(outcome, each.name) for each in fields(Outcome)}
            rows.append(f"| {command.name} | {command.seconds:.1f} s | {' | '.join(map(str, numbers.values()))} |")
            report.ratios |= {f"{command.name}_{name}": number for name, number in numbers.items()}
            broken += outcome.broken
    report.say("\n".join(rows))
    report.end()
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
