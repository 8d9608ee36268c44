"""Common misspellings in sentences: how many are corrected with spelling off and on, and how many words are harmed.

The list (benchmarks/spelling.tsv) is ours: one misspelling per sentence, in brackets, and the right word. Its first
hundred were written before the code, its second hundred after it; the third hundred after the last change of the code
and of its word lists, and nothing was changed because of them. Twenty further sentences have a word that is right,
though few lists have it. A misspelling is corrected if the right word stands in its place; a word is harmed if it is
not that word, and is missing in the corrected sentence.

    python benchmarks/spelling.py [--json]
"""

import csv
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from common import Report
from rich.console import Console

from btr.cli.tables import make_table
from btr.correction.corrector import Corrector
from btr.correction.dictionary import NO_WORDS

LIST = Path(__file__).with_name("spelling.tsv")


@dataclass(frozen=True)
class Example:
    """A sentence around a word, as it was written and as it should be."""

    part: str
    before: str
    written: str
    after: str
    right: str

    @property
    def text(self) -> str:
        """The sentence as it was written."""
        return self.before + self.written + self.after

    def is_corrected(self, text: str) -> bool:
        """Return whether the right word stands in a corrected sentence, and the misspelling does not."""
        words = f" {' '.join(split(text))} "
        return f" {self.right} " in words and (self.right == self.written or f" {self.written} " not in words)

    def harmed(self, text: str) -> int:
        """Return how many words of the sentence, apart from the misspelling, are missing in a corrected one."""
        return (Counter(split(self.before + self.after)) - Counter(split(text))).total()


def split(text: str) -> list[str]:
    """Return the words of a text without punctuation."""
    return [stripped for word in text.split() if (stripped := word.strip(".,?!"))]


def read_examples() -> list[Example]:
    """Read the list."""
    with open(LIST, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    examples = []
    for row in rows:
        before, _, rest = row["sentence"].partition("[")
        written, _, after = rest.partition("]")
        examples.append(Example(row["part"], before, written, after, row["right"]))
    return examples


def main() -> None:
    report = Report(__doc__ or "")
    examples = read_examples()
    results: dict[str, dict[str, tuple[int, int, int]]] = {}
    for name, spelling in (("off", False), ("on", True)):
        corrector = Corrector.from_pretrained(spelling=spelling)
        corrector.dictionary = NO_WORDS  # not the user's own
        texts = [result.text for result in corrector.correct_many([example.text for example in examples])]
        results[name] = {}
        for part in dict.fromkeys(example.part for example in examples):
            pairs = [(example, text) for example, text in zip(examples, texts) if example.part == part]
            right = [example.is_corrected(text) for example, text in pairs]
            harmed = sum(example.harmed(text) for example, text in pairs)
            results[name][part] = sum(right), len(pairs), harmed
            for (_, text), is_right in zip(pairs, right):
                if spelling and not is_right:
                    report.say(f"not right ({part}): {text}")
    if report.json:
        print(json.dumps(results))
        return
    table = make_table("spelling", [f"{part}: {what}" for part in results["on"] for what in ("right", "harmed")])
    for name, parts in results.items():
        cells = [(f"{right} of {count}", str(harmed)) for right, count, harmed in parts.values()]
        table.add_row(name, *(text for pair in cells for text in pair))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
