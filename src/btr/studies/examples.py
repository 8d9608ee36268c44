"""Example sentences of the report (the paper's Tables 1 and 28)."""

from collections.abc import Mapping

import numpy as np

from btr.decisions.grid import DecisionGrid
from btr.decisions.settings import Settings
from btr.metrics.gold import Gold
from btr.rerankers.model_free import word_edits
from btr.studies.markup import Word
from btr.studies.records import Example, ExampleCandidate

MAX_WORDS = 30  # of an example's source
MAX_CANDIDATES = 3  # of an example that are shown


def choose_examples(gold: Gold, main: str, rerankers: Mapping[str, tuple[DecisionGrid, Settings]]) -> list[Example]:
    """Return sentences that the main reranker changed: the two that gained most, and the one that lost most.

    Each has its first candidates, with the names of the rerankers that choose them.
    """
    metric = gold.metric
    choices = {name: grid.choose([settings])[0] for name, (grid, settings) in rerankers.items()}
    texts = {name: grid.texts(choices[name]) for name, (grid, _) in rerankers.items()}
    grid, chosen = rerankers[main][0], choices[main]
    after, before = (grid.counts_of(indices) for indices in (chosen, np.zeros_like(chosen)))
    gains = metric.sentence_scores(after) - metric.sentence_scores(before)
    rows = [row.candidates for row in grid.rows]
    changed = [
        number
        for number in np.flatnonzero(grid.accepted(chosen)).tolist()
        if chosen[number] < MAX_CANDIDATES and len(rows[number].source.split()) <= MAX_WORDS
    ]
    ranked = sorted(changed, key=lambda number: (-gains[number], len(rows[number].source), number))
    picked = [number for number in ranked[:2] if gains[number] > 0]
    picked += [number for number in ranked[-1:] if gains[number] < 0]
    return [
        Example(
            rows[number].source,
            next(iter(gold.references[number]), None),
            float(gains[number]),
            [
                ExampleCandidate(text, [name for name in rerankers if texts[name][number] == text])
                for text in rows[number].texts[:MAX_CANDIDATES]
            ],
        )
        for number in picked
    ]


def mark_corrections(source: str, text: str) -> tuple[Word, ...]:
    """Mark the words of a text that differ from its source; a deleted word marks the one after it."""
    words = text.split()
    corrected = [False] * len(words)
    position = end_before = 0  # in the text and in the source, after the previous edit
    for start, end, correction in word_edits(source, text):
        position += start - end_before
        size = len(correction.split())
        for index in range(position, min(position + max(size, 1), len(words))):
            corrected[index] = True
        position, end_before = position + size, end
    return tuple(map(Word, words, corrected))
