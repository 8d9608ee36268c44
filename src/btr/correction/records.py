"""What a correction consists of: edits, candidates and sentences. JSON is made of these at files and HTTP only."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from btr.correction.changes import Change, apply_changes
from btr.decisions import Verdict
from btr.records import Record

TOO_LONG, NOT_ENGLISH = "too_long", "not_english"  # why a sentence was skipped


@dataclass(frozen=True, slots=True)
class Replacement(Record):
    """Another replacement for the place of an edit, and how sure the judge is of it."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class EditSpan(Record):
    """Characters `start` to `end` of the whole text become `replacement`; `type` is ERRANT's."""

    start: int
    end: int
    original: str
    replacement: str
    type: str
    confidence: float | None = None  # the probability that the edit is right, if a judge decided
    reason: str | None = None  # the type in words
    explanation: str | None = None  # what the type means
    others: tuple[Replacement, ...] | None = None  # the runners-up for the same characters, the surest first


class TokenEdit(NamedTuple):
    """Tokens `start` to `end` of a sentence become `replacement`; `type` is ERRANT's."""

    start: int
    end: int
    type: str
    replacement: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class CandidateView(Record):
    """A candidate of a sentence as a reader sees it.

    `probability` is f(y|x), 0 for one that does not compete; `flag` says why it can't be taken (runaway, unfinished);
    `edits` are those that make it of the text, if they are wanted.
    """

    text: str
    probability: float
    competes: bool
    log_prob: float | None = None
    flag: str | None = None
    edits: tuple[EditSpan, ...] | None = None


@dataclass(frozen=True, slots=True)
class CorrectedSentence(Record):
    """A sentence, its edits, and the decision behind them. Offsets are characters of the whole text.

    `source` is what the model reads; `tokens` are the edits of its tokens. If the sentence was skipped, `skipped` says
    why, and there is no verdict. Candidates, suggestion and margin are there if probabilities are wanted. Where a judge
    decided, there is no suggestion and no margin: the verdict is `equal` or `accept`, for the base candidate or another
    text, and `alternatives` are the edits that candidates have and that were not made, the surest first.
    """

    start: int
    end: int
    source: str
    edits: tuple[EditSpan, ...] = ()
    tokens: tuple[TokenEdit, ...] = ()
    skipped: str | None = None
    verdict: Verdict | None = None
    index: int | None = None
    suggestion: int | None = None
    margin: float | None = None
    candidates: tuple[CandidateView, ...] | None = None
    alternatives: tuple[EditSpan, ...] | None = None


@dataclass(frozen=True, slots=True)
class CorrectedBlock(Record):
    """A stretch of the text that begins at character `start`, and its sentences."""

    start: int
    text: str
    sentences: tuple[CorrectedSentence, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """Return the changes of all sentences, in order."""
        edits = [edit for sentence in self.sentences for edit in sentence.edits]
        return [Change(edit.start, edit.end, edit.replacement, (edit.type,)) for edit in edits]

    @property
    def corrected(self) -> str:
        """Return the text with all edits applied."""
        return apply_changes(self.text, self.changes, self.start)


@dataclass(frozen=True)
class Correction(Record):
    """A text after correction, with everything that is known of its sentences.

    If there was no time for all of it, `complete` is False, and from character `corrected_until` on the original text
    is as it was.
    """

    text: str
    sentences: tuple[CorrectedSentence, ...] = field(repr=False)
    signature: str
    complete: bool | None = None  # None: it is
    corrected_until: int | None = None

    @property
    def edits(self) -> list[EditSpan]:
        """Return the edits of all sentences, in order."""
        return [edit for sentence in self.sentences for edit in sentence.edits]

    @classmethod
    def join(cls, blocks: Iterable[CorrectedBlock], signature: str) -> "Correction":
        """Put the blocks of a text together."""
        every = list(blocks)
        sentences = tuple(sentence for block in every for sentence in block.sentences)
        return cls("".join(block.corrected for block in every), sentences, signature)
