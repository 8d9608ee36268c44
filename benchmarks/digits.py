"""Numbers in real text: how many sentences come back with another digit. There should be none.

The sentences are from Wikipedia and from speeches at the United Nations ($BTR_DATA/text): one with a digit from each
paragraph, in a fixed random order. They are corrected with the profile `fluency`, which changes most.

    BTR_DATA=../shared/data python benchmarks/digits.py [--sentences 5000] [--json]
"""

import gzip
import json
import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from common import Report, data_folder

from btr.correction.corrector import Corrector
from btr.correction.segments import cut_sentences

TEXTS = "wikipedia.txt.gz", "un-debates.txt.gz"
MAX_CHARACTERS = 250
BATCH = 64


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


def main() -> None:
    report = Report(__doc__ or "", sentences=5000)
    share = report.options["sentences"] // len(TEXTS)
    folder = data_folder() / "text"
    texts = [text for file in TEXTS for text in islice(sentences_with_numbers(folder / file), share)]
    corrector = Corrector.from_pretrained(profile="fluency")
    edits = changed = 0
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        for text, correction in zip(batch, corrector.correct_many(batch)):
            edits += len(correction.edits)
            if re.findall(r"\d", text) != re.findall(r"\d", correction.text):
                changed += 1
                report.say(f"{text}\n→ {correction.text}")
    if report.json:
        print(json.dumps({"changed_numbers": changed, "edits_per_sentence": edits / max(1, len(texts))}))
    else:
        print(f"{len(texts):,} sentences with numbers, {edits:,} edits; in {changed:,} sentences a digit has changed.")


if __name__ == "__main__":
    main()
