"""Parallel text: references line by line, source and target in two columns, and the authors' JSON lines."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from btr.corpus.files import PathLike, read_lines
from btr.errors import InputError

SURROGATE = re.compile("[\ud800-\udfff]")


def read_tsv(path: PathLike) -> Iterator[tuple[str, str]]:
    """Stream (source, target) pairs from two columns separated by a tab, as in cLang-8."""
    empty = True
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise InputError(
                f"{path}, line {number}: expected source and target separated by one tab, found {len(columns)} columns."
            )
        empty = False
        yield columns[0], columns[1]
    if empty:
        raise InputError(f"{path}: is empty; expected a source and a target per line, separated by a tab.")


def read_references(path: PathLike) -> list[tuple[str, ...]]:
    """Read the references of each sentence: plain text, one per line, or the authors' JSON lines (`gec_outputs`)."""
    references: list[tuple[str, ...]] = []
    in_json = False
    for number, line in enumerate(read_lines(path), 1):
        in_json = in_json or (number == 1 and is_json_lines(path, line))
        references.append(authors_outputs(parse_json(line, path, number), path, number) if in_json else (line,))
    if not references:
        raise InputError(f"{path}: is empty; expected one reference per line.")
    return references


def is_json(line: str) -> bool:
    """Return whether a line is a JSON object, rather than text that happens to start with a brace."""
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return line.lstrip().startswith('{"')  # meant to be a JSON object, but broken


def is_json_lines(path: PathLike, first_line: str) -> bool:
    """Return whether a file has JSON lines: by its name (.jsonl), so that other lines are errors, or by its start."""
    return Path(path).name.removesuffix(".gz").endswith(".jsonl") or is_json(first_line)


def parse_json(line: str, path: PathLike, number: int) -> dict[str, Any]:
    """Parse a line that must be a JSON object."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {number}: not JSON ({error.msg} at column {error.colno}).") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {number}: can't be read as JSON ({error}).") from None
    if "\\ud" in line.lower() and SURROGATE.search(json.dumps(row, ensure_ascii=False)):
        raise InputError(f"{path}, line {number}: has half of a character (a lone surrogate such as \\ud800).")
    if not isinstance(row, dict):
        raise InputError(f"{path}, line {number}: expected a JSON object, found {type(row).__name__}.")
    return row


def authors_outputs(row: dict[str, Any], path: PathLike, number: int) -> tuple[str, ...]:
    """Return the texts in the authors' `{"gec_outputs": [["…"], …]}`."""
    outputs = row.get("gec_outputs")
    if not isinstance(outputs, list) or not all(
        isinstance(output, list) and len(output) == 1 and isinstance(output[0], str) for output in outputs
    ):
        raise InputError(f'{path}, line {number}: expected {{"gec_outputs": [["…"], …]}}, a text in each inner list.')
    return tuple(output[0] for output in outputs)
