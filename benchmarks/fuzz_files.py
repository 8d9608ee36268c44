"""Random files to the functions and commands that read them (benchmarks/fuzz.py)."""

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

from fuzz_inputs import Attempt, Attempts, BrokenPromiseError, files_like

import btr
from btr.cli import main as run_btr
from btr.corpus import read_pairs
from btr.corpus.candidates import read_candidates, write_candidates
from btr.decisions.judge import read_judges
from btr.decisions.settings import PROFILES_FILE, read_profiles
from btr.errors import InputError
from btr.models.locate import SHIPPED
from btr.studies.plan import read_plan
from btr.training.recipe import read_recipe

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class FileParser:
    """What reads a kind of file: a function, and a command whose last words may be `-o OUTPUT`."""

    file: str  # its name
    examples: list[bytes]
    structure: str  # "lines" of JSON, "object" of JSON or YAML, or neither
    read: Callable[[Path], object]
    command: tuple[str, ...]

    def attempts(self, folder: Path) -> Iterator[Attempt]:
        """Return the inputs, and what is tried with them: one in twenty is for the command."""
        for other in folder.iterdir():
            other.unlink()
        path = folder / self.file
        path.write_bytes(self.examples[0])  # libraries are imported before any input is measured
        if not (self.try_function(path) and self.try_command(path)):
            raise BrokenPromiseError(f"a valid {self.file} is refused")
        calls = [self.try_function] * 19 + [self.try_command]
        strategy = files_like(self.examples, self.structure)
        yield from ((strategy, partial(with_file, path, call)) for call in calls)

    def try_function(self, path: Path) -> bool:
        """Return whether the function accepts a file."""
        try:
            self.read(path)
        except InputError as error:
            if not str(error) or "\n" in str(error):
                raise BrokenPromiseError("the message is not one line") from None
            return False
        return True

    def try_command(self, path: Path) -> bool:
        """Return whether the command accepts a file. Nothing may be left behind where it does not."""
        output = path.parent / "output"
        arguments = [str({"INPUT": path, "OUTPUT": output}.get(word, word)) for word in self.command]
        code, errors = run_command(arguments)
        left = {each.name for each in path.parent.iterdir()} - {path.name}
        for name in left:
            (path.parent / name).unlink()
        if code not in (0, 2) or "Traceback" in errors:
            raise BrokenPromiseError(f"btr {arguments[0]} ends with exit code {code}")
        if code == 2 and (not errors.startswith("btr: ") or errors.count("\n") != 1):
            raise BrokenPromiseError(f"btr {arguments[0]} does not say one sentence")
        if left - ({"output"} if code == 0 else set()):
            raise BrokenPromiseError(f"btr {arguments[0]} leaves {' and '.join(sorted(left))}")
        return code == 0


def with_file(path: Path, call: Callable[[Path], bool], content: bytes) -> bool:
    """Write a file, and return whether it is accepted."""
    path.write_bytes(content)
    return call(path)


def run_command(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it wrote to standard error."""
    errors = io.StringIO()
    own_arguments = patch.object(sys, "argv", ["btr", *arguments])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors), own_arguments:
        try:
            run_btr()
        except SystemExit as end:
            return int(end.code or 0), errors.getvalue()
    return 0, errors.getvalue()


def example(name: str) -> bytes:
    """Return a file of examples/."""
    return (EXAMPLES / name).read_bytes()


def file_parsers(folder: Path) -> Iterator[tuple[str, Attempts]]:
    """Yield the parsers of files. Inputs are written to the folder `input`, and what their commands need beside it."""
    inputs = folder / "input"
    inputs.mkdir()
    write_examples(folder, inputs)
    scores, edits, judge, rows = (
        [(folder / name).read_bytes()] for name in ("scores.jsonl", "edits.jsonl", "judge.json", "rows.jsonl")
    )
    rows.append(example("candidates.jsonl"))
    columns = zip(example("source.txt").splitlines(), example("base.txt").splitlines())
    pairs = [b"".join(b"%s\t%s\n" % each for each in columns)]
    profiles = [(SHIPPED / name / "profiles.json").read_bytes() for name in ("t5gec-small", "btr-small")]
    recipes = [path.read_bytes() for path in sorted((ROOT / "recipes").glob("*/*.yaml"))]
    studies = [path.read_bytes() for path in [EXAMPLES / "study.yaml", *sorted((ROOT / "studies").glob("*.yaml"))]]
    texts = "examples/base.txt examples/second.txt"

    def parser(
        name: str, file: str, examples: list[bytes], structure: str, read: Callable[[Path], object], command: str
    ) -> tuple[str, Attempts]:
        return name, FileParser(file, examples, structure, read, tuple(command.split())).attempts(inputs)

    def clean(path: Path) -> None:
        btr.clean(path, os.devnull)

    def rerank_edits(path: Path) -> None:
        btr.rerank_edits(path, folder / "judge.json")

    yield parser("M2", "in.m2", [example("gold.m2")], "", clean,
                 "evaluate examples/base.txt --gold INPUT --resamples 0")  # fmt: skip
    yield parser("TSV", "in.tsv", pairs, "", lambda path: list(read_pairs(path)),
                 f"combine {texts} --source INPUT -o OUTPUT --processes 1")  # fmt: skip
    yield parser("candidates", "in.jsonl", rows, "lines", lambda path: list(read_candidates(path)),
                 "score INPUT --reranker mbr --reranker base -o OUTPUT")  # fmt: skip
    yield parser("scores", "in.jsonl", scores, "lines", btr.rerank, "rerank INPUT -o OUTPUT --json")
    yield parser("edit tables", "in.jsonl", edits, "lines", rerank_edits,
                 f"rerank INPUT --judge {folder}/judge.json -o OUTPUT")  # fmt: skip
    yield parser("judge.json", "in.json", judge, "object", read_judges,
                 f"rerank {folder}/edits.jsonl --judge INPUT -o OUTPUT")  # fmt: skip
    yield parser("profiles.json", PROFILES_FILE, profiles, "object", lambda path: read_profiles(path.parent),
                 f"rerank {folder}/named.jsonl --profile fluency -o OUTPUT")  # fmt: skip
    yield parser("recipe", "in.yaml", recipes, "object", read_recipe, "train INPUT --dry-run")
    yield parser("study", "in.yaml", studies, "object", read_plan, "study INPUT --dry-run")


def write_examples(folder: Path, model: Path) -> None:
    """Write candidates with log-probabilities, their scores and edit tables, a judge, and scores of a model's."""
    rows = [replace(row, log_probs=tuple(-1.0 - k for k in range(len(row.texts))))
            for row in read_candidates(EXAMPLES / "candidates.jsonl")]  # fmt: skip
    write_candidates(folder / "rows.jsonl", rows)
    with contextlib.redirect_stderr(io.StringIO()):
        btr.score(folder / "rows.jsonl", ["base", "mbr"], folder / "scores.jsonl")
        btr.score(folder / "rows.jsonl", [], folder / "edits.jsonl", edits=True)
    shutil.copy(SHIPPED / "t5gec-small" / "judge.json", folder)
    kind = f'"kind": "btr", "model": {json.dumps(str(model))}'
    scores = (folder / "scores.jsonl").read_text()
    (folder / "named.jsonl").write_text(scores.replace('"kind": "mbr"', kind))
