"""N-best lists: a source and a GEC model's candidate corrections of it, the model's own choice first."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from btr.corpus.files import PathLike, read_lines, writing, zip_lines
from btr.corpus.parallel import authors_outputs, parse_json
from btr.errors import InputError


@dataclass(frozen=True, slots=True)
class Candidates:
    """A source, its candidates in the order of rank, and their log-probabilities if known."""

    source: str
    candidates: tuple[str, ...]
    log_probs: tuple[float | None, ...] | None = None  # None for one that the model does not read

    def first(self, top: int | None) -> "Candidates":
        """With the best `top` candidates only."""
        return Candidates(self.source, self.candidates[:top], self.log_probs[:top] if self.log_probs else None)


def is_runaway(source: str, candidate: str) -> bool:
    """Whether a candidate is far longer than its source: more than twice its words plus ten."""
    return len(candidate.split()) > 2 * len(source.split()) + 10


def read_candidates(path: PathLike, lines: Iterable[str] | None = None) -> Iterator[Candidates]:
    """Stream JSON lines, ours (`source`, `candidates`, `log_probs`) or the authors' (`source`, `gec_outputs`).

    Lines that were read from the path already may be given.
    """
    number = 0
    for number, line in enumerate(read_lines(path) if lines is None else lines, 1):
        yield _parse(parse_json(line, path, number), path, number)
    if not number:
        raise InputError(f"{path}: is empty; expected a JSON object with source and candidates a line.")


def _parse(row: dict[str, Any], path: PathLike, number: int) -> Candidates:
    where = f"{path}, line {number}"
    texts: Any
    if "gec_outputs" in row:
        source = row.get("source")
        if not isinstance(source, list) or len(source) != 1 or not isinstance(source[0], str):
            raise InputError(f'{where}: expected "source": ["…"] beside "gec_outputs".')
        texts, log_probs = authors_outputs(row, path, number), None
        source = source[0]
    else:
        source, texts, log_probs = row.get("source"), row.get("candidates"), row.get("log_probs")
        if not isinstance(source, str):
            raise InputError(f'{where}: has no "source"; each line needs a source and its candidates.')
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f'{where}: "candidates" must be a list of texts.')
    if any("\n" in text for text in (source, *texts)):
        raise InputError(f"{where}: a source or candidate has a line break; they are one line each.")
    if not texts:
        raise InputError(f"{where}: has no candidate; at least the base model's own output is needed.")
    if log_probs is not None and (
        not isinstance(log_probs, list)
        or len(log_probs) != len(texts)
        or not all(isinstance(value, int | float) and math.isfinite(value) for value in log_probs)
    ):
        raise InputError(f'{where}: "log_probs" must be a list of {len(texts)} numbers, one a candidate.')
    return Candidates(source, tuple(texts), tuple(map(float, log_probs)) if log_probs is not None else None)


def read_ranks(source: PathLike, ranks: Sequence[PathLike]) -> Iterator[Candidates]:
    """Stream candidates from plain text, one file a rank, beside a file of sources."""
    for line, *candidates in zip_lines([source, *ranks]):
        yield Candidates(line, tuple(candidates))


def write_candidates(path: PathLike, rows: Iterable[Candidates]) -> None:
    """Write our JSON lines."""
    with writing(path) as file:
        for row in rows:
            record: dict[str, Any] = {"source": row.source, "candidates": row.candidates}
            if row.log_probs is not None:
                record["log_probs"] = row.log_probs
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
