"""A text as a stream of blocks: paragraphs to correct, and what is passed through as it is.

Blocks keep every character, so that they put together are the text again. None is long, whatever the text.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from btr.corpus.files import PathLike, no_text, reading, refuse_utf16

READ = 1 << 16  # bytes at a time
MAX_BLOCK = 8_000  # characters; a longer paragraph is cut, at the end of a sentence if there is one
ENDS = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=\S)|\n")
FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
KEY = re.compile(r"[\w\"'-]+ *:|---|#")  # what front matter begins with
INDENTED = re.compile(r"(?: {4}|\t)\s*\S")


class Block(NamedTuple):
    """A stretch of the text, where it begins, and whether it is prose."""

    text: str
    start: int
    prose: bool


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
            raise no_text(path, line, error.object[error.start]) from None
        if "\0" in text:
            raise no_text(path, number + text[: text.index("\0")].count("\n"))
        *lines, rest = text.split("\n")
        yield from (f"{line}\n" for line in lines)
        number += len(lines)
        while len(rest) > MAX_BLOCK:
            end = find_cut(rest)
            yield rest[:end]
            rest = rest[end:]
        if not raw:
            if rest:
                yield rest
            return


def cut_blocks(lines: Iterable[str], markdown: bool = False) -> Iterator[Block]:
    """Blocks of a text that comes in lines: blank lines part them, and code between fences is no prose.

    In Markdown, indented code and what stands before the text (between lines of `---`) are no prose either.
    """
    start = 0
    for text, prose in cut_paragraphs(lines, markdown):
        while text:
            end = len(text) if len(text) <= MAX_BLOCK else find_cut(text)
            yield Block(text[:end], start, prose)
            start += end
            text = text[end:]


def cut_paragraphs(lines: Iterable[str], markdown: bool) -> Iterator[tuple[str, bool]]:
    """Stretches of lines that are prose, and those that are not."""
    own: list[str] = []
    size = 0
    fence = ""
    front = blank = False
    for number, line in enumerate(lines):
        mark = FENCE.match(line)
        opens = mark and (markdown or "`" in mark[1])  # in plain text, a line of ~ is an underline
        closing = bool(fence) and line.strip().startswith(fence) and not line.strip().strip(fence[0])
        front = front and (number > 1 or bool(KEY.match(line)))
        if markdown and line.strip() == "---" and (front or number == 0):
            front = not front
            code = True
        elif fence or front:
            fence = "" if closing else fence
            code = True
        elif mark and opens:
            fence = mark[1]
            code = True
        else:
            code = markdown and bool(INDENTED.match(line)) and (blank or number == 0)
        if code or not line.strip() or size > MAX_BLOCK:
            if own:
                yield "".join(own), True
            own, size = [], 0
        if code or not line.strip():
            yield line, False
            blank = not line.strip() or (blank and code and not fence)
        else:
            own.append(line)
            size += len(line)
            blank = False
    if own:
        yield "".join(own), True


def find_cut(text: str) -> int:
    """Where to cut a text that is too long: after a sentence, after a word, or anywhere."""
    ends = [match.end() for match in ENDS.finditer(text, 0, MAX_BLOCK)]
    if ends:
        return ends[-1]
    space = max(text.rfind(" ", 1, MAX_BLOCK), text.rfind("\t", 1, MAX_BLOCK))
    return space + 1 if space > 0 else MAX_BLOCK
