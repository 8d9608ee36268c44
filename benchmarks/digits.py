"""Numbers in real text: how many sentences come back with another one. There should be none.

The sentences are from Wikipedia and from speeches at the United Nations ($BTR_DATA/text): one with a digit from each
paragraph, in a fixed random order. They are corrected with the profile `fluency`, which changes most. With `--every 1`
every edit that any candidate proposes is made, unless a more probable one is in its way (47 edits instead of 10 in 40
sentences); no reranker is asked then. With `--random 1` there is no model at all: random edits are put anywhere, and
made where `btr correct` would let a model make them.

Progress is printed. After an interruption the same command goes on; FILE.part has what is done, one line per sentence.

    BTR_DATA=../shared/data python benchmarks/digits.py [--sentences 5000] [--every 0] [--random 0] [--output FILE]
        [--json]
"""

import gzip
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypedDict

from common import Report, data_folder

from btr.corpus.m2 import Edit
from btr.correction.changes import Change, applicable_edits, apply_changes, to_character_changes
from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.correction.segments import cut_segments, cut_sentences
from btr.errors import InputError, Interrupted
from btr.resume import check_output, write_windows

TEXTS = "wikipedia.txt.gz", "un-debates.txt.gz"
MAX_CHARACTERS = 250
WINDOW = 64  # sentences that are corrected together, and whose results are written at once
RANDOM_WORDS = (
    "",
    "",
    "the",
    "about",
    "seven",
    "12",
    "1.5",
    "-",
    ",",
    "%",
    "$",
    "km",
    "to",
    "s",
    "and the",
    "5 -",
    "/ 6",
)
MAX_KEPT, MAX_REMOVED = 3, 2  # tokens between random edits, and tokens that one removes


class Result(TypedDict):
    """How many edits were made in a sentence; if its numbers have changed, the sentence before and after."""

    edits: int
    changed: list[str]


def sentences_with_numbers(path: Path) -> Iterator[str]:
    """Yield the first sentence with a digit of each paragraph, as the paragraph spaces it."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        paragraphs = file.read().splitlines()
    random.Random(0).shuffle(paragraphs)
    for paragraph in paragraphs:
        for words in cut_sentences(paragraph) if any(map(str.isdigit, paragraph)) else ():
            text = paragraph[words[0].start : words[-1].start + len(words[-1].text)]
            if any(map(str.isdigit, text)) and len(text) <= MAX_CHARACTERS:
                yield text
                break


def load_corrector(every: bool, candidates: int | None = None) -> Corrector:
    """Load the profile `fluency`; to make every edit, without its cut-off and the rerankers, which would only order."""
    corrector = Corrector.from_pretrained(profile="fluency", cutoff=0.0 if every else None, candidates=candidates)
    if every and corrector.judge is not None:
        judges = corrector.judge.judges
        corrector.judge = EditJudge(judges.without(judges.reranker_kinds))
    return corrector


def random_edits(chance: random.Random, size: int) -> list[Edit]:
    """Return edits of a sentence of so many tokens, in order, anywhere and of any kind."""
    edits, start = [], 0
    while (start := start + chance.randint(0, MAX_KEPT)) <= size:
        end = min(size, start + chance.randint(0, MAX_REMOVED))
        words = chance.choice(RANDOM_WORDS)
        if end > start or words:
            edits.append(Edit(start, end, "R:OTHER", (words,)))
        start = end + 1
    return edits


def edit_at_random(text: str, chance: random.Random) -> Result:
    """Make random edits of a sentence, as far as they may be made."""
    changes: list[Change] = []
    for segment in cut_segments(text, str):
        edits = applicable_edits(text, segment.tokens, random_edits(chance, len(segment.tokens)))
        changes += to_character_changes(text, segment.tokens, edits)
    return compare(text, apply_changes(text, changes), len(changes))


def compare(text: str, corrected: str, edits: int) -> Result:
    """Return how many edits were made and, if its numbers have changed, both texts."""
    is_changed = re.findall(r"\d+", text) != re.findall(r"\d+", corrected)
    return {"edits": edits, "changed": [text, corrected] if is_changed else []}


class Progress:
    """Corrects windows of sentences, and prints how many are done and how long the rest will take."""

    def __init__(self, corrector: Corrector, total: int) -> None:
        self.corrector, self.total = corrector, total
        self.done, self.start = 0, time.monotonic()

    def correct(self, window: Sequence[tuple[int, str]]) -> Iterator[str]:
        """Yield a line per sentence."""
        corrections = self.corrector.correct_many([text for _, text in window])
        for (_, text), correction in zip(window, corrections):
            yield json.dumps(compare(text, correction.text, len(correction.edits)))
        self.done += len(window)
        reached, seconds = window[-1][0] + 1, time.monotonic() - self.start
        minutes = (self.total - reached) * seconds / self.done / 60
        rate = self.done / seconds
        print(f"{reached:,} of {self.total:,}; {rate:.1f} per second, {minutes:.0f} minutes left", file=sys.stderr)


def correct_all(texts: Sequence[str], every: bool, output: str) -> list[Result]:
    """Correct the sentences, or those that are not yet corrected."""
    corrector = load_corrector(every)
    header = {"signature": corrector.signature, "sentences": len(texts)}
    write_windows(enumerate(texts), Progress(corrector, len(texts)).correct, output, header, WINDOW, "")
    with open(output, encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, 1, None)]


def main() -> None:
    output = str(Path(tempfile.gettempdir()) / "btr-digits.jsonl")
    report = Report(__doc__ or "", sentences=5000, every=0, random=0, output=output)
    output = report.options["output"]
    check_output(output)
    share = report.options["sentences"] // len(TEXTS)
    folder = data_folder() / "text"
    texts = [text for file in TEXTS for text in islice(sentences_with_numbers(folder / file), share)]
    if report.options["random"]:
        chance = random.Random(0)
        results = [edit_at_random(text, chance) for text in texts]
    else:
        results = correct_all(texts, bool(report.options["every"]), output)
    edits = sum(result["edits"] for result in results)
    changed = [result["changed"] for result in results if result["changed"]]
    for text, correction in changed:
        report.say(f"{text}\n→ {correction}")
    if report.json:
        print(json.dumps({"changed_numbers": len(changed), "edits_per_sentence": edits / max(1, len(results))}))
    else:
        count = len(changed)
        print(f"{len(results):,} sentences with numbers, {edits:,} edits; in {count:,} sentences a number has changed.")


if __name__ == "__main__":
    try:
        main()
    except (InputError, Interrupted) as error:
        sys.exit(str(error))
