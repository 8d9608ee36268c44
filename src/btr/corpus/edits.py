"""Edit tables: the edits that the candidates of a source make, and what rerankers say of each.

A file of edit tables has a header line that names the rerankers, then one line per source: its candidates, the edits
with the candidates that make them, and one log-odds per reranker. Confidences and decisions are derived and never
stored, so that every judge and every cut-off is a cheap question to the same file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from btr.corpus.candidates import Candidates, check_numbers
from btr.corpus.files import PathLike, read_lines
from btr.corpus.parallel import parse_json
from btr.corpus.scores import Header, parse_header
from btr.errors import InputError
from btr.wording import count_of


class EditKey(NamedTuple):
    """What makes an edit: tokens `start` to `end` of the source become `correction`, which is empty for a deletion."""

    start: int
    end: int
    correction: str


@dataclass(frozen=True, slots=True)
class CandidateEdit:
    """An edit that some candidates make; `type` is ERRANT's.

    `candidates` are the indices of those that make it. `log_odds` has one number per reranker: how much it prefers
    the sentence with the edit to the sentence without it; None where the reranker was not asked or can't tell.
    """

    key: EditKey
    type: str
    candidates: tuple[int, ...]
    log_odds: tuple[float | None, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the edit as files of edit tables have it."""
        record = {**self.key._asdict(), "type": self.type, "candidates": list(self.candidates)}
        return {**record, "log_odds": list(self.log_odds)} if self.log_odds else record

    @classmethod
    def from_dict(cls, record: object, rerankers: int, where: str) -> "CandidateEdit":
        """Check an edit of a file; `where` names the file and the line in errors."""
        values = record if isinstance(record, dict) else {}
        start, end, correction, kind, indices = map(values.get, ("start", "end", "correction", "type", "candidates"))
        if (
            not type(start) is type(end) is int
            or not 0 <= start <= end
            or not isinstance(correction, str)
            or not isinstance(kind, str)
            or not isinstance(indices, list)
            or not all(type(index) is int for index in indices)
        ):
            raise InputError(f"{where}: an edit needs start, end, correction, type and candidates.")
        log_odds = check_numbers(values.get("log_odds", [None] * rerankers), rerankers, f'{where}: "log_odds"')
        return cls(EditKey(start, end, correction), kind, tuple(indices), log_odds or ())


@dataclass(frozen=True, slots=True)
class EditTable:
    """The candidates of a source, and the union of their edits, in the order of the source's tokens.

    `usable` are the indices of the candidates whose edits these are: unique, not empty, and no runaways.
    """

    candidates: Candidates
    usable: tuple[int, ...]
    edits: tuple[CandidateEdit, ...]

    @property
    def words(self) -> list[str]:
        """Return the source's tokens."""
        return self.candidates.source.split()

    def base_edits(self) -> list[EditKey]:
        """Return the edits of the base candidate."""
        return [edit.key for edit in self.edits if 0 in edit.candidates]

    def with_log_odds(self, columns: Sequence[Sequence[float | None]]) -> "EditTable":
        """Return the table with one number per edit from each reranker, and no others."""
        rows = zip(*columns) if columns else ((),) * len(self.edits)
        edits = tuple(replace(edit, log_odds=tuple(row)) for edit, row in zip(self.edits, rows))
        return replace(self, edits=edits)

    def add_log_odds(self, columns: Sequence[Sequence[float | None]]) -> "EditTable":
        """Return the table with one more number per edit from each of some rerankers."""
        known = list(zip(*(edit.log_odds for edit in self.edits)))
        return self.with_log_odds([*known, *columns])

    def to_dict(self) -> dict[str, Any]:
        """Return the record as files of edit tables have it."""
        edits = [edit.to_dict() for edit in self.edits]
        return {**self.candidates.to_dict(), "usable": list(self.usable), "edits": edits}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], rerankers: int, where: str) -> "EditTable":
        """Check a record of a file; `where` names the file and the line in errors."""
        candidates = Candidates.from_dict(record, where)
        usable, edits = record.get("usable"), record.get("edits")
        if not isinstance(edits, list) or not isinstance(usable, list):
            raise InputError(f'{where}: has no "edits"; is this a file of edit tables (btr score --edits)?')
        if not all(type(index) is int and 0 <= index < len(candidates.texts) for index in usable):
            raise InputError(f'{where}: "usable" names a candidate that is not there.')
        checked = tuple(CandidateEdit.from_dict(edit, rerankers, where) for edit in edits)
        words = len(candidates.source.split())
        if any(edit.key.end > words or not set(edit.candidates) <= set(usable) for edit in checked):
            raise InputError(f"{where}: an edit reaches beyond the source or names a candidate that is not there.")
        return cls(candidates, tuple(usable), checked)


def read_edit_tables(path: PathLike) -> tuple[Header, Iterator[EditTable]]:
    """Return the header of a file of edit tables, and a stream of its tables."""
    lines = enumerate(read_lines(path), 1)
    _, first = next(lines, (1, ""))
    record = parse_json(first, path, 1) if first else {}
    if "edits" not in record:
        raise InputError(f"{path}, line 1: is no file of edit tables; write one with 'btr score --edits'.")
    header = parse_header(record, path, is_empty_valid=True)

    def tables() -> Iterator[EditTable]:
        number = 1
        for number, line in lines:
            where = f"{path}, line {number}"
            yield EditTable.from_dict(parse_json(line, path, number), len(header.rerankers), where)
        if record.get("sources") not in (None, number - 1):
            raise InputError(
                f"{path}: has {count_of(number - 1, 'source')}, but its header says {record['sources']}; "
                "was it cut short?"
            )

    return header, tables()


def apply_edits(words: Sequence[str], keys: Sequence[EditKey]) -> str:
    """Return the text that edits make of a source's tokens; they must not overlap."""
    parts: list[str] = []
    position = 0
    for start, end, correction in sorted(keys):
        parts += [*words[position:start], *correction.split()]
        position = end
    return " ".join([*parts, *words[position:]])
