"""Scores: what rerankers say of each candidate, before any decision.

A header line names the rerankers and the signature and, if it was known, the number of sources. Then comes one line per
source, with one list of scores per reranker. The base model's log-probabilities travel along. f(y|x), margins and
decisions are derived and never stored, so that every setting is a cheap question to the same file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from btr.corpus.candidates import Candidates, check_numbers
from btr.corpus.files import PathLike, read_lines
from btr.corpus.parallel import parse_json
from btr.errors import InputError
from btr.records import Record
from btr.wording import count_of

Scores = tuple[float | None, ...]  # one per candidate; None for a candidate that could not be scored


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates, and the scores that each reranker gives them."""

    candidates: Candidates
    scores: tuple[Scores, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the record as scores files have it."""
        return {**self.candidates.to_dict(), "scores": [list(scores) for scores in self.scores]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], rerankers: int, where: str) -> "Scored":
        """Check a record of a file; `where` names the file and the line in errors."""
        candidates = Candidates.from_dict(record, where)
        lists = record.get("scores")
        if not isinstance(lists, list) or len(lists) != rerankers or None in lists:
            raise InputError(f'{where}: "scores" must be a list of {rerankers} lists, one per reranker.')
        what = f'{where}: each list of "scores"'
        return cls(candidates, tuple(check_numbers(values, len(candidates.texts), what) or () for values in lists))


@dataclass(frozen=True, slots=True)
class RerankerName(Record):
    """A reranker as a scores file names it: its kind, the model's name if it has one, and its signature."""

    kind: str
    model: str | None
    signature: str

    def __str__(self) -> str:
        return self.kind if self.model is None else f"{self.kind}:{self.model}"


@dataclass(frozen=True, slots=True)
class Header:
    """Which rerankers the scores come from."""

    rerankers: tuple[RerankerName, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the rerankers' kinds, one per list of scores."""
        return tuple(reranker.kind for reranker in self.rerankers)

    @property
    def signature(self) -> str:
        """Return what the scores depend on."""
        return "+".join(reranker.signature for reranker in self.rerankers)


def read_scores(path: PathLike) -> tuple[Header, Iterator[Scored]]:
    """Return the header of a scores file, and a stream of its scored sources."""
    lines = enumerate(read_lines(path), 1)
    _, first = next(lines, (1, ""))
    record = parse_json(first, path, 1) if first else {}
    header = parse_header(record, path)

    def rows() -> Iterator[Scored]:
        number = 1
        for number, line in lines:
            where = f"{path}, line {number}"
            yield Scored.from_dict(parse_json(line, path, number), len(header.rerankers), where)
        if record.get("sources") not in (None, number - 1):
            raise InputError(
                f"{path}: has {count_of(number - 1, 'source')}, but its header says {record['sources']}; "
                "was it cut short?"
            )

    return header, rows()


def parse_header(record: Mapping[str, Any], path: PathLike, *, is_empty_valid: bool = False) -> Header:
    """Check a header; a file of edit tables may have no reranker."""
    try:
        names = tuple(RerankerName(row["kind"], row.get("model"), row["signature"]) for row in record["rerankers"])
        valid = (bool(names) or is_empty_valid) and all(
            isinstance(name.kind, str) and isinstance(name.signature, str) for name in names
        )
        valid = valid and all(isinstance(name.model, str | None) for name in names)
    except (KeyError, TypeError, AttributeError):
        valid = False
    if "edits" in record and not is_empty_valid:
        raise InputError(f"{path}: has edit tables; add --judge JUDGE.json (rerank) or --edits (tune).")
    if not valid:
        raise InputError(f'{path}, line 1: expected a header with "rerankers"; is this a scores file?')
    return Header(names)
