"""Score candidates that somebody else wrote, and decide among them as the corrector does: `/v1/score`."""

from collections.abc import Sequence
from dataclasses import replace

from btr.corpus.candidates import Candidates
from btr.correction.corrector import Corrector
from btr.correction.selection import ScoredCandidates, decide_without_reranker, in_threads, restore, widen
from btr.decisions import competing, decide
from btr.decisions.decide import combine, eligible
from btr.decisions.judge_edits import with_decided_text


def score_candidates(corrector: Corrector, rows: Sequence[Candidates]) -> list[ScoredCandidates]:
    """Score given candidates, and decide among them as `correct` does.

    Where log-probabilities are needed and a row has none, the base model computes them. A candidate that it can't
    read has no score, and then the base candidate stays.
    """
    complete = [with_log_probs(corrector, row) for row in rows]
    if corrector.judge is not None:
        judged = corrector.judge.decide(complete, corrector.settings)
        return [
            ScoredCandidates(row, row.log_probs or (), each)
            for row, each in zip(map(with_decided_text, judged), judged)
        ]
    if corrector.reranker is None:
        decisions = [decide_without_reranker(row, corrector.settings) for row in complete]
        return [ScoredCandidates(row, row.log_probs or (), each) for row, each in zip(complete, decisions)]
    kept = [eligible(row, corrector.settings) for row in complete]
    readable = [[k for k in each if is_readable(corrector, row, k)] for row, each in zip(complete, kept)]
    wanted = [k for k, each in enumerate(readable) if each]
    selected = [complete[k].select(readable[k]) for k in wanted]
    scored = dict(zip(wanted, in_threads(corrector.reranker.score, selected, corrector.threads)))
    results = []
    for k, row in enumerate(complete):
        every = widen(row.select(kept[k]), scored.get(k), len(corrector.reranker.kinds))
        decision = decide(every, corrector.reranker.kinds, corrector.settings)
        combined = combine(
            every.scores, corrector.reranker.kinds, competing(every.candidates, corrector.settings), corrector.settings
        )
        by_text = dict(zip(every.candidates.texts, combined))
        restored, decision = restore(row, kept[k], every.candidates, decision)
        scores = tuple(by_text.get(text) for text in restored.texts)
        results.append(ScoredCandidates(restored, scores, decision))
    return results


def scoring_cost(corrector: Corrector, row: Candidates) -> int:
    """Return how many tokens a reranker reads if it masks each token of each candidate in turn."""
    source, *encoded = corrector.engine.encode([row.source, *row.texts])
    has_log_probs = row.log_probs is not None
    tokens_of = {
        text: tokens
        for index, (text, tokens) in enumerate(zip(row.texts, encoded))
        if (is_readable(corrector, row, index) if has_log_probs else fits(corrector, source, tokens))
    }
    return sum(len(tokens) ** 2 for tokens in tokens_of.values())


def needs_log_probs(corrector: Corrector) -> bool:
    """Return whether the base model's log-probabilities count."""
    return corrector.reranker is None or corrector.reranker.needs_log_probs


def fits(corrector: Corrector, source: Sequence[int], tokens: Sequence[int]) -> bool:
    """Return whether a candidate can have a score: where log-probabilities count, the base model must read it."""
    return not needs_log_probs(corrector) or max(len(source), len(tokens)) <= corrector.decoding.max_length


def is_readable(corrector: Corrector, row: Candidates, index: int) -> bool:
    """Return whether a candidate of a row with log-probabilities can have a score."""
    return row.log_probs is None or not needs_log_probs(corrector) or row.log_probs[index] is not None


def with_log_probs(corrector: Corrector, row: Candidates) -> Candidates:
    """Compute the base model's log-probabilities if they are needed; None where it can't read a candidate."""
    if row.log_probs is not None or not needs_log_probs(corrector):
        return row
    source, *encoded = corrector.engine.encode([row.source, *row.texts])
    targets = {text: tokens for text, tokens in zip(row.texts, encoded) if fits(corrector, source, tokens)}
    values = corrector.engine.log_probs([source] * len(targets), list(targets.values())) if targets else []
    by_text = dict(zip(targets, values))
    return replace(row, log_probs=tuple(by_text.get(text) for text in row.texts))
