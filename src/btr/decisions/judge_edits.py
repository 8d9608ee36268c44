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
    """A decision that a judge made edit by edit.

    The probabilities are the base model's own. If no candidate has the chosen text, it comes after all candidates.
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
    words = text.split()
    index = next((k for k in table.usable if row.texts[k].split() == words), len(row.texts))
    scores = row.log_probs or (None,) * len(row.texts)
    probabilities = decide(Scored(row, (scores,)), ("base",), Settings(drop_runaways=True)).probabilities
    if index == len(row.texts):
        probabilities = (*probabilities, 0.0)
    base = row.texts[0].split() if is_usable(row, 0) else row.source.split()
    verdict = Verdict.EQUAL if words == base else Verdict.ACCEPT
    return EditDecision(
        text, index, verdict, index, probabilities, float(verdict is Verdict.ACCEPT), table, tuple(confidences),
        tuple(chosen),
    )  # fmt: skip


def with_decided_text(decision: EditDecision) -> Candidates:
    """Return the candidates; the decided text is the last of them if no candidate has it."""
    row = decision.table.candidates
    if decision.index < len(row.texts):
        return row
    flags = {**row.flags, PROPOSED: (*row.flags.get(PROPOSED, ()), decision.index)}
    log_probs = None if row.log_probs is None else (*row.log_probs, None)
    return replace(row, texts=(*row.texts, decision.text), log_probs=log_probs, flags=flags)
