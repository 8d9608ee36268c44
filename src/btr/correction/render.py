"""The forms in which corrections are shown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from btr.corpus.candidates import tokens_of
from btr.corpus.m2 import NONE, Edit, Sentence, format_m2
from btr.correction.changes import Change, apply_changes
from btr.correction.records import CandidateView, CorrectedBlock, CorrectedSentence, EditSpan, TokenEdit

FORMS = "text", "diff", "json", "m2", "alternatives"
FORMS_WITH_PROBABILITIES = "json", "alternatives"
REMOVED, ADDED, BOLD, QUIET, PLAIN = "\033[31;9m", "\033[32m", "\033[1m", "\033[2m", "\033[0m"  # terminal escapes


class Renderer:
    """Writes corrected blocks in one of the forms, in colour for a terminal."""

    def __init__(self, form: str, colour: bool = False) -> None:
        self.marks = (REMOVED, PLAIN, ADDED, PLAIN) if colour else ("[-", "-]", "{+", "+}")
        self.bold = (BOLD, PLAIN) if colour else ("", "")
        self.quiet = (QUIET, PLAIN) if colour else ("", "")
        self.write: Callable[[CorrectedBlock], str] = {
            "text": lambda block: block.corrected,
            "diff": self.write_diff,
            "json": write_json,
            "m2": write_m2,
            "alternatives": self.write_alternatives,
        }[form]

    def write_diff(self, block: CorrectedBlock) -> str:
        """Return the text with removed and added words: in colour, or marked as by `git diff --word-diff`."""
        edits = [edit for sentence in block.sentences for edit in sentence.edits]
        changes = [
            replace(change, replacement=self.mark(block, change) + self.reason(edit))
            for change, edit in zip(block.changes, edits)
        ]
        return apply_changes(block.text, changes, block.start)

    def mark(self, block: CorrectedBlock, change: Change) -> str:
        """Return one change with its marks; white space that both sides begin with stays outside."""
        old, new = block.text[change.start - block.start : change.end - block.start], change.replacement
        shared = next((k for k, (one, other) in enumerate(zip(old, new)) if one != other or not one.isspace()), 0)
        removed = f"{self.marks[0]}{old[shared:]}{self.marks[1]}" if old[shared:] else ""
        added = f"{self.marks[2]}{new[shared:]}{self.marks[3]}" if new[shared:] else ""
        return old[:shared] + removed + added

    def reason(self, edit: EditSpan) -> str:
        """Return in brackets what an edit is about, and how sure the judge is of it; nothing if no judge decided."""
        if edit.confidence is None:
            return ""
        return f"{self.quiet[0]}({edit.reason}, {round(100 * edit.confidence)} %){self.quiet[1]}"

    def write_alternatives(self, block: CorrectedBlock) -> str:
        """Return each sentence that has any, its candidates by probability, and which of them was chosen."""
        lines = []
        for sentence in block.sentences:
            if sentence.alternatives is not None:
                lines += self.judged_edits(block, sentence)
                continue
            if sentence.candidates is not None:
                lines += self.ranked_candidates(block, sentence, sentence.candidates)
        return "".join(line + "\n" for line in lines)

    def ranked_candidates(
        self, block: CorrectedBlock, sentence: CorrectedSentence, candidates: Sequence[CandidateView]
    ) -> list[str]:
        """Return a sentence in the user's own words, and what its candidates make of it, by probability.

        Candidates that differ only in what is never changed are one. Those that can't be taken are left out.
        """
        different: dict[tuple[str, ...], CandidateView] = {}
        for k, candidate in enumerate(candidates):
            if candidate.flag is None or k == sentence.index:
                different.setdefault(tokens_of(candidate.text), candidate)
        probabilities: dict[str, float] = {}
        for candidate in different.values():
            text = in_own_words(block, sentence, candidate.edits or ())
            probabilities[text] = probabilities.get(text, 0.0) + candidate.probability
        if len(probabilities) < 2:
            return []
        chosen = in_own_words(block, sentence, sentence.edits)
        lines = [f"{self.bold[0]}{in_own_words(block, sentence, ())}{self.bold[1]}"]
        for text, probability in sorted(probabilities.items(), key=lambda item: -item[1]):
            shown = f"{probability:.2f}" if probability else "   –"  # a candidate that does not compete has 0
            lines.append(f"  {'→' if text == chosen else ' '} {shown}  {text}")
        return [*lines, ""]

    def judged_edits(self, block: CorrectedBlock, sentence: CorrectedSentence) -> list[str]:
        """Return a sentence in the user's own words, and its edits by confidence: first those that were made."""
        if not sentence.edits and not sentence.alternatives:
            return []
        lines = [f"{self.bold[0]}{in_own_words(block, sentence, ())}{self.bold[1]}"]
        for mark, edits in (("→", sentence.edits), (" ", sentence.alternatives or ())):
            for edit in edits:
                sure = "   –" if edit.confidence is None else f"{edit.confidence:.2f}"
                lines.append(f"  {mark} {sure}  {edit.reason}: {show_change(edit)}")
        return [*lines, ""]


def in_own_words(block: CorrectedBlock, sentence: CorrectedSentence, edits: Sequence[EditSpan]) -> str:
    """Return a sentence of the user's text after edits, on one line."""
    text = block.text[sentence.start - block.start : sentence.end - block.start]
    changes = [Change(edit.start, edit.end, edit.replacement) for edit in edits]
    return " ".join(apply_changes(text, changes, sentence.start).split())


def show_change(edit: EditSpan) -> str:
    """Return an edit in words, e.g. have → has."""
    old, new = edit.original.strip(), edit.replacement.strip()
    return f"{old} → {new}" if old and new else f"delete {old}" if old else f"insert {new}"


def write_json(block: CorrectedBlock) -> str:
    """Return one JSON line per sentence."""
    return "".join(json.dumps(sentence.to_dict(), ensure_ascii=False) + "\n" for sentence in block.sentences)


def write_m2(block: CorrectedBlock) -> str:
    """Return the sentences in M2, their edits typed by ERRANT."""
    lines = []
    for sentence in block.sentences:
        if sentence.source:  # a sentence that is too long to be read has none
            edits = tuple(
                Edit(edit.start, edit.end, edit.type, (edit.replacement,), comment=confidence_comment(edit))
                for edit in sentence.tokens
            )
            lines.append(format_m2(Sentence(sentence.source, {0: edits})))
    return "".join(lines)


def confidence_comment(edit: TokenEdit) -> str:
    """Return M2's field for comments, which scorers ignore: how sure the judge is of an edit."""
    return NONE if edit.confidence is None else f"confidence={edit.confidence:.3f}"
