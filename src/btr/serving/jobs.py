"""The jobs of the models: paragraphs to correct, and candidates to score."""

import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

from btr.corpus.candidates import Candidates
from btr.corpus.words import forget_suggestions
from btr.correction.blocks import Block, cut_blocks
from btr.correction.corrector import Corrector
from btr.correction.describe import ExaminedBlock, describe
from btr.correction.given_candidates import score_candidates, scoring_cost
from btr.correction.records import CorrectedBlock
from btr.correction.selection import ScoredCandidates
from btr.metrics.errant import discard_parses
from btr.serving.batcher import Finish
from btr.serving.errors import RequestError

WARM_UP = "She have two dog. She is more taller than me."  # the second makes the judge ask the language model
MAX_COST = 100_000  # of scoring a row: 6 candidates of 128 tokens, or 100 of 31


class Paragraph(NamedTuple):
    """A block of a text to correct. With `candidate_edits`, the result has the edits of every candidate."""

    block: Block
    candidate_edits: bool
    corrector: Corrector


class Part(NamedTuple):
    """Characters `start` to `end` of a text: a paragraph with what follows it and is no prose, as blank lines."""

    start: int
    end: int
    jobs: list["Job"]


Job = Paragraph | Candidates
Result = CorrectedBlock | ScoredCandidates


def cut_paragraphs(text: str, markdown: bool, candidate_edits: bool, corrector: Corrector) -> list[Job]:
    """Return a job for each block of a text."""
    blocks = cut_blocks(io.StringIO(text, newline="\n"), markdown)
    return [Paragraph(block, candidate_edits, corrector) for block in blocks]


def cut_parts(text: str, markdown: bool, corrector: Corrector) -> list[Part]:
    """Cut a text into parts that are streamed one by one; offsets of a part's jobs begin at the part."""
    groups: list[list[Block]] = []
    for block in cut_blocks(io.StringIO(text, newline="\n"), markdown):
        if not groups or (block.prose and any(other.prose for other in groups[-1])):
            groups.append([])
        groups[-1].append(block)
    parts = []
    for group in groups:
        start, end = group[0].start, group[-1].start + len(group[-1].text)
        moved = [block._replace(start=block.start - start) for block in group]
        parts.append(Part(start, end, [Paragraph(block, True, corrector) for block in moved]))
    return parts


def size(job: Job) -> int:
    """Return the number of characters that the models read."""
    if isinstance(job, Candidates):
        return len(job.source) + sum(map(len, job.texts))
    return len(job.block.text) if job.block.prose else 0


class Worker:
    """Runs one corrector, and variants of it, on batches of jobs."""

    def __init__(self, corrector: Corrector) -> None:
        self.corrector = corrector
        for finish in self.run(cut_paragraphs(WARM_UP, False, True, corrector)):
            finish()  # a defect of the models shows before the server starts

    def run(self, jobs: Sequence[Job]) -> list[Finish[Result]]:
        """Run the models on all jobs; return a function per job that computes its result without the models."""
        paragraphs: dict[Corrector, list[Paragraph]] = {}
        for job in jobs:
            if isinstance(job, Paragraph):
                paragraphs.setdefault(job.corrector, []).append(job)
        try:
            examined = {
                corrector: iter(corrector.examine([job.block for job in group]))
                for corrector, group in paragraphs.items()
            }
            scored = self.score([job for job in jobs if isinstance(job, Candidates)])
            return [
                partial(describe_and_forget, next(examined[job.corrector]), job.candidate_edits)
                if isinstance(job, Paragraph)
                else next(scored)
                for job in jobs
            ]
        finally:
            for corrector in {self.corrector, *paragraphs}:
                corrector.forget_words()
            forget_suggestions()

    def score(self, rows: Sequence[Candidates]) -> Iterator[Finish[Result]]:
        """Score the rows that don't cost too much, and refuse the others."""
        costs = [scoring_cost(self.corrector, row) for row in rows]
        affordable = [row for row, cost in zip(rows, costs) if cost <= MAX_COST]
        scored = iter(score_candidates(self.corrector, affordable))
        for cost in costs:
            yield partial(refuse, cost) if cost > MAX_COST else partial(identity, next(scored))


def describe_and_forget(examined: ExaminedBlock, candidate_edits: bool) -> CorrectedBlock:
    """Return a block's corrections; spaCy and ERRANT forget its words."""
    with discard_parses():
        return describe(examined, candidate_edits=candidate_edits)


def identity(scored: ScoredCandidates) -> ScoredCandidates:
    """Return scores as they are: nothing is left to compute."""
    return scored


def refuse(cost: int) -> NoReturn:
    """Refuse to score candidates that would make all other requests wait."""
    raise RequestError(
        413,
        f"the candidates' lengths in tokens, squared, add up to {cost:,}; this server accepts {MAX_COST:,} at a time: "
        "send fewer candidates, or shorter ones.",
    )
