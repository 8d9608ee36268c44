"""Scores: what a reranker says of each candidate, before any decision.

A header line names the reranker and its signature and, if it was known, the number of sources; then, a line a source,
each candidate's mean token log-probability and its length. f(y|x), margins and decisions are derived and never stored,
so that every number of candidates (but for contrast's), threshold and ensemble is a cheap question to the same file.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from btr.corpus.files import PathLike, read_lines, writing
from btr.corpus.parallel import parse_json
from btr.errors import InputError


@dataclass(frozen=True, slots=True)
class Scored:
    """A source and its candidates, with each candidate's mean token log-probability and length in tokens.

    A candidate that could not be scored (too long for the model) has no mean.
    """

    source: str
    candidates: tuple[str, ...]
    means: tuple[float | None, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """Which reranker the scores come from."""

    reranker: str
    signature: str


def read_scores(path: PathLike) -> tuple[Header, Iterator[Scored]]:
    """The header of a scores file, and a stream of its scored sources."""
    lines = enumerate(read_lines(path), 1)
    _, first = next(lines, (1, ""))
    row = parse_json(first, path, 1) if first else {}
    if not isinstance(row.get("reranker"), str) or not isinstance(row.get("signature"), str):
        raise InputError(f'{path}, line 1: expected a header with "reranker" and "signature"; is this a scores file?')

    def rows() -> Iterator[Scored]:
        number = 1
        for number, line in lines:
            yield _parse(parse_json(line, path, number), f"{path}, line {number}")
        if row.get("sources") not in (None, number - 1):
            raise InputError(
                f"{path}: has {number - 1} sources, but its header says {row['sources']}; was it cut short?"
            )

    return Header(row["reranker"], row["signature"]), rows()


def _parse(row: dict[str, Any], where: str) -> Scored:
    texts = row.get("candidates")
    if not isinstance(row.get("source"), str) or not isinstance(texts, list):
        raise InputError(f'{where}: expected "source" and "candidates".')
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(f'{where}: "candidates" must be a list of texts, at least one.')
    for name, types in (("means", (int, float, type(None))), ("lengths", (int,))):
        values = row.get(name)
        if not isinstance(values, list) or len(values) != len(texts) or not all(isinstance(v, types) for v in values):
            raise InputError(f'{where}: "{name}" must be a list of {len(texts)} numbers, one a candidate.')
    means = tuple(None if mean is None else float(mean) for mean in row["means"])
    if any(mean is not None and not math.isfinite(mean) for mean in means):
        raise InputError(f'{where}: "means" has a number that is not finite.')
    return Scored(row["source"], tuple(texts), means, tuple(map(int, row["lengths"])))


def write_scores(path: PathLike, header: Header, rows: Iterable[Scored]) -> None:
    """Write a scores file."""
    with writing(path) as file:
        file.write(json.dumps({"reranker": header.reranker, "signature": header.signature}) + "\n")
        file.writelines(json.dumps(to_json(row), ensure_ascii=False) + "\n" for row in rows)


def to_json(row: Scored) -> dict[str, Any]:
    """A row as files have it."""
    return {"source": row.source, "candidates": row.candidates, "means": row.means, "lengths": row.lengths}
