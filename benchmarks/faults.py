"""Full disks, missing permissions, files that vanish: every command says so in one sentence, and goes on afterwards.

Each command that writes runs with toy models (toy_runs.py) in a folder on a small file system, where an earlier result
stands already. Then

- the disk is full: there is room for none, a third, two thirds, or nearly all of what the command writes;
- the file system is mounted read-only; the folder, or an input, has no permission for this user;
- an input is removed just before it is opened, for each time that the command opens it, or can't be read (EIO);
- standard output is full (/dev/full).

Promised each time: exit code 2; one line on standard error, which begins with "btr: " and is no traceback; the earlier
result is as it was; no other result is there unless it is complete. Then the fault is mended, and the same command
must give the result of an undisturbed run, byte for byte but for times. The exit code is 1 if a promise is broken.

A file system of its own needs root. Elsewhere the limit on a file's size stands for a full disk, and a folder without
permission for a read-only file system.

    python benchmarks/faults.py [--json] [--size 60] [--show 1] [--only train,study]
"""

import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from common import Report
from fault_tools import READ, SmallDisk, fail_at_open, limit_files, obey_permissions, record_opens
from file_changes import content_hash, is_temporary, list_files, results
from forked import import_all, import_modules, start
from safetensors.torch import load_file
from toy_runs import write_inputs

SHARES = 0.0, 1 / 3, 2 / 3, 0.95  # of the bytes that a command writes, for which there is room
FAULTS = "disk full", "read-only", "no permission", "input unreadable", "input vanishes", "input error"
IN_TRAINING = {"checkpoint", "model", "log.jsonl", "run.json"}  # what a training run changes while it goes on


@dataclass
class Case:
    """A command: in its line, @ stands for the folder of inputs, and SIZE for the number of sentences."""

    line: str
    inputs: str = ""  # the files that can vanish
    former: str = ""  # a command that makes the earlier result; else a text stands in the place of the output
    needs: str = ""  # a command that makes an input
    is_empty: bool = False  # no earlier result is allowed


SCORES = "score @/candidates.jsonl --reranker mbr -o scores.jsonl"
EDITS = "score @/candidates.jsonl --edits -o edits.jsonl"
SMALL = "--model @/base --reranker btr:@/btr --candidates 2"
CASES = {
    "generate": Case("generate @/sources.txt --model @/base --size 2 --max-length 12 -o out.jsonl", "@/sources.txt"),
    "ctranslate2": Case("generate @/sources.txt --model out.plain --size 2 --engine ctranslate2 -o out.jsonl",
                        "@/sources.txt", needs="compact @/base -o out.plain"),
    "score": Case("score @/candidates.jsonl --reranker btr:@/btr -o out.jsonl", "@/candidates.jsonl"),
    "score --edits": Case("score @/candidates.jsonl --edits -o out.jsonl", "@/candidates.jsonl"),
    "rerank": Case("rerank scores.jsonl -o out.txt", "scores.jsonl", needs=SCORES),
    "tune --plot": Case("tune scores.jsonl --gold @/part.m2 --plot out.svg", "scores.jsonl @/part.m2", needs=SCORES),
    "tune --edits": Case("tune --edits edits.jsonl --gold @/part.m2 --folds 2 -o out.json", "edits.jsonl @/part.m2",
                         needs=EDITS),
    "combine": Case("combine @/first.txt @/second.txt --source @/sources.txt --candidates out2.jsonl -o out.txt",
                    "@/first.txt @/sources.txt"),
    "correct": Case(f"correct @/letter.txt {SMALL} -o out.txt", "@/letter.txt"),
    "correct --tokenized": Case(f"correct @/sources.txt --tokenized {SMALL} -o out.txt", "@/sources.txt"),
    "clean": Case("clean @/gold.m2 -o out.m2", "@/gold.m2"),
    "export": Case("export --bea @/first.txt --sentences SIZE -o out.zip", "@/first.txt"),
    "compact": Case("compact @/base -o out", "@/base/config.json", former="compact @/btr -o out"),
    "import": Case("import @/best.pt -o out --tokenizer @/base", "@/best.pt", is_empty=True),
    "train": Case("train @/train.yaml -o out", "@/train.yaml @/pairs.tsv @/few.m2",
                  former="train @/train.yaml -o out --max-steps 1"),
    "train --plot": Case("train --plot out", "out/log.jsonl", needs="train @/short.yaml -o out", is_empty=True),
    "cross-fit": Case("cross-fit @/base.yaml -o out", "@/base.yaml @/pairs.tsv", is_empty=True),
    "write-errors": Case("write-errors @/clean.txt --model @/base --max-changed 1 --max-length-ratio 9 -o out.tsv",
                         "@/clean.txt"),
    "study": Case("study @/study.yaml -o out", "@/study.yaml @/few.m2", is_empty=True),
}  # fmt: skip
PRINTED = [
    "evaluate @/first.txt --gold @/gold.m2 --resamples 0",
    "compare @/first.txt @/second.txt --gold @/gold.m2 --resamples 10 --json",
    "clean @/gold.m2 -o -",
    "combine @/first.txt @/second.txt --source @/sources.txt -o -",
    "score @/candidates.jsonl --reranker mbr -o -",
    "correct @/letter.txt --model @/base --reranker none --candidates 1",
]


