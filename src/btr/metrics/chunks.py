"""The chunks of CLEME: where a hypothesis or an annotator changes a source, and what a change amounts to there.

Edits of the hypothesis and of all annotators that overlap or touch are one chunk, so that corrections with other spans
can be compared: "a apple" → "an apple" and "a" → "an" are the same in the chunk "a apple".
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from btr.corpus.m2 import DETECTION_ONLY, Edit, Sentence

Span = tuple[int, int]
Segment = Sequence[Sequence[str]]  # what may stand in one place: any one of several sequences of words


class Outcomes(NamedTuple):
    """How many chunks are which, against one annotator."""

    hit: int  # changed as the annotator did
    wrong: int  # changed where the annotator did, but otherwise
    under: int  # not changed, though the annotator did
    over: int  # changed, though the annotator did not


def count_outcomes(source: str, proposed: Sequence[Edit], annotators: Sequence[Sequence[Edit]]) -> list[Outcomes]:
    """Count the chunks of a hypothesis, whose edits are `proposed`, against each annotator."""
    words = source.split()
    spans = merge_spans([edit for edits in (proposed, *annotators) for edit in edits])
    return [_count(words, spans, proposed, edits) for edits in annotators]


def _count(words: Sequence[str], spans: Sequence[Span], proposed: Sequence[Edit], gold: Sequence[Edit]) -> Outcomes:
    hit = wrong = under = over = 0
    for span in spans:
        ours, theirs = edits_within(proposed, span), edits_within(gold, span)
        allowed = segments(words, span, theirs)
        if ours and theirs:
            is_hit = matches(apply(words, span, ours), allowed)
            hit, wrong = hit + is_hit, wrong + (not is_hit)
        elif ours:
            over += 1
        elif not matches(words[span[0] : span[1]], allowed):  # an edit that only marks an error asks for no change
            under += 1
    return Outcomes(hit, wrong, under, over)


def merge_spans(edits: Sequence[Edit]) -> list[Span]:
    """Return the spans of the chunks: those of edits, merged where they overlap or touch."""
    spans: list[Span] = []
    for start, end in sorted((edit.start, edit.end) for edit in edits):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans


def edits_within(edits: Sequence[Edit], span: Span) -> list[Edit]:
    """Return the edits of one chunk, in the order of the file."""
    return [edit for edit in edits if span[0] <= edit.start and edit.end <= span[1]]


def apply(words: Sequence[str], span: Span, edits: Sequence[Edit]) -> list[str]:
    """Return the words of a chunk after the edits, each with its first correction."""
    start, end = span
    moved = (Edit(edit.start - start, edit.end - start, edit.type, edit.corrections) for edit in edits)
    return Sentence(" ".join(words[start:end]), {0: tuple(moved)}).corrected().split()


def segments(words: Sequence[str], span: Span, edits: Sequence[Edit]) -> list[Segment]:
    """Return what a chunk may become, place by place; where edits overlap, only what the first corrections give."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    if any(later.start < edit.end for edit, later in pairwise(ordered)):
        return [[apply(words, span, edits)]]
    position, parts = span[0], list[Segment]()
    for edit in ordered:
        kept = words[edit.start : edit.end] if edit.type in DETECTION_ONLY else None
        parts.append([words[position : edit.start]])
        parts.append([kept] if kept is not None else [text.split() for text in edit.corrections])
        position = edit.end
    return [*parts, [words[position : span[1]]]]


def matches(words: Sequence[str], allowed: Sequence[Segment]) -> bool:
    """Return whether words are a choice of one alternative for each segment, in order."""
    ends = {0}
    for segment in allowed:
        ends = {end + len(text) for end in ends for text in segment if list(words[end : end + len(text)]) == list(text)}
    return len(words) in ends
