"""The forms in which corrections are shown."""

import json
from collections.abc import Callable
from dataclasses import replace

from btr.corpus.m2 import Edit, Sentence, format_m2
from btr.correction.changes import Change, apply_changes
from btr.correction.records import CandidateView, CorrectedBlock

FORMS = "text", "diff", "json", "m2", "alternatives"
FORMS_WITH_PROBABILITIES = "json", "alternatives"
REMOVED, ADDED, BOLD, PLAIN = "\033[31;9m", "\033[32m", "\033[1m", "\033[0m"  # terminal escapes


class Renderer:
    """Writes corrected blocks in one of the forms, in colour for a terminal."""

    def __init__(self, form: str, colour: bool = False) -> None:
        self.marks = (REMOVED, PLAIN, ADDED, PLAIN) if colour else ("[-", "-]", "{+", "+}")
        self.bold = (BOLD, PLAIN) if colour else ("", "")
        self.write: Callable[[CorrectedBlock], str] = {
            "text": lambda block: block.corrected,
            "diff": self.write_diff,
            "json": write_json,
            "m2": write_m2,
            "alternatives": self.write_alternatives,
        }[form]

    def write_diff(self, block: CorrectedBlock) -> str:
        """Return the text with removed and added words: in colour, or marked as by `git diff --word-diff`."""
        changes = [replace(change, replacement=self.mark(block, change)) for change in block.changes]
        return apply_changes(block.text, changes, block.start)

    def mark(self, block: CorrectedBlock, change: Change) -> str:
        """Return one change with its marks; white space that both sides begin with stays outside."""
        old, new = block.text[change.start - block.start : change.end - block.start], change.replacement
        shared = next((k for k, (one, other) in enumerate(zip(old, new)) if one != other or not one.isspace()), 0)
        removed = f"{self.marks[0]}{old[shared:]}{self.marks[1]}" if old[shared:] else ""
        added = f"{self.marks[2]}{new[shared:]}{self.marks[3]}" if new[shared:] else ""
        return old[:shared] + removed + added

    def write_alternatives(self, block: CorrectedBlock) -> str:
        """Return each sentence that has any, its candidates by probability, and which of them was chosen."""
        lines = []
        for sentence in block.sentences:
            candidates = dict[str, CandidateView]()
            for candidate in sentence.candidates or ():
                candidates.setdefault(candidate.text, candidate)
            if len(candidates) < 2 or sentence.index is None or sentence.candidates is None:
                continue
            lines.append(f"{self.bold[0]}{sentence.source}{self.bold[1]}")
            chosen = sentence.candidates[sentence.index].text
            for text, candidate in sorted(candidates.items(), key=lambda item: -item[1].probability):
                probability = f"{candidate.probability:.2f}" if candidate.competes else "   –"
                lines.append(f"  {'→' if text == chosen else ' '} {probability}  {text}")
            lines.append("")
        return "".join(line + "\n" for line in lines)


def write_json(block: CorrectedBlock) -> str:
    """Return one JSON line per sentence."""
    return "".join(json.dumps(sentence.to_dict(), ensure_ascii=False) + "\n" for sentence in block.sentences)


def write_m2(block: CorrectedBlock) -> str:
    """Return the sentences in M2, their edits typed by ERRANT."""
    lines = []
    for sentence in block.sentences:
        if sentence.source:  # a sentence that is too long to be read has none
            edits = tuple(Edit(edit.start, edit.end, edit.type, (edit.replacement,)) for edit in sentence.tokens)
            lines.append(format_m2(Sentence(sentence.source, {0: edits})))
    return "".join(lines)