class Trials:
    """Runs one command with every fault, and counts what is not as promised."""

    def __init__(self, name: str, case: Case, place: Path, disk: SmallDisk, size: int, report: Report) -> None:
        self.name, self.case, self.disk, self.report = name, case, disk, report
        self.inputs, self.size, self.log = place / "inputs", size, place / "log"
        self.saved = place / "saved"
        self.done, self.broken = Counter[str](), Counter[str]()

    def arguments(self, line: str) -> list[str]:
        """Return a line's arguments."""
        return line.replace("@", str(self.inputs)).replace("SIZE", str(self.size)).split()

    def run(self, line: str, prepare: Callable[[], object] = lambda: None, learn: bool = False) -> int | None:
        """Run a command, and return its exit code."""
        return start(self.arguments(line), self.disk.work, self.log, prepare, learn=learn).wait()

    def run_well(self, line: str, prepare: Callable[[], object] = lambda: None, learn: bool = False) -> None:
        """Run a command that must succeed."""
        if self.run(line, prepare, learn):
            sys.exit(f"{line} failed without a fault: {self.log.read_text()[-2000:]}")

    def set_up(self) -> None:
        """Make the folder as it is before each run: with what the command needs, and an earlier result."""
        for path in self.disk.work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.saved, self.disk.work, dirs_exist_ok=True)

    def observe(self) -> None:
        """Make the earlier result, and run the command without a fault."""
        case, work = self.case, self.disk.work
        shutil.rmtree(self.saved, ignore_errors=True)
        self.saved.mkdir()
        self.set_up()
        for line in filter(None, (case.needs, case.former)):
            self.run_well(line)
        output = self.arguments(case.line)[-1]
        if not case.former and not case.is_empty:
            (work / output).write_text("what was there before\n")
        shutil.copytree(work, self.saved, dirs_exist_ok=True)
        self.before = {name: content_hash(path) for name, path in list_files(work).items()}
        self.run_well(case.line, learn=True)  # also fills the caches
        import_modules(self.log.with_suffix(".modules").read_text().split())
        self.set_up()
        opens = self.log.with_suffix(".opens")
        opens.write_text("")
        self.paths = [Path(os.path.abspath(work / path)) for path in self.arguments(case.inputs)]
        self.run_well(case.line, lambda: record_opens(self.paths, opens))
        self.opens = Counter(opens.read_text().splitlines())
        self.expected, self.need = results(work), self.disk.used()
        self.largest = max(path.stat().st_size for path in list_files(work).values())

    def try_all(self) -> None:
        """Run the command with every fault."""
        disk = self.disk
        for share in SHARES:
            if disk.is_mounted:
                self.attempt("disk full", lambda: disk.fill(int(share * self.need)))  # noqa: B023
            else:
                size = max(2000, int(share * self.largest))  # enough for the messages
                self.attempt("disk full", prepare=partial(limit_files, size))
        is_mounted = disk.is_mounted
        self.attempt("read-only", partial(disk.set_read_only, True), nothing if is_mounted else obey_permissions)
        self.attempt("no permission", partial(disk.work.chmod, READ), obey_permissions)
        for path in self.paths:
            self.attempt("input unreadable", partial(path.chmod, 0), obey_permissions, path)
            for number in range(1, self.opens[str(path)] + 1):
                self.attempt("input vanishes", nothing, partial(fail_at_open, path, number, True), path)
                self.attempt("input error", nothing, partial(fail_at_open, path, number, False), path)

    def attempt(
        self, fault: str, make: Callable[[], object] = lambda: None, prepare: Callable[[], object] = lambda: None,
        path: Path | None = None,
    ) -> None:  # fmt: skip
        """Run the command with a fault, look at what it leaves, mend the fault, and run it again."""
        self.set_up()
        content = path.read_bytes() if path else b""
        make()
        code = self.run(self.case.line, prepare)
        said = self.log.read_text()
        self.disk.mend()
        if path:
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        self.done[fault] += 1
        wrong = list(self.complaints(code, said))
        if self.run(self.case.line):
            wrong.append(f"does not go on: {self.log.read_text()[-600:]}")
        elif different := differences(results(self.disk.work), self.expected):
            wrong.append(f"goes on to another result: {', '.join(different)}")
        self.broken[fault] += bool(wrong)
        for each in wrong:
            self.report.say(f"{self.name}: {fault}: {each}")

    def complaints(self, code: int | None, said: str) -> Iterator[str]:
        """Say what is not as promised after a fault."""
        found = results(self.disk.work)
        if code == 0:  # it did not need what was missing
            if different := differences(found, self.expected):
                yield f"exit code 0, but another result: {', '.join(different)}"
            return
        if code != 2 or not said.startswith("btr: ") or said.count("\n") != 1:
            yield f"exit code {code}: {said[-1500:]}"
        if self.report.options["show"]:
            self.report.say(f"{self.name}: {said.strip()}")
        present = {name: {each, self.expected.get(name)} for name, each in self.before.items() if not is_passing(name)}
        changed = [name for name, allowed in present.items() if found.get(name) not in allowed]
        if lost := [name for name in changed if not is_temporary(Path(name))]:
            yield f"changed what was there: {', '.join(lost)}"
        new = [name for name in found if name not in self.before and not is_passing(name)]
        if half := [name for name in new if found[name] != self.expected.get(name)]:
            yield f"half-written: {', '.join(half)}"


