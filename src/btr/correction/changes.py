"""Edits of tokens as changes of characters: what stands around them stays as the writer put it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from btr.corpus.m2 import Edit
from btr.correction.segments import STAND_IN, Token

BEFORE = frozenset(",.;:!?%)]}…”’-–/")  # what is joined to the word before
AFTER = frozenset("([{$£€#“‘-–/")  # what the word after is joined to
CLITIC = re.compile(r"['’](?:s|m|d|re|ve|ll)|n['’]t|\.\.\.", re.IGNORECASE)
QUOTES = '"', "'"


@dataclass(frozen=True, slots=True)
class Change:
    """Characters `start` to `end` of the text become `replacement`; `types` are those of the edits it is made of."""

    start: int
    end: int
    replacement: str
    types: tuple[str, ...] = ()


def apply(text: str, changes: Sequence[Change], start: int = 0) -> str:
    """The text with its changes, whose places count from `start` characters before it."""
    parts = []
    done = 0
    for change in changes:
        parts += [text[done : change.start - start], change.replacement]
        done = change.end - start
    return "".join([*parts, text[done:]])


def allowed(text: str, tokens: Sequence[Token], edits: Sequence[Edit], marked: bool = False) -> list[Edit]:
    """The edits that may be made: none of what is fixed or unseen, no full stop after a heading or an item."""
    if all(token.fixed for token in tokens):  # nothing that the model could know
        return []
    gone = {k for edit in edits if not edit.corrections[0] for k in range(edit.start, edit.end)}
    return [
        edit
        for edit in edits
        if not any(token.fixed for token in tokens[edit.start : edit.end])
        and not any(gap_before(text, tokens, place).strip() for place in range(edit.start + 1, edit.end))
        and not (STAND_IN in edit.corrections[0].split() and any(token.fixed for token in tokens))
        and not (marked and edit.start == len(tokens) and edit.corrections[0] in (".", "!", "?", ":"))
        and (edit.corrections[0] or not empties(text, tokens, edit, gone))
    ]


def empties(text: str, tokens: Sequence[Token], edit: Edit, gone: set[int]) -> bool:
    """Whether marks that the model did not see would be left with nothing between them, as in `****`."""
    start, end = edit.start, edit.end
    while start - 1 in gone and not gap_before(text, tokens, start).strip():
        start -= 1
    while end in gone and not gap_before(text, tokens, end).strip():
        end += 1
    before = text[tokens[start - 1].end if start else 0 : tokens[start].start]
    after = text[tokens[end - 1].end : tokens[end].start if end < len(tokens) else len(text)]
    return bool(before[-1:].strip() and after[:1].strip())


def gap_before(text: str, tokens: Sequence[Token], place: int) -> str:
    """What stands between a token and the one before it: space, and what the model did not see."""
    return text[tokens[place - 1].end : tokens[place].start] if 0 < place < len(tokens) else ""


def place(text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> list[Change]:
    """The changes of a text that make a sentence's edits, in order. Edits that touch make one, unless a line ends."""
    groups: list[list[Edit]] = []
    for edit in edits:
        gap = gap_before(text, tokens, edit.start)
        if groups and groups[-1][-1].end == edit.start and not gap.strip() and "\n" not in gap:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return [Placing(text, tokens, group).change() for group in groups]


class Placing:
    """Edits that touch: tokens `start` to `end` become new words between a token on the left and one on the right."""

    def __init__(self, text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> None:
        self.text, self.tokens = text, tokens
        self.types = tuple(edit.type for edit in edits)
        self.start, self.end = edits[0].start, edits[-1].end
        self.words = " ".join(edit.corrections[0] for edit in edits).split()
        self.old = [token.seen for token in tokens]
        self.new = [*self.old[: self.start], *self.words, *self.old[self.end :]]
        self.after = self.start + len(self.words)  # where the right token stands in the new sentence

    def change(self) -> Change:
        if not self.words:
            return self.delete()
        return self.insert() if self.start == self.end else self.replace()

    def replace(self) -> Change:
        """Put words in the place of others; the gaps at the sides stay unless the new words ask for other ones."""
        tokens, start, end = self.tokens, self.start, self.end
        first, last = tokens[start].start, tokens[end - 1].end
        written = self.write()
        if start:
            gap = self.text[tokens[start - 1].end : first]
            wanted = self.gap(gap, joins(self.old, start), joins(self.new, start))
            if wanted != gap:
                first, written = tokens[start - 1].end, wanted + written
        if end < len(tokens):
            gap = self.text[last : tokens[end].start]
            wanted = self.gap(gap, joins(self.old, end), joins(self.new, self.after))
            if wanted != gap:
                last, written = tokens[end].start, written + wanted
        return Change(first, last, written, self.types)

    def insert(self) -> Change:
        """Put words between two tokens, beside the one that they are joined to, or before the one on the right."""
        tokens, place, written = self.tokens, self.start, self.write()
        if place == 0:
            here = tokens[0].start
            return Change(here, here, written + ("" if joins(self.new, self.after) else " "), self.types)
        left = tokens[place - 1].end
        is_joined = joins(self.new, place)
        if place == len(tokens):
            return Change(left, left, ("" if is_joined else " ") + written, self.types)
        right = tokens[place].start
        gap = self.text[left:right]
        is_joining = joins(self.new, self.after)
        if is_joined and is_joining and not gap.strip():
            return Change(left, right, written, self.types)
        if is_joined:
            return Change(left, left, written + ("" if gap or is_joining else " "), self.types)
        return Change(right, right, ("" if gap else " ") + written + ("" if is_joining else " "), self.types)

    def delete(self) -> Change:
        """Take words away, and one of the gaps beside them."""
        tokens, start, end = self.tokens, self.start, self.end
        first, last = tokens[start].start, tokens[end - 1].end
        left = tokens[start - 1].end if start else first
        right = tokens[end].start if end < len(tokens) else last
        before, after = self.text[left:first], self.text[last:right]
        if not start or end == len(tokens):  # the gap on the inside goes
            inner = after if not start else before
            return Change(left, right, "", self.types) if not inner.strip() else Change(first, last, "", self.types)
        if before.strip() or after.strip():  # something stands there that is not ours
            return Change(first, right if not after.strip() and before else last, "", self.types)
        kept = next((gap for gap in (before, after) if "\n" in gap), None)
        if kept is None:
            kept = "" if joins(self.new, start) else before or after or " "
        if kept == before:
            return Change(first, right, "", self.types)
        return Change(left, last, "", self.types) if kept == after else Change(left, right, kept, self.types)

    def write(self) -> str:
        """The new words, with spaces where there should be some."""
        parts = []
        for k, word in enumerate(self.words):
            if k and not joins(self.new, self.start + k):
                parts.append(" ")
            parts.append(word)
        return "".join(parts)

    @staticmethod
    def gap(gap: str, joined: bool, joins: bool) -> str:
        """The gap beside new words: as it was, unless they are joined where the old ones were not, or the reverse."""
        if gap.strip() or joined == joins or (joins and "\n" in gap):
            return gap
        return "" if joins else gap or " "


def joins(words: Sequence[str], place: int) -> bool:
    """Whether a word is written together with the one before it."""
    left, right = words[place - 1], words[place]
    if left in QUOTES and words[:place].count(left) % 2:
        return True
    if right in QUOTES:
        return words[:place].count(right) % 2 == 1
    return right in BEFORE or left in AFTER or bool(CLITIC.fullmatch(right))
