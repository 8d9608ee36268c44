"""A text as a stream of blocks: paragraphs to correct, and what is passed through as it is.

Blocks keep every character, so that they put together are the text again. None is long, whatever the text: a sentence
that does not fit into a block is passed through.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from btr.corpus.files import PathLike, not_text, reading, refuse_utf16
from btr.correction.segments import LINE_PREFIX, LONG_LINE

READ = 1 << 16  # bytes at a time
BATCH_CHARACTERS = 6_000  # of a text, whose sentences are batched together
MAX_BLOCK = 8_000  # characters; a longer paragraph is cut at the end of a sentence
STOP = r"[.!?…][\"'”’)\]]*\s+(?=[^\sa-z])"
BREAK = rf"\n(?<![^\n]{{{LONG_LINE}}}\n)(?![ \t]*[a-z])|\n(?={LINE_PREFIX})"  # the end of a line and of a sentence
ENDS = re.compile(f"{STOP}|{BREAK}", re.MULTILINE)
BYTE_ORDER = "\ufeff"
FENCE = re.compile(r"[ \t]*((?:>[ \t]*|(?:[-*+•]|\d{1,3}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})")
FRONT = {  # what front matter begins with: how its first line may look, and what ends it
    "---": (re.compile(r"[\w\"'-]+ *:|---|#"), ("---", "...")),
    "+++": (re.compile(r"[\w\"'.-]+ *=|\+\+\+|#|\["), ("+++",)),
}
INDENTED = re.compile(r"(?: {4}|\t)\s*\S")


class Block(NamedTuple):
    """A stretch of the text, where it begins, and whether it is prose; or begins a sentence that is too long."""

    text: str
    start: int
    prose: bool
    too_long: bool = False


def read_blocks(path: PathLike, markdown: bool) -> Iterator[Block]:
    """Stream the blocks of a UTF-8 file."""
    with reading(path) as file:
        yield from cut_blocks(decode(file, path), markdown)


def decode(file: BinaryIO, path: PathLike) -> Iterator[str]:
    """The lines of a file with whatever ends them, very long ones in pieces; a byte order mark is a character."""
    decoder = getincrementaldecoder("utf-8")()
    rest, number = "", 1
    while True:
        raw = file.read(READ)
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
    """Blocks of a text that comes in lines: blank lines part them, and code between fences is no prose.

    In Markdown, indented code and what stands before the text (between lines of `---` or `+++`) are no prose either.
    """
    start = 0
    lines = iter(lines)
    first = next(lines, "")
    if first.startswith(BYTE_ORDER):
        yield Block(BYTE_ORDER, 0, False)
        start, first = 1, first[1:]
    for text, *about in cut_paragraphs(chain([first], lines), markdown):
        for place in range(0, len(text), MAX_BLOCK):
            yield Block(text[place : place + MAX_BLOCK], start + place, *about)
        start += len(text)


def cut_paragraphs(lines: Iterable[str], markdown: bool) -> Iterator[tuple[str, bool, bool]]:
    """Stretches of lines that are prose, none longer than a block, and lines that are not; and what is too long."""
    own, code = Paragraph(), Code(markdown)
    begins, prose = True, False
    for line in lines:
        if begins:  # and is no further piece of a very long line
            prose = not code.takes(line) and bool(line.strip())
        begins = line.endswith("\n")
        if prose:
            yield from own.add(line)
        else:
            yield from own.end()
            yield line, False, False
    yield from own.end()


class Code:
    """Tells which lines are code or front matter; all lines are shown to it, in order."""

    def __init__(self, markdown: bool) -> None:
        self.markdown = markdown
        self.number = 0
        self.front = self.fence = ""
        self.quoted = False  # whether the fence stands in a quote
        self.blank = True  # whether the line before is blank, or indented code

    def takes(self, line: str) -> bool:
        is_indented = self.markdown and self.blank and bool(INDENTED.match(line))
        is_code = self.in_front(line) or self.in_fence(line) or is_indented
        self.number += 1
        self.blank = not line.strip() or (self.blank and is_code and not self.fence)
        return is_code

    def in_front(self, line: str) -> bool:
        text = line.strip()
        if self.markdown and self.number == 0 and text in FRONT:
            self.front = text
            return True
        if not self.front:
            return False
        key, ends = FRONT[self.front]
        if self.number == 1 and not key.match(line):
            self.front = ""
            return False
        self.front = "" if text in ends else self.front
        return True

    def in_fence(self, line: str) -> bool:
        text = line.strip()
        if self.quoted and not text.startswith(">"):  # the quote is over, and its code
            self.fence, self.quoted = "", False
        if self.fence:
            text = text.lstrip("> \t") if self.quoted else text
            if text.startswith(self.fence) and not text.strip(self.fence[0]):
                self.fence, self.quoted = "", False
            return True
        mark = FENCE.match(line)
        if not mark or not (self.markdown or "`" in mark[2]):  # in plain text, a line of ~ is an underline
            return False
        self.fence, self.quoted = mark[2], ">" in mark[1]
        return True


class Paragraph:
    """Prose that comes in lines and leaves in blocks. What is torn, for want of the end of a sentence, is no prose."""

    def __init__(self) -> None:
        self.text, self.torn = "", False

    def add(self, line: str) -> Iterator[tuple[str, bool, bool]]:
        for place in range(0, len(line), MAX_BLOCK):
            self.text += line[place : place + MAX_BLOCK]
            while len(self.text) > MAX_BLOCK:
                yield self.take()

    def end(self) -> Iterator[tuple[str, bool, bool]]:
        while self.torn and self.text:
            yield self.take()
        if self.text:
            yield self.text, True, False
        self.text, self.torn = "", False

    def take(self) -> tuple[str, bool, bool]:
        """Cut a block off: up to the last end of a sentence, or the first one if it begins in the midst of one."""
        ends = [match.end() for match in ENDS.finditer(self.text, 0, MAX_BLOCK)]
        end = (ends[0] if self.torn else ends[-1]) if ends else MAX_BLOCK
        prose, too_long = bool(ends) and not self.torn, not ends and not self.torn
        block, self.text, self.torn = self.text[:end], self.text[end:], not ends
        return block, prose, too_long


def batch_blocks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Group the blocks of a text, so that the sentences of several are batched together."""
    batch: list[Block] = []
    size = 0
    for block in blocks:
        batch.append(block)
        size += len(block.text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
