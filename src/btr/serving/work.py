"""What the models are asked for: paragraphs to correct, and candidates to score."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from btr.corpus.candidates import Candidates
from btr.correction.blocks import Block, cut_blocks
from btr.correction.corrector import BAD, Corrector, Examined, Record, describe, find_edits, place_edits
from btr.correction.render import write_text
from btr.correction.segments import Segment
from btr.rerankers.base import Decision, Reranked

WARM_UP = "She have two dog."


class Paragraph(NamedTuple):
    """A block of a text. If `detailed`, every candidate's edits are asked for, not only those of the chosen one."""

    block: Block
    detailed: bool


Item = Paragraph | Candidates


def cut_paragraphs(text: str, markdown: bool, detailed: bool) -> list[Item]:
    """The blocks of a text that have something to correct or to pass through."""
    return [Paragraph(block, detailed) for block in cut_blocks(io.StringIO(text, newline="\n"), markdown)]


def size(item: Item) -> int:
    """Characters of an item that the models read."""
    if isinstance(item, Candidates):
        return len(item.source) + sum(map(len, item.candidates))
    return len(item.block.text) if item.block.prose else 0


class Worker:
    """Does all that is asked for with one corrector, in batches."""

    def __init__(self, corrector: Corrector) -> None:
        self.corrector = corrector
        for finish in self.run(cut_paragraphs(WARM_UP, False, True)):  # what is wrong with the models comes out now
            finish()

    def run(self, items: Sequence[Item]) -> list[Callable[[], Record]]:
        """Ask the models about all items; for each, a function gives its record, without the models."""
        examined = self.corrector.examine([item.block for item in items if isinstance(item, Paragraph)])
        scored = self.score([item for item in items if isinstance(item, Candidates)])
        return [
            partial(write, item.detailed, *next(examined))
            if isinstance(item, Paragraph)
            else partial(dict, next(scored))
            for item in items
        ]

    def score(self, rows: Sequence[Candidates]) -> Iterator[Record]:
        """Candidates' scores by the reranker, or by the base model if there is none; and the decision."""
        rule = replace(self.corrector.rule, top=None)  # all that are given take part
        reranker = self.corrector.reranker
        if reranker and reranker.needs_log_probs:
            rows = [replace(row, log_probs=self.log_probs(row)) for row in rows]
        scores = iter(reranker.score_many(rows) if reranker else ())
        for row in rows:
            if reranker:
                scored = next(scores)
                candidates, means = scored.candidates, scored.means
                chosen = rule.decide(row.source, candidates, means)
            else:
                candidates, means = row.candidates, self.log_probs(row)
                f = rule.decide(row.source, candidates, means).f
                chosen = Reranked(0, 0, f, 0.0, Decision.EQUAL)
            yield {
                "candidates": [
                    {"text": text, "score": mean, "f": round(f, 6), "took_part": f > 0}
                    for text, mean, f in zip(candidates, means, chosen.f)
                ],
                **decided(chosen),
            }

    def log_probs(self, row: Candidates) -> tuple[float | None, ...]:
        """How probable the base model finds each candidate; None if it is longer than the model reads."""
        engine, most = self.corrector.engine, self.corrector.search.max_length
        source, *targets = engine.read([row.source, *row.candidates])
        asked = [k for k, target in enumerate(targets) if max(len(source), len(target)) <= most]
        found = dict(zip(asked, engine.log_probs([source] * len(asked), [targets[k] for k in asked]))) if asked else {}
        return tuple(found.get(k) for k in range(len(targets)))


def write(detailed: bool, block: Block, found: Sequence[Examined]) -> Record:
    """A paragraph's record, as those of `Corrector.correct_blocks`."""
    sentences = [(detail if detailed else describe)(block, *own) for own in found]
    return {"start": block.start, "text": block.text, "sentences": sentences}


def detail(block: Block, segment: Segment, is_known: bool, result: tuple[Record, Reranked]) -> Record:
    """A sentence as in `btr correct --json`, with the reranker's suggestion and the edits that make each candidate.

    Each says whether it took part, since its f is rounded; those that are not to be taken have a flag instead of edits.
    """
    sentence = describe(block, segment, is_known, result)
    record, chosen = result
    if "left" in sentence:
        return sentence
    flags = {number: flag for flag in BAD for number in record.get("flags", {}).get(flag, ())}
    for number, candidate in enumerate(sentence["candidates"]):
        is_chosen = number == chosen.choice
        edits = () if is_chosen else find_edits(block, segment, record, number)
        candidate["edits"] = sentence["edits"] if is_chosen else place_edits(block, segment, edits)
        candidate["took_part"] = chosen.f[number] > 0
        if number in flags:
            candidate["flag"] = flags[number]
    return {**sentence, "suggestion": chosen.suggestion}


def decided(chosen: Reranked) -> Record:
    """A choice among candidates, as in `btr correct --json`, and what the reranker likes best."""
    return {
        "decision": str(chosen.decision),
        "margin": round(chosen.margin, 6),
        "choice": chosen.choice,
        "suggestion": chosen.suggestion,
    }


def join(records: Sequence[Record]) -> Record:
    """A text's paragraphs put together: the corrected text, and all sentences."""
    sentences = [sentence for record in records for sentence in record["sentences"]]
    return {"text": "".join(map(write_text, records)), "sentences": sentences}
