"""Real text through `btr correct`: whether it keeps its promises, also with random characters mixed in.

The paragraphs are from Wikipedia and from speeches at the United Nations ($BTR_DATA/text), half from each, in a fixed
random order, ten to a text. Each text is corrected twice: as it is, and with a run of one to three random characters of
Unicode after every sixty or so (half of them awkward ones: joiners, marks that combine, other directions, line ends of
other kinds, halves of emoji). The promises:

- no exception, whichever form is asked for;
- the blocks of a text, joined, are the text;
- each edit has the characters of the text that its offsets name, lies in its sentence, and overlaps no other;
- the text with the edits of `--json` applied is what `btr correct` prints, so that nothing outside edits changes;
- figures, and letters of other scripts, come out as they were, in the same order.

Three ways to edit: `random` asks no model, but puts random edits anywhere, and makes those that a model might make
(it reads ASCII); that is quick, and tries more than models propose. `every` makes every edit that the first two
candidates of the base model propose, without rerankers. `minimal` is that profile, with all its models. Each has so
many paragraphs.

It ends with exit code 1 if a promise is broken. After an interruption the same command goes on; FILE.part has what is
done, one line per text.

    BTR_DATA=../shared/data python benchmarks/texts.py [--random 1000] [--every 1000] [--minimal 100] [--output FILE]
        [--json]
"""

import gzip
import json
import random
import sys
import tempfile
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

from common import Report, data_folder
from digits import TEXTS, load_corrector, random_edits
from rich.console import Console

from btr.cli.tables import make_table
from btr.correction.blocks import Block, read_blocks
from btr.correction.changes import applicable_edits
from btr.correction.corrector import Corrector
from btr.correction.describe import to_spans
from btr.correction.names import mark_names
from btr.correction.records import CorrectedBlock, CorrectedSentence
from btr.correction.render import FORMS, Renderer
from btr.correction.segments import Segment, cut_segments, is_foreign
from btr.errors import InputError, Interrupted
from btr.resume import check_output, write_windows

PARAGRAPHS_PER_TEXT = 10
CANDIDATES = 2  # where every edit is made
WAYS = "random", "every", "minimal"
MEAN_DISTANCE = 60  # characters between runs of random ones
LONGEST_RUN = 3
# Joiners, directions, a mark that combines, line ends of other kinds, control characters, parts of emoji.
AWKWARD = (
    "\u200d\u200c\u200b\u2060\ufeff\u00ad\u200e\u200f\u202e\u2066\u2069\u0301\u0336\u20e3\u2028\u2029\u0085\x0b\x0c\x1c\r"
    "\t\u00a0\u202f\u3000\x01\x08\x1b\x7f\ufffd\ufffe\U0010ffff\ue000\U0001f1e6\U0001f468\U0001f3fd\ufe0f\U000e0041"
)
MIXED = {True: "with random characters", False: "as it is"}


@dataclass(frozen=True)
class Text:
    """Some paragraphs, and what is done with them."""

    content: str
    paragraphs: int
    is_mixed: bool
    way: str

    @property
    def kind(self) -> str:
        """The row of the table that this text belongs to."""
        return f"{self.way}, {MIXED[self.is_mixed]}"


@dataclass(frozen=True)
class Result:
    """What became of a text; `problems` are the promises that were broken."""

    kind: str
    paragraphs: int
    sentences: int = 0
    skipped: int = 0
    edits: int = 0
    problems: tuple[str, ...] = ()


def read_texts(folder: Path, paragraphs: int, way: str) -> Iterator[Text]:
    """Yield texts of real paragraphs, each followed by the same text with random characters."""
    share = paragraphs // len(TEXTS)
    for file in TEXTS:
        with gzip.open(folder / file, "rt", encoding="utf-8") as lines:
            every = [line.rstrip("\n") for line in lines]
        random.Random(0).shuffle(every)
        stream = iter(every[:share])
        while some := list(islice(stream, PARAGRAPHS_PER_TEXT)):
            content = "\n\n".join(some) + "\n"
            yield Text(content, len(some), False, way)
            yield Text(mix_in(content, random.Random(content)), len(some), True, way)


def mix_in(text: str, chance: random.Random) -> str:
    """Return a text with random characters in it."""
    parts, start = [], 0
    while (end := start + chance.randint(1, 2 * MEAN_DISTANCE)) < len(text):
        run = (chance.choice(chance.choice((AWKWARD, all_characters()))) for _ in range(chance.randint(1, LONGEST_RUN)))
        parts += [text[start:end], *run]
        start = end
    return "".join([*parts, text[start:]])


@cache
def all_characters() -> str:
    """Return every character that Unicode has assigned and a text file may hold."""
    every = map(chr, range(1, sys.maxunicode + 1))
    return "".join(char for char in every if unicodedata.category(char) not in ("Cn", "Cs"))


def read_ascii(word: str) -> str:
    """Return a word as a model reads it that knows no other characters."""
    return word if word.isascii() else ""


