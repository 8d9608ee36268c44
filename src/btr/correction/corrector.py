"""A base model, a reranker and a rule put together: sentences in, corrections with all that led to them out."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import Any
from unicodedata import normalize

import torch

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine
from btr.candidates.generate import generate_many, load_engine
from btr.corpus.candidates import Candidates
from btr.corpus.m2 import Edit
from btr.corpus.scores import Scored
from btr.correction import MODEL, NONE, RERANKER, as_list
from btr.correction.blocks import Block
from btr.correction.changes import applicable_edits, to_character_changes
from btr.correction.language import is_english, words_for_language_detection
from btr.correction.profiles import Profile, read_profile
from btr.correction.segments import Segment, cut_segments
from btr.errors import InputError
from btr.metrics.errant import extract_edits
from btr.models.int8_layers import can_quantise
from btr.models.load import choose_device, is_t5
from btr.rerankers.base import Decision, Reranked, Reranker, Rule
from btr.rerankers.ensemble import Ensemble
from btr.rerankers.score import WITH_MODEL, load_reranker

MAX_LENGTH = 128  # tokens of a sentence, as in training
LENGTH_PENALTY = 0.0  # by their log-probability itself, which is better on CoNLL-13 than a mean over tokens
KNOWN_WORDS = 100_000  # that are remembered
LONGEST_KNOWN = 40  # characters of such a word
TOO_LONG, FOREIGN = "too_long", "not_english"  # why a sentence was left as it is
BAD = "runaway", "unfinished"  # flags of candidates that are not taken

Record = dict[str, Any]
Examined = tuple[Segment, bool, tuple[Record, Reranked]]  # is it English; its candidates, and the choice


class Corrector:
    """Corrects sentences, many at a time: the engine writes candidates, the reranker scores them, the rule decides.

    Without a reranker the base model's first choice is taken, and f is its own probability among the candidates.
    """

    def __init__(
        self,
        engine: Engine,
        search: DecodingSettings,
        reranker: Reranker | None = None,
        rule: Rule | None = None,
        *,
        gap: float | None = None,
        threads: int = 1,
    ) -> None:
        self.engine, self.search, self.reranker = engine, search, reranker
        self.gap, self.threads = gap, threads
        self.rule = replace(rule or Rule(), drop_runaways=True)
        self.see_known = lru_cache(KNOWN_WORDS)(self.see_new)

    @classmethod
    def load(
        cls,
        model: str = MODEL,
        reranker: str | Sequence[str] = RERANKER,
        *,
        profile: str = "minimal",
        threshold: float | None = None,
        candidates: int | None = None,
        top: int | None = None,
        device: str | None = None,
    ) -> "Corrector":
        """Models by name, and the profile's settings where none are given.

        Several rerankers are one, as in `btr score`; the profile is that of the first that has any.
        On a CPU, all computes in int8, and what becomes of a sentence does not depend on those beside it.
        """
        specs = as_list(reranker)
        if not specs or (NONE in specs and len(specs) > 1):
            raise InputError("name one or more rerankers, or none by itself.")
        with_model = [spec for spec in specs if spec.partition(":")[0] in WITH_MODEL]
        found = [read_profile(own, profile) for own in ([model] if specs == [NONE] else with_model or specs)]
        settings = next((own for own in found if own != Profile()), Profile())
        fast = is_t5(model)
        engine, dtype = ("ctranslate2", "int8") if fast else ("transformers", "float32")
        search = DecodingSettings(
            size=candidates or settings.candidates,
            max_length=MAX_LENGTH,
            early_stopping=fast,
            length_penalty=LENGTH_PENALTY,
        )
        rule = Rule(settings.threshold if threshold is None else threshold, top or settings.top)
        loaded = load_engine(model, engine, dtype=dtype, device=device, by_length=choose_device(device).type == "cpu")
        if specs == [NONE]:
            return cls(loaded, search, None, rule)
        int8 = bool(with_model) and choose_device(device).type == "cpu" and can_quantise()
        own = [load_reranker(spec, device=device, int8=int8) for spec in specs]
        weights = [settings.weight if spec in with_model else 1.0 for spec in specs]
        together = own[0] if len(own) == 1 else Ensemble(own, weights=() if set(weights) == {1.0} else weights)
        return cls(loaded, search, together, rule, gap=settings.gap, threads=torch.get_num_threads() if int8 else 1)

    @property
    def signature(self) -> str:
        """What the corrections depend on."""
        gap = "" if self.gap is None else f"|gap:{self.gap:g}"
        rule = f"|top:{self.rule.top or 'all'}{gap}|threshold:{self.rule.threshold:g}"
        own = f"|{self.reranker.signature}{rule}" if self.reranker else ""
        return f"{self.engine.signature}|{self.search.signature()}{own}"

    def see(self, word: str) -> str:
        """A word as the model reads and writes it; empty if it does not know all its characters."""
        return self.see_known(word) if len(word) <= LONGEST_KNOWN else self.see_new(word)

    def see_new(self, word: str) -> str:
        if word.isascii() and word.isalnum():
            return word
        (text,) = self.engine.decode(self.engine.encode([word]))
        return text if text == normalize("NFKC", word) and len(text.split()) == 1 else ""

    def correct_blocks(self, blocks: Sequence[Block]) -> Iterator[Record]:
        """A record for each block: its text, and its sentences. Sentences of all blocks are batched."""
        for block, found in self.examine(blocks):
            yield write_record(block, [describe(block, *own) for own in found])

    def examine(self, blocks: Sequence[Block]) -> Iterator[tuple[Block, list[Examined]]]:
        """The sentences of each block, with their candidates and the choice among them."""
        segments = [list(cut_segments(block.text, self.see)) if block.prose else [] for block in blocks]
        flat = [segment for own in segments for segment in own]
        words = [
            words_for_language_detection(block.text, segment) for block, own in zip(blocks, segments) for segment in own
        ]
        english = list(map(is_english, words))
        asked = [segment.source if known else "" for segment, known in zip(flat, english)]
        found = iter(zip(flat, english, self.choose(asked)))
        for block, own in zip(blocks, segments):
            yield block, [next(found) for _ in own]

    def choose(self, sources: Sequence[str]) -> Iterator[tuple[Record, Reranked]]:
        """Candidates of each source, as `btr generate` writes them, and the choice among them."""
        yield from self.decide(generate_many(self.engine, sources, self.search))

    def decide(self, records: Sequence[Record]) -> Iterator[tuple[Record, Reranked]]:
        """The choice among candidates that are there."""
        texts = [usable(record, self.gap if self.reranker else None) for record in records]
        means = {k: record.get("log_probs") or [None] for k, record in enumerate(records)}
        if self.reranker:
            rows = {
                k: Candidates(
                    record["source"],
                    tuple(texts[k][number] for number in taking),
                    tuple(record["log_probs"][number] for number in taking) if "log_probs" in record else None,
                )
                for k, record in enumerate(records)
                if len(taking := self.rule.takes_part(record["source"], texts[k])) > 1
            }
            for k, scored in zip(rows, self.score(list(rows.values()))):
                by_text = dict(zip(scored.candidates, scored.means))  # vote may add a candidate of its own
                means[k] = [by_text.get(text) for text in texts[k]]
        for k, record in enumerate(records):
            chosen = self.rule.decide(record["source"], texts[k], means[k])
            yield record, chosen if self.reranker else Reranked(0, 0, chosen.f, 0.0, Decision.EQUAL)

    def score(self, rows: Sequence[Candidates]) -> list[Scored]:
        """The reranker's scores. Each thread has sources of its own, which keeps it busier than a part of every batch.

        Those are of similar lengths: in int8 only rows of one length are batched, and scores depend on no others.
        """
        assert self.reranker
        if self.threads == 1 or len(rows) < self.threads:
            return self.reranker.score_many(rows)
        order = sorted(range(len(rows)), key=lambda k: len(rows[k].source))
        ends = list(accumulate(1 + len(rows[k].source) for k in order))
        parts = [
            [k for k, end in zip(order, ends) if (end - 1) * self.threads // ends[-1] == n] for n in range(self.threads)
        ]
        before = torch.get_num_threads()
        with ThreadPoolExecutor(self.threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            try:
                found = list(pool.map(self.reranker.score_many, [[rows[k] for k in part] for part in parts]))
            finally:
                torch.set_num_threads(before)  # what a thread sets is the default of all that begin later
        scored = {k: own for part, result in zip(parts, found) for k, own in zip(part, result)}
        return [scored[k] for k in range(len(rows))]


def usable(record: Record, gap: float | None = None) -> list[str]:
    """The candidates of a source, with nothing in the place of those that are not to be taken; the first always is.

    Those are flagged, or the base model finds them too improbable beside its first.
    """
    bad = {number for flag in BAD for number in record.get("flags", {}).get(flag, ())}
    log_probs: Sequence[float] = record.get("log_probs") or ()
    if gap is not None:
        bad |= {number for number, own in enumerate(log_probs) if own < log_probs[0] - gap}
    return [text if number == 0 or number not in bad else "" for number, text in enumerate(record["candidates"])]


def write_record(block: Block, sentences: list[Record]) -> Record:
    """A block with its sentences; of one that is longer than a block, the part that begins it stands for all."""
    if block.too_long:
        whole = {"start": block.start, "end": block.start + len(block.text), "source": "", "edits": [], "tokens": []}
        sentences = [{**whole, "left": TOO_LONG}]
    return {"start": block.start, "text": block.text, "sentences": sentences}


def describe(block: Block, segment: Segment, is_known: bool, result: tuple[Record, Reranked]) -> Record:
    """Everything about a sentence that a reader of the JSON may want; places are characters of the whole text."""
    tokens, (record, chosen) = segment.tokens, result
    left = FOREIGN if not is_known else TOO_LONG if record.get("flags", {}).get(TOO_LONG) else None
    edits = find_edits(block, segment, record, chosen.choice) if not left else []
    log_probs = record.get("log_probs") or [None] * len(record["candidates"])
    sentence: Record = {
        "start": block.start + tokens[0].start,
        "end": block.start + tokens[-1].end,
        "source": segment.source,
        "edits": place_edits(block, segment, edits),
        "tokens": [write_edit(edit) for edit in edits],
    }
    if left:
        return {**sentence, "left": left}
    return {
        **sentence,
        "decision": str(chosen.decision),
        "margin": round(chosen.margin, 6),
        "choice": chosen.choice,
        "candidates": [
            {"text": candidate, "f": round(f, 6), "log_prob": log_prob}
            for candidate, f, log_prob in zip(record["candidates"], chosen.f, log_probs)
        ],
    }


def find_edits(block: Block, segment: Segment, record: Record, number: int) -> list[Edit]:
    """The edits of tokens that make a candidate of the sentence; none if it is not one to take."""
    text = record["candidates"][number]
    if not text or any(number in record.get("flags", {}).get(flag, ()) for flag in BAD):
        return []
    return applicable_edits(block.text, segment.tokens, extract_edits(segment.source, text), segment.is_heading_or_item)


def place_edits(block: Block, segment: Segment, edits: Sequence[Edit]) -> list[Record]:
    """Edits of tokens as changes of the whole text's characters."""
    return [
        {
            "start": block.start + change.start,
            "end": block.start + change.end,
            "original": block.text[change.start : change.end],
            "replacement": change.replacement,
            "type": "+".join(change.types),
        }
        for change in to_character_changes(block.text, segment.tokens, edits)
    ]


def write_edit(edit: Edit) -> list[Any]:
    """An edit of tokens, as short as JSON allows: from, to, type, new words."""
    return [edit.start, edit.end, edit.type, edit.corrections[0]]
