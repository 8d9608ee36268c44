"""Cut a text into a stream of blocks: paragraphs to correct, and everything else, which is passed through.

The blocks, joined, are the text. None is longer than MAX_BLOCK: a sentence that does not fit is passed through.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from btr.corpus.files import PathLike, not_text, reading, refuse_utf16
from btr.correction.code_lines import is_code_line
from btr.correction.markdown import LabelledLine, label_markdown, split_front_matter
from btr.correction.segments import LINE_PREFIX, LONG_LINE

READ_SIZE = 1 << 16  # bytes that are read at a time
BATCH_CHARACTERS = 6_000  # of a text, whose sentences are batched together
MAX_BLOCK = 8_000  # characters; a longer paragraph is cut at the end of a sentence
BYTE_ORDER_MARK = "\ufeff"

# Closing punctuation with quotes or brackets, and the space after it, unless a small letter follows.
PUNCTUATED_END = r"[.!?…][\"'”’)\]]*\s+(?=[^\sa-z])"
# The end of a line that is not long, unless a small letter follows; or of any line before a heading or a list item.
LINE_END = rf"\n(?<![^\n]{{{LONG_LINE}}}\n)(?![ \t]*[a-z])|\n(?={LINE_PREFIX})"
SENTENCE_END = re.compile(f"{PUNCTUATED_END}|{LINE_END}", re.MULTILINE)
# A fence of three or more backticks with no other backtick in the line, perhaps in quotations and list items.
FENCE = re.compile(r"[ \t]*((?:>[ \t]*|(?:[-*+•]|\d{1,3}[.)])[ \t]+)*)(`{3,})[^`]*$")


class Block(NamedTuple):
    """A part of the text with its offset. `too_long` marks the first block of a sentence that does not fit into one."""

    text: str
    start: int
    prose: bool
    too_long: bool = False


def read_blocks(path: PathLike, markdown: bool) -> Iterator[Block]:
    """Stream the blocks of a UTF-8 file."""
    with reading(path) as file:
        yield from cut_blocks(decode(file, path), markdown)


def decode(file: BinaryIO, path: PathLike) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, long ones in pieces. Line ends and a byte order mark are left as they are."""
    decoder = getincrementaldecoder("utf-8")()
    rest, number = "", 1
    while True:
        raw = file.read(READ_SIZE)
        if number == 1 and not rest:
            refuse_utf16(raw, path)
        try:
            text = rest + decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            line = number + error.object[: error.start].count(b"\n")
            raise not_text(path, line, error.object[error.start]) from None
        if "\0" in text:
            raise not_text(path, number + text[: text.index("\0")].count("\n"))
        *lines, rest = text.split("\n")
        yield from (f"{line}\n" for line in lines)
        number += len(lines)
        while len(rest) > MAX_BLOCK:
            yield rest[:MAX_BLOCK]
            rest = rest[MAX_BLOCK:]
        if not raw:
            if rest:
                yield rest
            return


def cut_blocks(lines: Iterable[str], markdown: bool = False) -> Iterator[Block]:
    """Cut a text that comes in lines into blocks.

    Blank lines and lines that are not prose separate paragraphs. Front matter and lines of code are never prose.
    """
    cutter = BlockCutter()
    lines = iter(lines)
    first = next(lines, "")
    if first.startswith(BYTE_ORDER_MARK):
        yield from cutter.pass_through(BYTE_ORDER_MARK)
        first = first.removeprefix(BYTE_ORDER_MARK)
    front_matter, lines = split_front_matter(chain([first], lines))
    for line in front_matter:
        yield from cutter.pass_through(line)
    label = label_markdown if markdown else label_plain_text
    before = ""  # the line before, if it is prose
    for line, is_prose in label(lines):
        is_prose = is_prose and (is_wrapped(before) or not is_code_line(line))
        yield from cutter.add_prose(line) if is_prose else cutter.pass_through(line)
        before = line if is_prose else ""
    yield from cutter.end_paragraph()


def is_wrapped(line: str) -> bool:
    """Whether a line of prose is long and ends without punctuation, so that its sentence goes on in the next line."""
    return len(line) > LONG_LINE and line.rstrip()[-1:].isalnum()


def label_plain_text(lines: Iterable[str]) -> Iterator[LabelledLine]:
    """Say of each line whether it is prose: neither blank nor code between fences."""
    fences = Fences()
    is_line_start, is_prose = True, False
    for line in lines:
        if is_line_start:  # else it is a further piece of a long line
            is_prose = not fences.contain(line) and bool(line.strip())
        is_line_start = line.endswith("\n")
        yield line, is_prose


class Fences:
    """Recognises code between fences in plain text, where its lines need not be indented as CommonMark wants it."""

    def __init__(self) -> None:
        self.fence = ""  # the one that is open
        self.is_quoted = False

    def contain(self, line: str) -> bool:
        """Whether a line is a fence or code. All lines must be given, in order."""
        text = line.strip()
        if self.is_quoted and not text.startswith(">"):  # the end of the quotation ends its code
            self.fence, self.is_quoted = "", False
        if self.fence:
            text = text.lstrip("> \t") if self.is_quoted else text
            if text.startswith(self.fence) and not text.strip("`"):
                self.fence, self.is_quoted = "", False
            return True
        opening = FENCE.match(line)
        if opening:
            self.fence, self.is_quoted = opening[2], ">" in opening[1]
        return bool(opening)


class BlockCutter:
    """Cuts a text into blocks, and counts their offsets."""

    def __init__(self) -> None:
        self.start = 0  # offset of the next block
        self.text = ""  # prose that is not yet in a block
        self.is_inside_sentence = False  # whether it continues a sentence that does not fit into a block

    def pass_through(self, text: str) -> Iterator[Block]:
        """End the paragraph; cut a text that is not prose into blocks."""
        yield from self.end_paragraph()
        for k in range(0, len(text), MAX_BLOCK):
            yield self.make_block(text[k : k + MAX_BLOCK], prose=False)

    def add_prose(self, text: str) -> Iterator[Block]:
        """Add a text to the paragraph, and cut off blocks as long as it does not fit into one."""
        for k in range(0, len(text), MAX_BLOCK):
            self.text += text[k : k + MAX_BLOCK]
            while len(self.text) > MAX_BLOCK:
                yield self.cut_prose()

    def end_paragraph(self) -> Iterator[Block]:
        while self.is_inside_sentence and self.text:
            yield self.cut_prose()
        if self.text:
            yield self.make_block(self.text, prose=True)
        self.text, self.is_inside_sentence = "", False

    def cut_prose(self) -> Block:
        """Cut a block off the paragraph: complete sentences, or else a part of a sentence, which is not prose."""
        ends = [end for match in SENTENCE_END.finditer(self.text) if (end := match.end()) <= MAX_BLOCK]
        was_inside = self.is_inside_sentence
        end = (ends[0] if was_inside else ends[-1]) if ends else MAX_BLOCK
        block, self.text, self.is_inside_sentence = self.text[:end], self.text[end:], not ends
        is_whole = bool(ends) and not was_inside
        return self.make_block(block, prose=is_whole, too_long=not ends and not was_inside)

    def make_block(self, text: str, prose: bool, too_long: bool = False) -> Block:
        start = self.start
        self.start += len(text)
        return Block(text, start, prose, too_long)


def batch_blocks(blocks: Iterable[Block], characters: int = BATCH_CHARACTERS) -> Iterator[list[Block]]:
    """Group the blocks of a text, so that the sentences of several are batched together."""
    batch: list[Block] = []
    size = 0
    for block in blocks:
        batch.append(block)
        size += len(block.text)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
