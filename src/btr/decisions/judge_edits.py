"""The decision edit by edit: the judge's confidence in each edit, and a cut-off."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from btr.corpus.candidates import PROPOSED, Candidates
from btr.corpus.edits import EditTable
from btr.corpus.scores import Scored
from btr.decisions.decide import Decision, Verdict, decide, is_usable
from btr.decisions.edit_table import choose_edits, edited_text
from btr.decisions.settings import DEFAULT_CUTOFF, Settings


@dataclass(frozen=True, slots=True)
class EditDecision(Decision):
    """A decision that a judge made edit by edit. The probabilities are the base model's own.

    The index is 0 if the text is that of the base candidate (of the source, if that is a runaway); else it is that of
    the candidate with the text. If none has it, the text comes after all candidates. No reranker suggests a candidate:
    the suggestion is the chosen one.
    """

    table: EditTable
    confidences: tuple[float, ...]  # one per edit of the table
    chosen: tuple[int, ...]  # the indices of the edits that are made


def decide_edits(table: EditTable, confidences: Sequence[float], settings: Settings) -> EditDecision:
    """Make the edits that are at least as sure as the cut-off, without conflicts.

    Where no candidate can be aligned with the source, the source stays.
    """
    cutoff = DEFAULT_CUTOFF if settings.cutoff is None else settings.cutoff
    chosen = choose_edits(table, confidences, cutoff, settings.base_edits_only)
    row, text = table.candidates, edited_text(table, chosen)
    index = index_of_text(row, text)
    scores = row.log_probs or (None,) * len(row.texts)
    probabilities = decide(Scored(row, (scores,)), ("base",), Settings(drop_runaways=True)).probabilities
    if index == len(row.texts):
        probabilities = (*probabilities, 0.0)
    verdict = Verdict.ACCEPT if index else Verdict.EQUAL
    margin = probabilities[index] - probabilities[0]
    return EditDecision(
        text, index, verdict, index, probabilities, margin, table, tuple(confidences), tuple(chosen)
    )  # fmt: skip


def index_of_text(row: Candidates, text: str) -> int:
    """Return the index of the candidate with a text's tokens; the number of candidates if there is none.

    The source stands for a base candidate that is a runaway.
    """
    words = text.split()
    if words == (row.texts[0] if is_usable(row, 0) else row.source).split():
        return 0
    usable = (k for k in range(1, len(row.texts)) if is_usable(row, k))
    return next((k for k in usable if row.texts[k].split() == words), len(row.texts))


def with_decided_text(decision: EditDecision) -> Candidates:
    """Return the candidates; the decided text is the last of them if no candidate has it."""
    row = decision.table.candidates
    if decision.index < len(row.texts):
        return row
    flags = {**row.flags, PROPOSED: (*row.flags.get(PROPOSED, ()), decision.index)}
    log_probs = None if row.log_probs is None else (*row.log_probs, None)
    return replace(row, texts=(*row.texts, decision.text), log_probs=log_probs, flags=flags)
