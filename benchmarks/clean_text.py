"""Over-correction: false alarms per 1,000 words on clean native text, the base model alone against the judge.

Nearly every edit of carefully edited native text is a false alarm. The sentences are from Wikipedia and from speeches
at the United Nations ($BTR_DATA/text): finished ones of 8 to 40 words, without signs of lost markup, one per paragraph,
drawn with a fixed seed. (t5gec-small was trained with errors put into UN speeches, so that these are easier for it.)
Unknown words get suggestions, as in `btr correct`; its rule that numbers are never changed is not applied here.
Candidates are written once and their edits scored once; then each cut-off is a cheap question. A cut-off that was
chosen by this must be measured on other sentences: --skip leaves out so many.

    BTR_DATA=../shared/data python benchmarks/clean_text.py [--sentences 1000] [--skip 0] [--json]
"""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from common import Report, data_folder
from rich.console import Console

from btr.candidates.generate import generate_many
from btr.candidates.spelling import add_spellings
from btr.cli.tables import make_table
from btr.corpus.edits import EditTable
from btr.correction import DEFAULT_MODEL
from btr.correction.corrector import Corrector
from btr.correction.segments import cut_sentences
from btr.decisions.edit_table import choose_edits, extract_tables
from btr.decisions.settings import read_profiles
from btr.models.locate import fetch_folder

TEXTS = {"Wikipedia": "wikipedia.txt.gz", "UN speeches": "un-debates.txt.gz"}
CUTOFFS = 0.30, 0.35, 0.40, 0.50, 0.60, 0.65, 0.70
MIN_WORDS, MAX_WORDS = 8, 40
# Brackets and signs of markup, doubled spaces and punctuation, a space before punctuation: something may be missing.
DEBRIS = re.compile(r"[\[\](){}<>|=*_#\\~^]|https?:|www\.|\s\s|\s[.,;:!?]|[,;:]\s*[.,;:]|\.\.|\"\s*\"")
BATCH = 128


@dataclass(frozen=True)
class CleanSentence:
    """A sentence as its tokens, with spaces between them, and how many words it has."""

    tokens: str
    words: int


def is_finished(text: str) -> bool:
    """Return whether a sentence begins with a capital, ends with a full stop, and shows no signs of lost markup."""
    size = len(text.split())
    return text[:1].isupper() and text.endswith(".") and MIN_WORDS <= size <= MAX_WORDS and not DEBRIS.search(text)


def finished_sentences(path: Path, round_trip: Callable[[str], str]) -> Iterator[CleanSentence]:
    """Yield one finished sentence of each paragraph that has one, in a fixed random order.

    Sentences with a word that the model can't write are left out, since it would have to change them.
    """
    with gzip.open(path, "rt", encoding="utf-8") as file:
        paragraphs = file.read().splitlines()
    random.Random(0).shuffle(paragraphs)
    for paragraph in paragraphs:
        if not paragraph[:1].isupper():  # the rest of a sentence
            continue
        for words in cut_sentences(paragraph):
            text = paragraph[words[0].start : words[-1].start + len(words[-1].text)]
            if is_finished(text) and all(round_trip(word.text) == word.text for word in words):
                yield CleanSentence(" ".join(word.text for word in words), len(text.split()))
                break


def count_edits(tables: Sequence[EditTable], confidences: Sequence[Sequence[float]], cutoff: float) -> list[int]:
    """Return how many edits of each sentence are made at a cut-off."""
    return [len(choose_edits(table, values, cutoff)) for table, values in zip(tables, confidences)]


def judged_tables(corrector: Corrector, sentences: Sequence[CleanSentence]) -> list[EditTable]:
    """Write candidates, and score their edits, as `btr correct` does."""
    assert corrector.judge is not None
    tables: list[EditTable] = []
    for start in range(0, len(sentences), BATCH):
        sources = [sentence.tokens for sentence in sentences[start : start + BATCH]]
        rows = generate_many(corrector.engine, sources, corrector.decoding)
        rows = add_spellings(corrector.engine, rows, corrector.decoding.max_length)
        tables += corrector.judge.score(extract_tables(rows))
    return tables


def false_alarms(corrector: Corrector, tables: Sequence[EditTable], cutoffs: Sequence[float]) -> dict[str, list[int]]:
    """Return the edits per sentence by row of the table: base model, judge without and with its rerankers."""
    assert corrector.judge is not None
    judges, kinds = corrector.judge.judges, corrector.judge.kinds
    rows = {"base": [len(table.base_edits()) for table in tables]}
    for count in range(len(kinds) + 1):
        fewer = judges.without(kinds[count:])
        confidences = [fewer.confidences(table, kinds) for table in tables]
        names = " + ".join(fewer.rerankers) or "no model"
        rows |= {f"judge, {names}, {cutoff:.2f}": count_edits(tables, confidences, cutoff) for cutoff in cutoffs}
    return rows


def rates(counts: Sequence[int], sentences: Sequence[CleanSentence], sizes: Sequence[int]) -> list[float]:
    """Return the edits per 1,000 words of each text, then of all."""
    found: list[float] = []
    start = 0
    for size in (*sizes, len(sentences)):
        start = 0 if len(found) == len(sizes) else start
        part = slice(start, start + size)
        found.append(1000 * sum(counts[part]) / max(1, sum(sentence.words for sentence in sentences[part])))
        start += size
    return found


def main() -> None:
    report = Report(__doc__ or "", sentences=1000, skip=0)
    corrector = Corrector.from_pretrained()
    if corrector.note:
        report.say(corrector.note)
    folder = data_folder() / "text"
    share, skipped = (report.options[name] // len(TEXTS) for name in ("sentences", "skip"))
    sentences: list[CleanSentence] = []
    for file in TEXTS.values():
        stream = finished_sentences(folder / file, corrector.round_trip)
        sentences += islice(stream, skipped, skipped + share)
    profiles = read_profiles(fetch_folder(DEFAULT_MODEL))
    shipped = corrector.settings.cutoff
    cutoffs = sorted({*CUTOFFS, *(each.cutoff for each in profiles.values() if each.cutoff is not None)})
    counted = false_alarms(corrector, judged_tables(corrector, sentences), cutoffs)
    rows = {name: rates(counts, sentences, [share] * len(TEXTS)) for name, counts in counted.items()}
    if report.json:
        print(json.dumps({name: values[-1] for name, values in rows.items()}))
        return
    words = sum(sentence.words for sentence in sentences)
    table = make_table("edits per 1,000 words", [*TEXTS, "all", "fewer than base"])
    for name, values in rows.items():
        fewer = f"{100 * (1 - values[-1] / rows['base'][-1]):.0f} %" if name != "base" and rows["base"][-1] else "–"
        table.add_row(name, *(f"{value:.1f}" for value in values), fewer)
    print(f"{len(sentences):,} finished sentences, {words:,} words; the shipped cut-off is {shipped:g}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