class RandomCorrector:
    """Makes random edits in place of a corrector, wherever one may be made."""

    def __init__(self) -> None:
        self.chance = random.Random(0)

    def correct_blocks(self, blocks: Sequence[Block]) -> Iterator[CorrectedBlock]:
        """Edit blocks of a text."""
        for block in blocks:
            segments = mark_names(list(cut_segments(block.text, read_ascii))) if block.prose else []
            yield CorrectedBlock(block.start, block.text, tuple(self.edit(block, segment) for segment in segments))

    def edit(self, block: Block, segment: Segment) -> CorrectedSentence:
        """Edit a sentence."""
        tokens = segment.tokens
        edits = random_edits(self.chance, len(tokens))
        spans = to_spans(block, segment, applicable_edits(block.text, tokens, edits, segment.is_heading_or_item))
        return CorrectedSentence(block.start + tokens[0].start, block.start + tokens[-1].end, segment.source, spans)


class Tester:
    """Corrects texts as `btr correct FILE` does, in all forms, and compares what comes back with the promises."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self.total = len(texts)
        load: dict[str, Callable[[], RandomCorrector | Corrector]] = {
            "random": RandomCorrector,
            "every": partial(load_corrector, every=True, candidates=CANDIDATES),
            "minimal": Corrector.from_pretrained,
        }
        self.correctors = {way: load[way]() for way in dict.fromkeys(text.way for text in texts)}
        self.file = Path(tempfile.mkdtemp()) / "text.txt"

    @property
    def signature(self) -> str:
        """Return what the results depend on."""
        return " ".join(each.signature for each in self.correctors.values() if isinstance(each, Corrector))

    def test(self, texts: Sequence[tuple[int, Text]]) -> Iterator[str]:
        """Yield a line per text."""
        for index, text in texts:
            result = self.test_one(text)
            yield json.dumps(asdict(result))
            print(f"{index + 1:,} of {self.total:,} texts; {len(result.problems)} problems", file=sys.stderr)

    def test_one(self, text: Text) -> Result:
        """Correct a text."""
        self.file.write_bytes(text.content.encode())
        try:
            blocks = list(self.correctors[text.way].correct_blocks(list(read_blocks(self.file, markdown=False))))
            forms = {form: "".join(map(Renderer(form).write, blocks)) for form in FORMS}
            for printed in forms.values():
                printed.encode()
        except Exception:
            return Result(text.kind, text.paragraphs, problems=(traceback.format_exc(),))
        sentences = [sentence for block in blocks for sentence in block.sentences]
        return Result(
            text.kind,
            text.paragraphs,
            sentences=len(sentences),
            skipped=sum(sentence.skipped is not None for sentence in sentences),
            edits=sum(len(sentence.edits) for sentence in sentences),
            problems=tuple(broken_promises(text.content, blocks, forms)),
        )


def broken_promises(text: str, blocks: Sequence[CorrectedBlock], forms: dict[str, str]) -> Iterator[str]:
    """Compare what was printed with the text, knowing only what `--json` says of it."""
    if "".join(block.text for block in blocks) != text:
        yield "the blocks, joined, are not the text"
    sentences = [json.loads(line) for line in forms["json"].split("\n") if line]
    expected, position = [], 0
    for sentence in sentences:
        for edit in sentence.get("edits") or ():
            start, end = edit["start"], edit["end"]
            if text[start:end] != edit["original"]:
                yield f"{start} to {end} is {text[start:end]!r}, and said to be {edit['original']!r}"
            if not sentence["start"] <= start <= end <= sentence["end"]:
                yield f"{edit['original']!r} → {edit['replacement']!r} at {start} is not in its sentence"
            if start < position:
                yield f"{edit['original']!r} → {edit['replacement']!r} at {start} overlaps the edit before it"
            expected += [text[position:start], edit["replacement"]]
            position = end
    corrected = forms["text"]
    if "".join([*expected, text[position:]]) != corrected:
        yield f"something changed outside edits: {corrected!r}"
    for what, pick in (("figures", str.isdigit), ("letters of other scripts", is_foreign)):
        if list(filter(pick, text)) != list(filter(pick, corrected)):
            yield f"{what} have changed: {text!r} → {corrected!r}"


def main() -> None:
    output = str(Path(tempfile.gettempdir()) / "btr-texts.jsonl")
    report = Report(__doc__ or "", random=1000, every=1000, minimal=100, output=output)
    output = report.options["output"]
    check_output(output)
    folder = data_folder() / "text"
    texts = [text for way in WAYS for text in read_texts(folder, report.options[way], way)]
    tester = Tester(texts)
    write_windows(enumerate(texts), tester.test, output, {"signature": tester.signature, "texts": len(texts)}, 1, "")
    with open(output, encoding="utf-8") as file:
        results = [Result(**json.loads(line)) for line in islice(file, 1, None)]
    problems = [problem for result in results for problem in result.problems]
    table = make_table("text", ["paragraphs", "sentences", "skipped", "edits", "broken promises"])
    for kind in dict.fromkeys(result.kind for result in results):
        rows = [result for result in results if result.kind == kind]
        numbers = (sum(getattr(row, name) for row in rows) for name in ("paragraphs", "sentences", "skipped", "edits"))
        table.add_row(kind, *(f"{number:,}" for number in numbers), str(sum(len(row.problems) for row in rows)))
    if report.json:
        print(json.dumps({"texts": len(results), "broken_promises": len(problems)}))
    else:
        print(*problems, sep="\n", end="\n" * bool(problems))
        Console(width=120).print(table)
    sys.exit(bool(problems))


if __name__ == "__main__":
    try:
        main()
    except (InputError, Interrupted) as error:
        sys.exit(str(error))
