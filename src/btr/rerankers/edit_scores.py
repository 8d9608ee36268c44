"""Rerankers as judges of single edits: how much each prefers the sentence with an edit to the one without it."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditTable
from btr.decisions.edit_table import with_and_without
from btr.errors import InputError
from btr.rerankers.base import EditReader, Reranker

Row = TypeVar("Row", Candidates, EditTable)
Result = TypeVar("Result")


class Parallel(Protocol):
    """Applies a function to many sources, e.g. on all cores; the results are in the order of the sources."""

    def __call__(self, work: Callable[[Sequence[Row]], list[Result]], rows: Sequence[Row]) -> list[Result]: ...


def at_once(work: Callable[[Sequence[Row]], list[Result]], rows: Sequence[Row]) -> list[Result]:
    """Apply a function to all sources in one call."""
    return work(rows)


def refuse_list_rerankers(rerankers: Sequence[type[Reranker]]) -> None:
    """Refuse rerankers that can't be asked about sentences that the base model did not write."""
    for each in rerankers:
        if each.needs_log_probs or each.needs_candidates:
            raise InputError(
                f"{each.kind} is about the base model's candidates and can't be asked about a single edit; leave it "
                "out: what candidates make an edit, and how probable they are, is in the edit tables anyway."
            )


def score_edits(
    rerankers: Sequence[Reranker],
    tables: Sequence[EditTable],
    wanted: Sequence[Sequence[bool]] | None = None,
    parallel: Parallel = at_once,
) -> list[EditTable]:
    """Return the tables with the log-odds of each edit, one more per reranker.

    `wanted` says which edits of each table the rerankers are asked about; the others have None. One that reads whole
    candidates is asked about all.
    """
    columns = [
        parallel(member.checked_log_odds, tables)
        if isinstance(member, EditReader)
        else score_column(member, tables, wanted, parallel)
        for member in rerankers
    ]
    return [table.add_log_odds([column[k] for column in columns]) for k, table in enumerate(tables)]


def score_column(
    reranker: Reranker, tables: Sequence[EditTable], wanted: Sequence[Sequence[bool]] | None, parallel: Parallel
) -> list[list[float | None]]:
    """Return one reranker's log-odds of each edit of each table."""
    pairs = [
        [
            with_and_without(table, edit.key) if wanted is None or wanted[k][number] else None
            for number, edit in enumerate(table.edits)
        ]
        for k, table in enumerate(tables)
    ]
    groups = [(k, [pair for pair in each if pair]) for k, each in enumerate(pairs)]
    if reranker.is_relative:  # each pair by itself, so that other edits make no difference
        groups = [(k, [pair]) for k, each in groups for pair in each]
    groups = [(k, each) for k, each in groups if each]
    texts = [tuple(dict.fromkeys(text for pair in each for text in pair)) for _, each in groups]
    rows = [Candidates(tables[k].candidates.source, names) for (k, _), names in zip(groups, texts)]
    by_pair: dict[tuple[int, tuple[str, str]], float | None] = {}
    for (k, each), names, values in zip(groups, texts, parallel(reranker.checked_scores, rows) if rows else []):
        scores = dict(zip(names, values))
        by_pair.update({(k, pair): log_odds(reranker, scores, pair) for pair in each})
    return [[by_pair[k, pair] if pair else None for pair in each] for k, each in enumerate(pairs)]


def log_odds(reranker: Reranker, scores: dict[str, float | None], pair: tuple[str, str]) -> float | None:
    """Return the difference of two sentences' scores; means over tokens are made sums over words first."""
    with_edit, without = (scores[text] for text in pair)
    if with_edit is None or without is None:
        return None
    if reranker.is_mean:
        with_edit, without = (score * (1 + len(text.split())) for score, text in zip((with_edit, without), pair))
    return with_edit - without
