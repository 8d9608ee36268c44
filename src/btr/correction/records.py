"""What a correction consists of: edits, candidates and sentences. JSON is made of these at files and HTTP only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from btr.corpus.m2 import Edit
from btr.correction.changes import Change, apply_changes
from btr.decisions import Verdict

TOO_LONG, NOT_ENGLISH = "too_long", "not_english"  # why a sentence was skipped
DIGITS = 6  # of probabilities and margins in JSON


@dataclass(frozen=True, slots=True)
class EditSpan:
    """Characters `start` to `end` of the whole text become `replacement`; `type` is ERRANT's."""

    start: int
    end: int
    original: str
    replacement: str
    type: str


@dataclass(frozen=True, slots=True)
class CandidateView:
    """A candidate of a sentence as a reader sees it.

    `probability` is f(y|x), 0 for one that does not compete; `flag` says why it can't be taken (runaway, unfinished);
    `edits` are those that make it of the text, if they were asked for.
    """

    text: str
    probability: float
    log_prob: float | None
    competes: bool
    flag: str | None = None
    edits: tuple[EditSpan, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as JSON has it."""
        record: dict[str, Any] = {
            "text": self.text,
            "probability": round(self.probability, DIGITS),
            "log_prob": self.log_prob,
            "competes": self.competes,
        }
        if self.flag is not None:
            record["flag"] = self.flag
        if self.edits is not None:
            record["edits"] = [asdict(edit) for edit in self.edits]
        return record


@dataclass(frozen=True, slots=True)
class CorrectedSentence:
    """A sentence, its edits, and the decision behind them. Offsets are characters of the whole text.

    `source` is what the model reads; `tokens` are the edits of its tokens. If the sentence was skipped, `skipped` says
    why. Candidates, margin and suggestion are there if probabilities were asked for.
    """

    start: int
    end: int
    source: str
    edits: tuple[EditSpan, ...] = ()
    tokens: tuple[Edit, ...] = ()
    skipped: str | None = None
    verdict: Verdict = Verdict.EQUAL
    index: int = 0
    suggestion: int | None = None
    margin: float | None = None
    candidates: tuple[CandidateView, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence as JSON has it."""
        record: dict[str, Any] = {
            "start": self.start,
            "end": self.end,
            "source": self.source,
            "edits": [asdict(edit) for edit in self.edits],
            "tokens": [[edit.start, edit.end, edit.type, edit.corrections[0]] for edit in self.tokens],
        }
        if self.skipped is not None:
            return {**record, "skipped": self.skipped}
        record |= {"verdict": self.verdict.value, "index": self.index}
        if self.margin is not None:
            record |= {"suggestion": self.suggestion, "margin": round(self.margin, DIGITS)}
            record["candidates"] = [candidate.to_dict() for candidate in self.candidates]
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "CorrectedSentence":
        """Return the sentence of a record that `to_dict` made."""
        return cls(
            record["start"],
            record["end"],
            record["source"],
            tuple(EditSpan(**edit) for edit in record["edits"]),
            tuple(Edit(start, end, type_, (words,)) for start, end, type_, words in record["tokens"]),
            record.get("skipped"),
            Verdict(record.get("verdict", Verdict.EQUAL)),
            record.get("index", 0),
            record.get("suggestion"),
            record.get("margin"),
            tuple(CandidateView(**candidate) for candidate in record.get("candidates", ())),
        )


@dataclass(frozen=True, slots=True)
class CorrectedBlock:
    """A stretch of the text that begins at character `start`, and its sentences."""

    start: int
    text: str
    sentences: tuple[CorrectedSentence, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """Return the changes of all sentences, in order."""
        return [
            Change(edit.start, edit.end, edit.replacement, (edit.type,))
            for sentence in self.sentences
            for edit in sentence.edits
        ]

    @property
    def corrected(self) -> str:
        """Return the text with all edits applied."""
        return apply_changes(self.text, self.changes, self.start)

    def to_dict(self) -> dict[str, Any]:
        """Return the block as the records of an unfinished run have it."""
        return {"start": self.start, "text": self.text, "sentences": [each.to_dict() for each in self.sentences]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "CorrectedBlock":
        """Return the block of a record that `to_dict` made."""
        sentences = tuple(CorrectedSentence.from_dict(sentence) for sentence in record["sentences"])
        return cls(record["start"], record["text"], sentences)


@dataclass(frozen=True)
class Correction:
    """A text after correction, with everything that is known of its sentences."""

    text: str
    sentences: tuple[CorrectedSentence, ...] = field(repr=False)
    signature: str

    @property
    def edits(self) -> list[EditSpan]:
        """Return the edits of all sentences, in order."""
        return [edit for sentence in self.sentences for edit in sentence.edits]

    @classmethod
    def join(cls, blocks: Iterable[CorrectedBlock], signature: str) -> "Correction":
        """Put the blocks of a text together."""
        every: Sequence[CorrectedBlock] = list(blocks)
        sentences = tuple(sentence for block in every for sentence in block.sentences)
        return cls("".join(block.corrected for block in every), sentences, signature)

    def to_dict(self) -> dict[str, Any]:
        """Return the correction as JSON has it."""
        sentences = [sentence.to_dict() for sentence in self.sentences]
        return {"text": self.text, "sentences": sentences, "signature": self.signature}