def nothing() -> None:
    """Do nothing."""


def is_passing(name: str) -> bool:
    """Return whether a training run changes this file while it goes on."""
    return bool(set(Path(name).parts) & IN_TRAINING)


def differences(found: dict[str, str], expected: dict[str, str]) -> list[str]:
    """Return the files that are not equal."""
    return sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))


def print_to_full(trials: Trials) -> None:
    """Run the commands that print with a standard output that is full."""

    def redirect() -> None:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)

    for line in PRINTED:
        code = trials.run(line, redirect)
        said = trials.log.read_text()
        trials.done["output full"] += 1
        if code != 2 or not said.startswith("btr: ") or said.count("\n") != 1:
            trials.broken["output full"] += 1
            trials.report.say(f"{line.split()[0]} to a full output: exit code {code}: {said[-1500:]}")


def write_checkpoint(inputs: Path) -> None:
    """Write a checkpoint as fairseq does, for `btr import`."""
    weights = load_file(inputs / "btr" / "model.safetensors")
    weights |= {f"{side}.embed_tokens.weight": weights["shared.weight"] for side in ("encoder", "decoder")}
    model = {f"decoder.model.{name}": weight for name, weight in weights.items()}
    torch.save({"args": Namespace(arch="t5_base", bidirectional_decoder=True), "model": model}, inputs / "best.pt")


def main() -> int:
    """Try all commands, and print a table."""
    report = Report("disk full, no permission, a file that vanishes", size=60, show=0, only=",".join(CASES))
    size, only = int(report.options["size"]), str(report.options["only"]).split(",")
    import_all()
    rows = [f"| | {' | '.join(FAULTS)} | not as promised |", "| --- |" + " --: |" * (len(FAULTS) + 1)]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "inputs").mkdir()
        write_inputs(place / "inputs", size)
        write_checkpoint(place / "inputs")
        disk, every = SmallDisk(place / "disk"), list[Trials]()
        report.say("on a file system of its own" if disk.is_mounted else "without a file system of its own")
        try:
            for name, case in CASES.items():
                if name in only:
                    trials = Trials(name, case, place, disk, size, report)
                    every.append(trials)
                    trials.observe()
                    trials.try_all()
                    numbers = [trials.done[fault] for fault in FAULTS] + [trials.broken.total()]
                    rows.append(f"| {name} | {' | '.join(map(str, numbers))} |")
            print_to_full(every[0])
        finally:
            disk.end()
    report.say("\n".join(rows))
    broken = sum((trials.broken for trials in every), Counter[str]())
    for fault in (*FAULTS, "output full"):
        done = sum(trials.done[fault] for trials in every)
        report.say(f"{fault}: {done} times, {broken[fault]} not as promised")
        report.ratios |= {f"{fault}": done, f"{fault}: not as promised": broken[fault]}
    report.end()
    return int(broken.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
