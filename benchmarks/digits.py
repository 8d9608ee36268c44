"""Numbers in real text: how many sentences come back with another digit. There should be none.

The sentences are from Wikipedia and from speeches at the United Nations ($BTR_DATA/text): one with a digit from each
paragraph, in a fixed random order. They are corrected with the profile `fluency`, which changes most. With `--every 1`
every edit that any candidate proposes is made, unless a more probable one is in its way (47 edits instead of 10 in 40
sentences); no reranker is asked then.

Progress is printed. After an interruption the same command goes on; FILE.part has what is done, one line per sentence.

    BTR_DATA=../shared/data python benchmarks/digits.py [--sentences 5000] [--every 0] [--output FILE] [--json]
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

from common import Report, data_folder

from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.correction.segments import cut_sentences
from btr.errors import InputError, Interrupted
from btr.resume import check_output, write_windows

TEXTS = "wikipedia.txt.gz", "un-debates.txt.gz"
MAX_CHARACTERS = 250
WINDOW = 64  # sentences that are corrected together, and whose results are written at once


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


class Progress:
    """Corrects windows of sentences, and prints how many are done and how long the rest will take."""

    def __init__(self, corrector: Corrector, total: int) -> None:
        self.corrector, self.total = corrector, total
        self.done, self.start = 0, time.monotonic()

    def correct(self, window: Sequence[tuple[int, str]]) -> Iterator[str]:
        """Yield a line per sentence: how many edits were made and, if its digits have changed, both texts."""
        corrections = self.corrector.correct_many([text for _, text in window])
        for (_, text), correction in zip(window, corrections):
            is_changed = re.findall(r"\d", text) != re.findall(r"\d", correction.text)
            yield json.dumps({"edits": len(correction.edits), "changed": [text, correction.text] if is_changed else []})
        self.done += len(window)
        reached, seconds = window[-1][0] + 1, time.monotonic() - self.start
        minutes = (self.total - reached) * seconds / self.done / 60
        rate = self.done / seconds
        print(f"{reached:,} of {self.total:,}; {rate:.1f} per second, {minutes:.0f} minutes left", file=sys.stderr)


def main() -> None:
    output = str(Path(tempfile.gettempdir()) / "btr-digits.jsonl")
    report = Report(__doc__ or "", sentences=5000, every=0, output=output)
    output = report.options["output"]
    check_output(output)
    share = report.options["sentences"] // len(TEXTS)
    folder = data_folder() / "text"
    texts = [text for file in TEXTS for text in islice(sentences_with_numbers(folder / file), share)]
    corrector = load_corrector(bool(report.options["every"]))
    header = {"signature": corrector.signature, "sentences": len(texts)}
    write_windows(enumerate(texts), Progress(corrector, len(texts)).correct, output, header, WINDOW, "")
    with open(output, encoding="utf-8") as file:
        results = [json.loads(line) for line in islice(file, 1, None)]
    edits = sum(result["edits"] for result in results)
    changed = [result["changed"] for result in results if result["changed"]]
    for text, correction in changed:
        report.say(f"{text}\n→ {correction}")
    if report.json:
        print(json.dumps({"changed_numbers": len(changed), "edits_per_sentence": edits / max(1, len(results))}))
    else:
        count = len(changed)
        print(f"{len(results):,} sentences with numbers, {edits:,} edits; in {count:,} sentences a digit has changed.")


if __name__ == "__main__":
    try:
        main()
    except (InputError, Interrupted) as error:
        sys.exit(str(error))
