"""From candidates to the table of their edits: each candidate is aligned with the source once, on all cores."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from btr.corpus.candidates import SYSTEM, Candidates, tokens_of
from btr.corpus.edits import CandidateEdit, EditKey, EditTable, apply_edits
from btr.corpus.m2 import Edit
from btr.decisions.decide import is_usable
from btr.metrics.errant import extract_many, load_annotator
from btr.pool import parallel_map

CHUNK = 32  # sources that are parsed together
MIN_CHUNKS = 2  # per process; with fewer a further process costs more than it saves
MAX_GAP = 3.0  # a candidate whose log-probability is more than this below the best one's tells nothing


def extract_tables(rows: Sequence[Candidates], processes: int | None = None) -> list[EditTable]:
    """Return the edit table of each source. The result is the same for any number of processes."""
    chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    if len(chunks) > 1:
        load_annotator()  # before processes are forked, so that they share it
    done = parallel_map(extract_chunk, chunks, processes=processes, min_per_process=MIN_CHUNKS)
    return [table for chunk in done for table in chunk]


def extract_chunk(rows: Sequence[Candidates]) -> list[EditTable]:
    """Return the edit tables of a few sources, whose texts are parsed together."""
    usable = [usable_candidates(row) for row in rows]
    pairs = [(row.source, row.texts[index]) for row, indices in zip(rows, usable) for index in indices]
    extracted = iter(extract_many(pairs))
    tables = []
    for row, indices in zip(rows, usable):
        types: dict[EditKey, str] = {}
        makers: dict[EditKey, list[int]] = {}
        aligned = []
        for index in indices:
            edits = next(extracted)
            if edits is None:  # too long for ERRANT
                continue
            aligned.append(index)
            if SYSTEM in row.flags:  # not for a model's own candidates, whose judges were fitted without this
                edits = join_insertions(edits)
            for edit in edits:
                key = EditKey(edit.start, edit.end, edit.corrections[0])
                types.setdefault(key, edit.type)
                makers.setdefault(key, []).append(index)
        union = tuple(CandidateEdit(key, types[key], tuple(makers[key])) for key in sorted(types))
        tables.append(EditTable(row, tuple(aligned), union))
    return tables


def join_insertions(edits: Sequence[Edit]) -> list[Edit]:
    """Return a text's edits with those insertions as one that ERRANT separates though they are at one place.

    As two edits they would be in conflict, since nothing says which comes first.
    """
    joined: list[Edit] = []
    for edit in edits:
        if joined and joined[-1].start == joined[-1].end == edit.start == edit.end:
            last = joined.pop()
            edit = replace(last, corrections=(f"{last.corrections[0]} {edit.corrections[0]}",))
        joined.append(edit)
    return joined


def usable_candidates(candidates: Candidates) -> list[int]:
    """Return the indices of the candidates whose edits count: unique, not empty, no runaways, and probable enough."""
    log_probs = candidates.log_probs
    first: dict[str, int] = {}
    for index, text in enumerate(candidates.texts):
        if text.strip() and is_usable(candidates, index):
            first.setdefault(" ".join(text.split()), index)
    indices = list(first.values())
    if log_probs is None or any(log_probs[index] is None for index in indices):
        return indices
    best = max((log_probs[index] or 0.0 for index in indices), default=0.0)
    return [index for index in indices if (log_probs[index] or 0.0) >= best - MAX_GAP]


def find_voters(table: EditTable) -> list[tuple[int, ...]]:
    """Return for each edit the indices of all candidates that make it, also of those that repeat another's text."""
    tokens = [tokens_of(text) for text in table.candidates.texts]
    by_edit = [{tokens[index] for index in edit.candidates} for edit in table.edits]
    return [tuple(k for k, each in enumerate(tokens) if each in making) for making in by_edit]


def is_in_conflict(one: EditKey, other: EditKey, table: EditTable) -> bool:
    """Return whether two edits can't both be made.

    They can't if they overlap, or are two insertions at one place. If they touch, a candidate must make both: else
    one may do again what the other does, as "dog → the dog" after an inserted "the".
    """
    if max(one.start, other.start) < min(one.end, other.end):
        return True
    inserted, replaced = (one, other) if one.start == one.end else (other, one)
    if inserted.start == inserted.end and replaced.start < inserted.start < replaced.end:
        return True
    if one.end < other.start or other.end < one.start:
        return False
    if one.start == one.end == other.start == other.end:
        return True
    makers = {edit.key: set(edit.candidates) for edit in table.edits if edit.key in (one, other)}
    return not makers.get(one, set()) & makers.get(other, set())


def with_and_without(table: EditTable, key: EditKey) -> tuple[str, str]:
    """Return the sentence with an edit and without it; both have the base candidate's edits that agree with it."""
    others = [base for base in table.base_edits() if base != key and not is_in_conflict(base, key, table)]
    return apply_edits(table.words, [*others, key]), apply_edits(table.words, others)


def choose_edits(
    table: EditTable, confidences: Sequence[float], cutoff: float, is_base_only: bool = False
) -> list[int]:
    """Return the indices of the edits to make, in the order of the source.

    The surest edit comes first, and one that is in conflict with a surer one is left out. With `is_base_only`, only
    the base candidate's edits are made: a filter that can raise precision and never adds an edit.
    """
    order = sorted(range(len(table.edits)), key=lambda k: -confidences[k])
    sure = (k for k in order if confidences[k] >= cutoff)
    return leave_out_conflicts(table, (k for k in sure if not is_base_only or 0 in table.edits[k].candidates))


def leave_out_conflicts(table: EditTable, order: Iterable[int]) -> list[int]:
    """Return indices of edits without those in conflict with an earlier one, in the order of the source."""
    chosen: list[int] = []
    for index in order:
        key = table.edits[index].key
        if not any(is_in_conflict(key, table.edits[k].key, table) for k in chosen):
            chosen.append(index)
    return sorted(chosen)


def edited_text(table: EditTable, indices: Iterable[int]) -> str:
    """Return the text that some of a table's edits make of the source; without any, the source with all its spaces."""
    keys = [table.edits[index].key for index in indices]
    return apply_edits(table.words, keys) if keys else table.candidates.source
