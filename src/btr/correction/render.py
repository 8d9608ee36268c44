"""The forms in which corrections are shown."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from btr.corpus.m2 import Edit, Sentence, format_m2
from btr.correction.changes import Change, apply_changes

FORMS = "text", "diff", "json", "m2", "alternatives"
REMOVED, ADDED, BOLD, PLAIN = "\033[31;9m", "\033[32m", "\033[1m", "\033[0m"  # what a terminal takes for colours

Record = dict[str, Any]


class Renderer:
    """Writes the records of a corrector in one of the forms, in colour for a terminal."""

    def __init__(self, form: str, colour: bool = False) -> None:
        self.marks = (REMOVED, PLAIN, ADDED, PLAIN) if colour else ("[-", "-]", "{+", "+}")
        self.bold = (BOLD, PLAIN) if colour else ("", "")
        self.write: Callable[[Record], str] = {
            "text": write_text,
            "diff": self.write_diff,
            "json": write_json,
            "m2": write_m2,
            "alternatives": self.write_alternatives,
        }[form]

    def write_diff(self, record: Record) -> str:
        """The text with what was taken out and put in: in colour, or marked as by `git diff --word-diff`."""
        changes = [replace(change, replacement=self.mark(record, change)) for change in changes_of(record)]
        return apply_changes(record["text"], changes, record["start"])

    def mark(self, record: Record, change: Change) -> str:
        old: str = record["text"][change.start - record["start"] : change.end - record["start"]]
        new = change.replacement
        same = next((k for k, (one, other) in enumerate(zip(old, new)) if one != other or not one.isspace()), 0)
        removed = f"{self.marks[0]}{old[same:]}{self.marks[1]}" if old[same:] else ""
        added = f"{self.marks[2]}{new[same:]}{self.marks[3]}" if new[same:] else ""
        return old[:same] + removed + added

    def write_alternatives(self, record: Record) -> str:
        """Each sentence that has any, and its candidates: how sure the reranker is of each, and which was chosen."""
        lines = []
        for sentence in record["sentences"]:
            candidates = {own["text"]: own["f"] for own in sentence.get("candidates", ())}
            if len(candidates) < 2:
                continue
            lines.append(f"{self.bold[0]}{sentence['source']}{self.bold[1]}")
            chosen = sentence["candidates"][sentence["choice"]]["text"]
            for text, f in sorted(candidates.items(), key=lambda item: -item[1]):
                share = f"{f:.2f}" if f else "   –"  # took no part
                lines.append(f"  {'→' if text == chosen else ' '} {share}  {text}")
            lines.append("")
        return "".join(line + "\n" for line in lines)


def write_text(record: Record) -> str:
    """The corrected text."""
    return apply_changes(record["text"], changes_of(record), record["start"])


def write_json(record: Record) -> str:
    """A JSON line for each sentence."""
    return "".join(json.dumps(sentence, ensure_ascii=False) + "\n" for sentence in record["sentences"])


def write_m2(record: Record) -> str:
    """The sentences in M2, their edits typed by ERRANT."""
    lines = []
    for sentence in record["sentences"]:
        if not sentence["source"]:  # too long to be read at all
            continue
        edits = tuple(Edit(start, end, kind, (words,)) for start, end, kind, words in sentence["tokens"])
        lines.append(format_m2(Sentence(sentence["source"], {0: edits})))
    return "".join(lines)


def changes_of(record: Record) -> list[Change]:
    """The changes of a block, in order."""
    return [
        Change(edit["start"], edit["end"], edit["replacement"], (edit["type"],))
        for sentence in record["sentences"]
        for edit in sentence["edits"]
    ]
