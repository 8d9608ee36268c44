"""Turn edits of tokens into changes of characters; the text around them stays as the writer spaced it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from btr.corpus.m2 import Edit
from btr.corpus.spacing import is_attached
from btr.corpus.word_forms import is_opposite, is_spelling_variant
from btr.corpus.words import needs_capital
from btr.correction.fixed import FixedTokens
from btr.correction.names import respells_name
from btr.correction.segments import MASK, Token

FINAL_PUNCTUATION = ".", "!", "?", ":"


@dataclass(frozen=True, slots=True)
class Change:
    """Characters `start` to `end` of the text become `replacement`; `types` are those of the edits it is made of."""

    start: int
    end: int
    replacement: str
    types: tuple[str, ...] = ()


def apply_changes(text: str, changes: Sequence[Change], start: int = 0) -> str:
    """Apply changes to a text that begins at offset `start` of the text in which their offsets count."""
    parts = []
    end = 0
    for change in changes:
        parts += [text[end : change.start - start], change.replacement]
        end = change.end - start
    return "".join([*parts, text[end:]])


def applicable_edits(
    text: str, tokens: Sequence[Token], edits: Sequence[Edit], is_heading_or_item: bool = False
) -> list[Edit]:
    """Skip edits that touch masked, hidden or fixed text, and those that remove names or words of a dictionary.

    Those that end a heading or a list item with a full stop are skipped, too, and those between British and American
    spelling, or between a word and its opposite.
    """
    masked = [token.is_masked for token in tokens]
    if all(masked):  # nothing that the model could judge
        return []
    fixed = FixedTokens(text, tokens)
    edits = [edit for edit in edits if fixed.allow(edit)]
    deleted = {k for edit in edits if not edit.corrections[0] for k in range(edit.start, edit.end)}
    return [
        edit
        for edit in edits
        if not any(masked[edit.start : edit.end])
        and not any(gap_before(text, tokens, k).strip() for k in range(edit.start + 1, edit.end))
        and not (any(masked) and MASK in edit.corrections[0].split())
        and not (is_heading_or_item and edit.start == len(tokens) and edit.corrections[0] in FINAL_PUNCTUATION)
        and keeps_names(tokens, edit)
        and not (edit.end - edit.start == 1 and is_no_better(tokens[edit.start].text, edit.corrections[0]))
        and not (is_heading_or_item and changes_first_case(tokens, edit, edits))
        and (edit.corrections[0] or not leaves_empty_marks(text, tokens, edit, deleted))
    ]


def keeps_names(tokens: Sequence[Token], edit: Edit) -> bool:
    """Whether the names and the words of a personal dictionary that an edit removes are among those that it adds."""
    removed = (token.text for token in tokens[edit.start : edit.end] if token.is_name or token.is_in_dictionary)
    return Counter(removed) <= Counter(edit.corrections[0].split())


def is_no_better(word: str, correction: str) -> bool:
    """Whether a correction is no better: the other spelling, British or American, a respelt name, or the opposite."""
    return is_spelling_variant(word, correction) or respells_name(word, correction) or is_opposite(word, correction)


def changes_first_case(tokens: Sequence[Token], edit: Edit, edits: Sequence[Edit]) -> bool:
    """Whether an edit changes only the case of a heading's or an item's first letter; names and `i` may get theirs."""
    old, new = " ".join(token.text for token in tokens[edit.start : edit.end]), edit.corrections[0]
    is_first = edit.start == 0 and not any(other.end == 0 for other in edits)
    is_case = old.casefold() == new.casefold() and old != new and old[1:] == new[1:]
    return is_first and is_case and not needs_capital(old)


def leaves_empty_marks(text: str, tokens: Sequence[Token], edit: Edit, deleted: set[int]) -> bool:
    """Whether a deletion, with those beside it, would leave hidden marks with nothing between them, as in `****`."""
    start, end = edit.start, edit.end
    while start - 1 in deleted and not gap_before(text, tokens, start).strip():
        start -= 1
    while end in deleted and not gap_before(text, tokens, end).strip():
        end += 1
    before = text[tokens[start - 1].end if start else 0 : tokens[start].start]
    after = text[tokens[end - 1].end : tokens[end].start if end < len(tokens) else len(text)]
    return bool(before[-1:].strip() and after[:1].strip())


def gap_before(text: str, tokens: Sequence[Token], index: int) -> str:
    """Return the spaces and the hidden text between a token and the one before it."""
    return text[tokens[index - 1].end : tokens[index].start] if 0 < index < len(tokens) else ""


def to_character_changes(text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> list[Change]:
    """Return the changes of characters that make a sentence's edits, in order.

    Adjacent edits become one change, unless hidden text or the end of a line is between them.
    """
    groups: list[list[Edit]] = []
    for edit in edits:
        gap = gap_before(text, tokens, edit.start)
        if groups and groups[-1][-1].end == edit.start and not gap.strip() and "\n" not in gap:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    changes = [AdjacentEdits(text, tokens, group).to_change() for group in groups]
    # Two changes may both take the line end between them: it belongs to the second.
    return [replace(one, end=min(one.end, other.start)) for one, other in pairwise(changes)] + changes[-1:]


class AdjacentEdits:
    """Edits that together replace tokens `start` to `end` by other words."""

    def __init__(self, text: str, tokens: Sequence[Token], edits: Sequence[Edit]) -> None:
        self.text, self.tokens = text, tokens
        self.types = tuple(edit.type for edit in edits)
        self.start, self.end = edits[0].start, edits[-1].end
        self.words = " ".join(edit.corrections[0] for edit in edits).split()
        self.old = [token.text for token in tokens]
        self.new = [*self.old[: self.start], *self.words, *self.old[self.end :]]
        self.new_end = self.start + len(self.words)  # where the words end in the new sentence

    def to_change(self) -> Change:
        if not self.words:
            return self.delete()
        return self.insert() if self.start == self.end else self.replace()

    def replace(self) -> Change:
        """Replace words by others. The gaps beside them stay, unless the new words are spaced otherwise."""
        tokens, start, end = self.tokens, self.start, self.end
        first, last = tokens[start].start, tokens[end - 1].end
        replacement = self.join_words()
        if start:
            gap = self.text[tokens[start - 1].end : first]
            new_gap = adapt_gap(gap, is_attached(self.old, start), is_attached(self.new, start))
            if new_gap != gap:
                first, replacement = tokens[start - 1].end, new_gap + replacement
        if end < len(tokens):
            gap = self.text[last : tokens[end].start]
            new_gap = adapt_gap(gap, is_attached(self.old, end), is_attached(self.new, self.new_end))
            if new_gap != gap:
                last, replacement = tokens[end].start, replacement + new_gap
        return Change(first, last, replacement, self.types)

    def insert(self) -> Change:
        """Insert words after the token on the left if they are attached to it, else before the one on the right."""
        tokens, index, words = self.tokens, self.start, self.join_words()
        if index == 0:
            first = tokens[0].start
            return Change(first, first, words + ("" if is_attached(self.new, self.new_end) else " "), self.types)
        left = tokens[index - 1].end
        is_left_attached = is_attached(self.new, index)
        if index == len(tokens):
            return Change(left, left, ("" if is_left_attached else " ") + words, self.types)
        right = tokens[index].start
        gap = self.text[left:right]
        is_right_attached = is_attached(self.new, self.new_end)
        if is_left_attached and is_right_attached and not gap.strip():
            return Change(left, right, words, self.types)
        if is_left_attached:
            return Change(left, left, words + ("" if gap or is_right_attached else " "), self.types)
        return Change(right, right, ("" if gap else " ") + words + ("" if is_right_attached else " "), self.types)

    def delete(self) -> Change:
        """Delete words together with one of the gaps beside them."""
        tokens, start, end = self.tokens, self.start, self.end
        first, last = tokens[start].start, tokens[end - 1].end
        left = tokens[start - 1].end if start else first
        right = tokens[end].start if end < len(tokens) else last
        before, after = self.text[left:first], self.text[last:right]
        if not start or end == len(tokens):  # there is a gap on one side only
            gap = after if not start else before
            return Change(left, right, "", self.types) if not gap.strip() else Change(first, last, "", self.types)
        if before.strip() or after.strip():  # hidden text, which stays
            return Change(first, right if not after.strip() and before else last, "", self.types)
        remaining = next((gap for gap in (before, after) if "\n" in gap), None)
        if remaining is None:
            remaining = "" if is_attached(self.new, start) else before or after or " "
        if remaining == before:
            return Change(first, right, "", self.types)
        if remaining == after:
            return Change(left, last, "", self.types)
        return Change(left, right, remaining, self.types)

    def join_words(self) -> str:
        """Return the new words with spaces between those that are not attached to each other."""
        gaps = ["" if is_attached(self.new, k) else " " for k in range(self.start + 1, self.new_end)]
        return "".join(gap + word for gap, word in zip(["", *gaps], self.words))


def adapt_gap(gap: str, was_attached: bool, is_attached: bool) -> str:
    """Return a gap beside new words: unchanged, unless only the old or only the new words are attached."""
    if gap.strip() or was_attached == is_attached or (is_attached and "\n" in gap):
        return gap
    return "" if is_attached else gap or " "
