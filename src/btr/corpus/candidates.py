"""N-best lists: a source and a GEC model's candidate corrections of it; the first is the base candidate."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from btr.corpus.files import PathLike, read_lines, writing
from btr.corpus.parallel import authors_outputs, parse_json
from btr.errors import InputError
from btr.records import is_number

PROPOSED = "proposed"  # the flag of a candidate that a reranker added
SYSTEM = "system"  # the flag of a candidate that is the output of a system of its own


@dataclass(frozen=True, slots=True)
class Candidates:
    """A source, its candidates by rank, and what the base model says of them.

    `log_probs` are the base model's log-probabilities (None for a candidate that it can't read). `flags` name what is
    odd about candidates, by their index: `duplicate` of an earlier one; `empty`, so that the source stands in for it;
    `runaway`, far longer than the source; `unfinished` at the greatest length; `too_long`, a source that was not read;
    `proposed`, by a reranker; `system`, the output of a system of its own (`btr combine`).
    """

    source: str
    texts: tuple[str, ...]
    log_probs: tuple[float | None, ...] | None = None
    flags: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def first(self, top: int | None) -> "Candidates":
        """Return the best `top` candidates only."""
        return self if top is None else self.select(range(min(top, len(self.texts))))

    def select(self, indices: Sequence[int]) -> "Candidates":
        """Return the candidates at these indices, in this order."""
        new = {index: position for position, index in enumerate(indices)}
        flags = {flag: tuple(new[index] for index in flagged if index in new) for flag, flagged in self.flags.items()}
        return Candidates(
            self.source,
            tuple(self.texts[index] for index in indices),
            tuple(self.log_probs[index] for index in indices) if self.log_probs is not None else None,
            {flag: flagged for flag, flagged in flags.items() if flagged},
        )

    def is_flagged(self, index: int, *flags: str) -> bool:
        """Return whether a candidate has any of these flags."""
        return any(index in self.flags.get(flag, ()) for flag in flags)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as candidates files have it."""
        record: dict[str, Any] = {"source": self.source, "candidates": list(self.texts)}
        if self.log_probs is not None:
            record["log_probs"] = list(self.log_probs)
        if self.flags:
            record["flags"] = {flag: list(indices) for flag, indices in self.flags.items()}
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], where: str) -> "Candidates":
        """Check a record of a file; `where` names the file and the line in errors."""
        source, texts = record.get("source"), record.get("candidates")
        if not isinstance(source, str):
            raise InputError(f'{where}: has no "source"; each line needs a source and its candidates.')
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f'{where}: "candidates" must be a list of texts.')
        if any("\n" in text for text in (source, *texts)):
            raise InputError(f"{where}: a source or candidate has a line break; they are one line each.")
        if not texts:
            raise InputError(f"{where}: has no candidate; at least the base model's own output is needed.")
        log_probs = check_numbers(record.get("log_probs"), len(texts), f'{where}: "log_probs"')
        return cls(source, tuple(texts), log_probs, check_flags(record.get("flags"), len(texts), where))


def check_numbers(values: object, count: int, what: str) -> tuple[float | None, ...] | None:
    """Check a list of numbers or nulls, one per candidate; None if there is no list."""
    if values is None:
        return None
    if (
        not isinstance(values, list)
        or len(values) != count
        or not all(value is None or is_number(value) for value in values)
    ):
        raise InputError(f"{what} must be a list of {count} numbers, one per candidate.")
    return tuple(None if value is None else float(value) for value in values)


def check_flags(flags: object, count: int, where: str) -> dict[str, tuple[int, ...]]:
    """Check the flags of a record: lists of candidates' indices by name."""
    if flags is None:
        return {}
    if not isinstance(flags, dict) or not all(
        isinstance(indices, list) and all(type(index) is int and 0 <= index < count for index in indices)
        for indices in flags.values()
    ):
        raise InputError(f'{where}: "flags" must have lists of candidates\' indices, from 0 to {count - 1}.')
    return {flag: tuple(indices) for flag, indices in flags.items() if indices}


def tokens_of(text: str) -> tuple[str, ...]:
    """Return a text's tokens, split at spaces. Texts of equal tokens are duplicates: a model sees no difference."""
    return tuple(text.split())


def is_runaway(source: str, candidate: str) -> bool:
    """Return whether a candidate is far longer than its source: more than twice its words plus ten."""
    return len(candidate.split()) > 2 * len(source.split()) + 10


def read_candidates(path: PathLike, lines: Iterable[str] | None = None) -> Iterator[Candidates]:
    """Stream JSON lines, ours (`source`, `candidates`, `log_probs`) or the authors' (`source`, `gec_outputs`).

    Lines that were read from the path already may be given.
    """
    number = 0
    for number, line in enumerate(read_lines(path) if lines is None else lines, 1):
        record, where = parse_json(line, path, number), f"{path}, line {number}"
        if "gec_outputs" in record:
            source = record.get("source")
            if not isinstance(source, list) or len(source) != 1:
                raise InputError(f'{where}: expected "source": ["…"] beside "gec_outputs".')
            record = {"source": source[0], "candidates": list(authors_outputs(record, path, number))}
        yield Candidates.from_dict(record, where)
    if not number:
        raise InputError(f"{path}: is empty; expected one JSON object per line, with a source and its candidates.")


def write_candidates(path: PathLike, rows: Iterable[Candidates]) -> None:
    """Write a candidates file."""
    with writing(path) as file:
        for row in rows:
            file.write(json.dumps(row.to_dict(), ensure_ascii=False) + "\n")
