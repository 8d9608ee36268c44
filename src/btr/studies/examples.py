"""Example sentences of the report (the paper's Tables 1 and 28)."""

from collections.abc import Mapping, Sequence

import numpy as np

from btr.corpus.scores import Scored
from btr.metrics.gold import Gold
from btr.rerankers.free import token_edits
from btr.rerankers.table import Setting, Table
from btr.studies.markup import Word
from btr.studies.records import Example, ExampleCandidate

MAX_WORDS = 30  # of an example's source
MAX_CANDIDATES = 3  # of an example that are shown


def choose_examples(gold: Gold, main: str, rerankers: Mapping[str, tuple[Sequence[Scored], Setting]]) -> list[Example]:
    """Return sentences that the main reranker changed: the two that gained most, and the one that lost most.

    Each has its first candidates, with the names of the rerankers that choose them.
    """
    metric = gold.metric
    tables = {name: Table(metric, [rows]) for name, (rows, _) in rerankers.items()}
    choices = {name: tables[name].choose([setting])[0] for name, (_, setting) in rerankers.items()}
    table, chosen = tables[main], choices[main]
    after, before = (table.counts_of(made) for made in (chosen, np.zeros_like(chosen)))
    gains = metric.sentence_scores(after) - metric.sentence_scores(before)
    changed = [
        index
        for index in np.flatnonzero(chosen).tolist()
        if chosen[index] < MAX_CANDIDATES and len(table.rows[index].source.split()) <= MAX_WORDS
    ]
    ranked = sorted(changed, key=lambda index: (-gains[index], len(table.rows[index].source), index))
    picked = [index for index in ranked[:2] if gains[index] > 0] + [index for index in ranked[-1:] if gains[index] < 0]
    return [
        Example(
            table.rows[index].source,
            next(iter(gold.references[index]), None),
            float(gains[index]),
            [
                ExampleCandidate(
                    text, [name for name in tables if tables[name].text(index, choices[name][index]) == text]
                )
                for text in table.rows[index].candidates[:MAX_CANDIDATES]
            ],
        )
        for index in picked
    ]


def mark_corrections(source: str, text: str) -> tuple[Word, ...]:
    """Mark the words of a text that differ from its source; a deleted word marks the one after it."""
    words = text.split()
    corrected = [False] * len(words)
    position = end_before = 0  # in the text and in the source, after the previous edit
    for start, end, correction in token_edits(source, text):
        position += start - end_before
        size = len(correction.split())
        for index in range(position, min(position + max(size, 1), len(words))):
            corrected[index] = True
        position, end_before = position + size, end
    return tuple(map(Word, words, corrected))
