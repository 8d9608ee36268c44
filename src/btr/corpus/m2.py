"""M2 files: a source sentence, and each annotator's edits of it.

Both dialects are read: CoNLL's (several acceptable corrections separated by `||`, `-NONE-` for none) and BEA's
(`noop` lines for an annotator who changed nothing).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from btr.corpus.files import PathLike, read_lines, writing
from btr.errors import InputError
from btr.wording import count_of

NONE = "-NONE-"
DETECTION_ONLY = frozenset({"Um", "UNK"})


@dataclass(frozen=True, slots=True)
class Edit:
    """Tokens `start` to `end` of the source become any one of `corrections` (the empty string deletes them)."""

    start: int
    end: int
    type: str
    corrections: tuple[str, ...]
    required: str = "REQUIRED"
    comment: str = NONE

    @property
    def operation(self) -> str:
        """Missing, Replacement or Unnecessary, by the first letter of the type or else by the span and correction."""
        letter = self.type[:2]
        if letter not in ("M:", "R:", "U:"):
            letter = "M:" if self.start == self.end else "R:" if self.corrections[0] else "U:"
        return {"M:": "Missing", "R:": "Replacement", "U:": "Unnecessary"}[letter]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A tokenised source and its edits by annotator; an annotator without edits left the source unchanged."""

    source: str
    annotations: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)

    def edits(self, annotator: int) -> tuple[Edit, ...]:
        """Return the annotator's edits; none for an annotator who did not annotate this sentence."""
        return self.annotations.get(annotator, ())

    def corrected(self, annotator: int = 0) -> str:
        """Apply the annotator's edits to the source, each with its first correction.

        Edits that only mark an error (types Um, unclear meaning, and UNK) are skipped. Where two overlap, the later
        in the file overwrites the tokens that it covers: this gives the paper's CoNLL-13 references.
        """
        tokens = self.source.split()
        inserted = ["" for _ in range(len(tokens) + 1)]
        for edit in self.edits(annotator):
            if edit.type in DETECTION_ONLY:
                continue
            if edit.start == edit.end:
                inserted[edit.start] += f" {edit.corrections[0]}"
            else:
                tokens[edit.start : edit.end] = [edit.corrections[0]] + [""] * (edit.end - edit.start - 1)
        return " ".join(" ".join(f"{before} {token}" for before, token in zip(inserted, [*tokens, ""])).split())


def read_m2(path: PathLike) -> Iterator[Sentence]:
    """Stream the sentences of an M2 file."""
    source: str | None = None
    annotations: dict[int, tuple[Edit, ...]] = {}
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}, line {number}"
        if line.startswith("S ") or line == "S":
            if source is not None:
                yield Sentence(source, annotations)
            source, annotations = line[2:], {}
        elif line.startswith("A "):
            if source is None:
                raise InputError(f"{where}: an edit (A) comes before any sentence (S).")
            annotator, edit = _parse_edit(line, len(source.split()), where)
            annotations[annotator] = annotations.get(annotator, ()) + ((edit,) if edit else ())
        elif line.strip():
            raise InputError(f"{where}: expected 'S …', 'A …' or an empty line, found {_quote(line)}; is this M2?")
    if source is None:
        raise InputError(f"{path}: has no sentence; an M2 file has lines 'S …' and 'A …'.")
    yield Sentence(source, annotations)


def _parse_edit(line: str, length: int, where: str) -> tuple[int, Edit | None]:
    """Parse an `A` line; return its annotator, and its edit or None for a noop."""
    fields = line[2:].split("|||")
    if len(fields) != 6:
        raise InputError(
            f"{where}: an edit has 6 fields separated by '|||' (offsets, type, correction, required, comment, "
            f"annotator), found {len(fields)}."
        )
    offsets, kind, correction, required, comment, coder = fields
    if any(field.startswith("|") for field in fields):
        raise InputError(f"{where}: a '|' next to the separator '|||' makes the fields ambiguous.")
    try:
        start, end = map(int, offsets.split())
        annotator = int(coder)
    except ValueError:
        raise InputError(f"{where}: offsets and annotator must be whole numbers, found {_quote(line)}.") from None
    if kind == "noop" or start < 0:
        return annotator, None
    if end < start:
        raise InputError(f"{where}: the edit ends ({end}) before it starts ({start}).")
    if end > length:
        raise InputError(
            f"{where}: the edit reaches token {end}, but the sentence has only {count_of(length, 'token')}."
        )
    corrections = tuple("" if c == NONE else c.strip() for c in correction.split("||"))
    return annotator, Edit(start, end, kind, corrections, required, comment)


def _quote(line: str) -> str:
    return repr(line if len(line) <= 40 else line[:40] + "…")


def write_m2(path: PathLike, sentences: Iterable[Sentence]) -> int:
    """Write an M2 file that reads back to the same sentences; return their number."""
    written = 0
    with writing(path) as file:
        for sentence in sentences:
            written += 1
            file.write(format_m2(sentence))
    return written


def format_m2(sentence: Sentence) -> str:
    """Return a sentence as lines of an M2 file."""
    lines = [f"S {sentence.source}"]
    for annotator, edits in sentence.annotations.items():
        if not edits:
            lines.append(f"A -1 -1|||noop|||{NONE}|||REQUIRED|||{NONE}|||{annotator}")
        for edit in edits:
            fields = (edit.type, _join(edit.corrections), edit.required, edit.comment, str(annotator))
            lines.append("|||".join((f"A {edit.start} {edit.end}", *fields)))
    return "\n".join(lines) + "\n\n"


def _join(corrections: Sequence[str]) -> str:
    """Join alternative corrections by `||`, where an empty one is written as -NONE-."""
    for text in corrections:
        if text == NONE or "||" in text or text[:1] == "|" or text[-1:] == "|":
            raise InputError(f"the correction {text!r} can't be written in M2, where '|' and {NONE} have a meaning.")
    return "||".join(text or NONE for text in corrections) if len(corrections) > 1 else corrections[0]
