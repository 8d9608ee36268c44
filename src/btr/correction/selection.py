"""From all candidates to those that compete and back, and scoring on all cores."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

import torch

from btr.corpus.candidates import Candidates
from btr.corpus.edits import EditTable
from btr.corpus.scores import Scored, Scores
from btr.decisions import Choice, Decision, Settings, competing, decide
from btr.decisions.decide import conclude, eligible
from btr.rerankers.base import Reranker

Row = TypeVar("Row", Candidates, EditTable)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """Candidates with one combined score each, and the decision among them."""

    candidates: Candidates
    scores: Scores
    decision: Decision


def decide_without_reranker(row: Candidates, settings: Settings) -> Decision:
    """Leave the base candidate; the probabilities are the base model's own among the candidates."""
    scores = row.log_probs or (None,) * len(row.texts)
    decision = decide(Scored(row, (scores,)), ("base",), replace(settings, gap=None, weights={}))
    choice = conclude(row, settings, 0, 0.0)
    return Decision(choice.text, choice.index, choice.verdict, 0, decision.probabilities, 0.0)


def restore(
    row: Candidates, kept: Sequence[int], scored: Candidates, decision: Decision
) -> tuple[Candidates, Decision]:
    """Bring a decision among selected candidates back to all; those that a reranker proposed come last."""
    proposed = range(len(kept), len(scored.texts))
    indices = [*kept, *range(len(row.texts), len(row.texts) + len(proposed))]
    probabilities = [0.0] * (len(row.texts) + len(proposed))
    for index, probability in zip(indices, decision.probabilities):
        probabilities[index] = probability
    if proposed:
        row = replace(
            row,
            texts=(*row.texts, *scored.texts[len(kept) :]),
            log_probs=None if row.log_probs is None else (*row.log_probs, *[None] * len(proposed)),
        )
    index, suggestion = indices[decision.index], indices[decision.suggestion]
    return row, replace(decision, index=index, suggestion=suggestion, probabilities=tuple(probabilities))


def widen(row: Candidates, scored: Scored | None, count: int) -> Scored:
    """Return scores of all candidates of a row, None for those that were not scored; `count` is that of rerankers."""
    if scored is None:
        return Scored(row, ((None,) * len(row.texts),) * count)
    if scored.candidates.texts[: len(row.texts)] == row.texts:
        return scored
    columns = [dict(zip(scored.candidates.texts, scores)) for scores in scored.scores]
    return Scored(row, tuple(tuple(column.get(text) for text in row.texts) for column in columns))


def in_threads(work: Callable[[Sequence[Row]], list[Result]], rows: Sequence[Row], threads: int) -> list[Result]:
    """Give each thread sources of its own, of similar lengths; one torch thread each keeps all cores busy."""
    if threads == 1 or len(rows) < threads:
        return work(rows) if rows else []
    sources = [(row.candidates if isinstance(row, EditTable) else row).source for row in rows]
    order = sorted(range(len(rows)), key=lambda k: len(sources[k]))
    ends = list(accumulate(1 + len(sources[k]) for k in order))
    parts = [[k for k, end in zip(order, ends) if (end - 1) * threads // ends[-1] == n] for n in range(threads)]
    before = torch.get_num_threads()
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            done = list(pool.map(work, [[rows[k] for k in part] for part in parts]))
        finally:
            torch.set_num_threads(before)  # what a thread sets is the default of all that begin later
    results = {k: each for part, result in zip(parts, done) for k, each in zip(part, result)}
    return [results[k] for k in range(len(rows))]


def decide_candidates(
    reranker: Reranker, rows: Sequence[Candidates], settings: Settings, threads: int, probabilities: bool
) -> list[tuple[Candidates, Choice]]:  # fmt: skip
    """Choose among the whole candidates of many sources; see `Corrector.decide`."""
    kept = [eligible(row, settings) for row in rows]
    selected = [row.select(indices) for row, indices in zip(rows, kept)]
    contested = [k for k, row in enumerate(selected) if competing(row, settings) not in ([], [0])]
    results: list[tuple[Candidates, Choice]] = [
        restore(row, indices, chosen, decide_without_reranker(chosen, settings))
        for row, indices, chosen in zip(rows, kept, selected)
    ]
    contenders = [selected[k] for k in contested]
    if probabilities:
        for k, scored in zip(contested, in_threads(reranker.score, contenders, threads)):
            decision = decide(scored, reranker.kinds, settings)
            results[k] = restore(rows[k], kept[k], scored.candidates, decision)
        return results
    choices = in_threads(lambda part: reranker.choose(part, settings), contenders, threads)
    for k, choice in zip(contested, choices):
        proposed = choice.index - len(kept[k])  # candidates that a reranker proposed come after all others
        index = kept[k][choice.index] if proposed < 0 else len(rows[k].texts) + proposed
        results[k] = rows[k], replace(choice, index=index)
    return [(row, Choice(choice.text, choice.index, choice.verdict)) for row, choice in results]
