"""The jobs of the models: paragraphs to correct, and candidates to score."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, NoReturn

from btr.candidates.engine import Tokens
from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.correction.blocks import Block, cut_blocks
from btr.correction.corrector import BAD, Corrector, Examined, Record, describe, find_edits, place_edits, write_record
from btr.correction.render import write_text
from btr.correction.segments import Segment
from btr.metrics.errant import discard_parses
from btr.rerankers.base import Decision, Reranked
from btr.rerankers.free import Base
from btr.serving.batcher import Finish
from btr.serving.errors import RequestError

WARM_UP = "She have two dog."
MAX_COST = 100_000  # of scoring a row: 6 candidates of 128 tokens, or 100 of 31


class Paragraph(NamedTuple):
    """A block of a text. If `detailed`, the answer has the edits of every candidate, not only of the chosen one."""

    block: Block
    detailed: bool


Job = Paragraph | Candidates


def cut_paragraphs(text: str, markdown: bool, detailed: bool) -> list[Job]:
    """The blocks of a text that have something to correct or to pass through."""
    return [Paragraph(block, detailed) for block in cut_blocks(io.StringIO(text, newline="\n"), markdown)]


def size(job: Job) -> int:
    """Return the number of characters that the models read."""
    if isinstance(job, Candidates):
        return len(job.source) + sum(map(len, job.texts))
    return len(job.block.text) if job.block.prose else 0


class Reading(NamedTuple):
    """Candidates to score, as the base model reads them: the source, and each text that can have a score."""

    row: Candidates
    source: Tokens
    targets: dict[str, Tokens]

    @property
    def cost(self) -> int:
        """The tokens that a reranker reads if it masks each token of each text in turn."""
        return sum(len(tokens) ** 2 for tokens in self.targets.values())


class Worker:
    """Does all that is asked for with one corrector, in batches."""

    def __init__(self, corrector: Corrector) -> None:
        self.corrector = corrector
        self.reranker = corrector.reranker or Base()
        self.rule = replace(corrector.rule, top=None)  # all that are given to score take part
        for finish in self.run(cut_paragraphs(WARM_UP, False, True)):  # what is wrong with the models comes out now
            finish()

    def run(self, items: Sequence[Job]) -> list[Finish[Record]]:
        """Ask the models about all items; for each, a function gives its record, without the models."""
        examined = self.corrector.examine([item.block for item in items if isinstance(item, Paragraph)])
        scored = self.score([item for item in items if isinstance(item, Candidates)])
        try:
            return [
                partial(write, item.detailed, *next(examined)) if isinstance(item, Paragraph) else next(scored)
                for item in items
            ]
        finally:
            self.corrector.see_known.cache_clear()  # users' words

    def score(self, rows: Sequence[Candidates]) -> Iterator[Finish[Record]]:
        """Candidates' scores by the reranker, or by the base model if there is none; what is too much is refused."""
        readings = [self.read(row) for row in rows]
        asked = [k for k, reading in enumerate(readings) if 0 < reading.cost <= MAX_COST]
        scored = dict(zip(asked, self.reranker.score_many([self.ask(readings[k]) for k in asked])))
        for k, reading in enumerate(readings):
            is_too_much = reading.cost > MAX_COST
            yield partial(refuse, reading.cost) if is_too_much else partial(self.decide, reading.row, scored.get(k))

    def read(self, row: Candidates) -> Reading:
        """A row with its tokens. Where the base model's log-probabilities count, only of what it can read."""
        source, *tokens = self.corrector.engine.encode([row.source, *row.texts])
        targets = dict(zip(row.texts, tokens))
        if self.reranker.needs_log_probs:
            most = self.corrector.search.max_length
            targets = {text: own for text, own in targets.items() if max(len(source), len(own)) <= most}
        return Reading(row, source, targets)

    def ask(self, reading: Reading) -> Candidates:
        """What the reranker is to score, with the base model's log-probabilities if they count."""
        row, source, targets = reading
        texts = tuple(text for text in row.texts if text in targets)
        if not self.reranker.needs_log_probs:
            return Candidates(row.source, texts)
        log_probs = self.corrector.engine.log_probs([source] * len(targets), list(targets.values()))
        by_text = dict(zip(targets, log_probs))
        return Candidates(row.source, texts, tuple(by_text[text] for text in texts))

    def decide(self, row: Candidates, scored: Scored | None) -> Record:
        """The scores of a row's candidates, and the decision; where nothing could be scored, none."""
        by_text = dict(zip(scored.candidates, scored.means)) if scored else {}
        # One that needs no log-probabilities is asked about all, and vote adds some of its own.
        candidates = scored.candidates if scored and not self.reranker.needs_log_probs else row.texts
        means = [by_text.get(text) for text in candidates]
        chosen = self.rule.decide(row.source, candidates, means)
        if not self.corrector.reranker:
            chosen = Reranked(0, 0, chosen.f, 0.0, Decision.EQUAL)
        return {
            "candidates": [
                {"text": text, "score": mean, "f": round(f, 6), "competes": f > 0}
                for text, mean, f in zip(candidates, means, chosen.f)
            ],
            **decided(chosen),
        }


def refuse(cost: int) -> NoReturn:
    """Refuse to score what would keep all others waiting."""
    raise RequestError(
        413,
        f"the candidates' lengths in tokens, squared, add up to {cost:,}; this server takes {MAX_COST:,} at a time: "
        "send fewer candidates, or shorter ones.",
    )


def write(detailed: bool, block: Block, found: Sequence[Examined]) -> Record:
    """A paragraph's record, as those of `Corrector.correct_blocks`."""
    with discard_parses():
        sentences = [(detail if detailed else describe)(block, *own) for own in found]
    return write_record(block, sentences)


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
        candidate["competes"] = chosen.f[number] > 0
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
