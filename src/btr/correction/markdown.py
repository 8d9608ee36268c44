"""Tell which lines of a Markdown text are prose: paragraphs and headings, also those in lists and quotations.

Code, HTML, tables and link definitions are not; front matter is split off first, in plain text too. markdown-it finds
the blocks, as CommonMark and GitHub's tables define them. It needs the end of a block to know what it is, so that a
text is parsed in windows of some blocks.
"""

import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from markdown_it import MarkdownIt
from markdown_it.token import Token

WINDOW = 1 << 15  # characters that are parsed together
MAX_FRONT_MATTER = 500  # lines
PROSE = "paragraph_open", "heading_open"
CLOSED = "fence", "html_block"  # blocks that nothing continues once they have ended
# The first line of front matter; a pattern of its second line; the lines that end it.
FRONT_MATTER = {
    "---": (re.compile(r"[\w\"'-]+ *:|---|#"), ("---", "...")),  # YAML: `key:`, the end, or a comment
    "+++": (re.compile(r"[\w\"'.-]+ *=|\+\+\+|#|\["), ("+++",)),  # TOML: `key =`, the end, a comment, or a table
}

# After a deeper nesting (a list counts twice), the parser leaves the rest of the window; the time grows with the depth.
PARSER = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")
PARSER.core.ruler.enableOnly("block")  # nothing within a paragraph is parsed

LabelledLine = tuple[str, bool]  # a line, or a piece of a long one; whether it is prose


@dataclass
class Line:
    """A line: what the parser reads of it (of a long one, the first and last piece), and its unlabelled pieces."""

    parsed: str
    pieces: list[str]

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        if piece.endswith("\n"):
            self.parsed += piece


def split_front_matter(lines: Iterable[str]) -> tuple[list[str], Iterator[str]]:
    """Return the lines of the front matter that a text of any kind begins with, if it has an end, and the others."""
    lines = iter(lines)
    head = list(islice(lines, 2))
    pattern, ends = FRONT_MATTER.get(head[0].strip(), (None, ())) if head else (None, ())
    if not pattern or not pattern.match(head[-1]):
        return [], chain(head, lines)
    head += islice(lines, MAX_FRONT_MATTER)
    end = next((k for k, line in enumerate(head) if k and line.strip() in ends), None)
    return ([], chain(head, lines)) if end is None else (head[: end + 1], chain(head[end + 1 :], lines))


def label_markdown(pieces: Iterable[str]) -> Iterator[LabelledLine]:
    """Say of each line of a text whether it is prose, by its block. Long lines may come in pieces.

    The last block of a window begins the next window.
    """
    lines: list[Line] = []
    size = 0
    for piece in pieces:
        if lines and not lines[-1].parsed.endswith("\n"):
            lines[-1].add(piece)
        else:
            lines.append(Line(piece, [piece]))
        size += len(piece)
        if size >= WINDOW:
            lines = yield from label_window(lines)
            size = sum(len(piece) for line in lines for piece in line.pieces)
    yield from label(lines, parse(lines))


def label_window(lines: list[Line]) -> Generator[LabelledLine, None, list[Line]]:
    """Label all lines but those of the last block, and return these.

    A block that fills the window is labelled as far as it goes. The lines that open it (a table has two) and its last
    line stay as the context of the next window.
    """
    tokens = parse(lines)
    end = 0
    for token in tokens:
        if token.map and (token.level == 0 or (token.level == 1 and token.type == "list_item_open")):
            start, stop = token.map
            end = stop if token.type in CLOSED and stop < len(lines) else start
    if end:
        yield from label(lines[:end], tokens)
        return lines[end:]
    yield from label(lines, tokens)
    opening = 2 if tokens and tokens[0].type == "table_open" else 1
    return [*lines[:opening], *lines[opening:][-1:]]


def parse(lines: Iterable[Line]) -> list[Token]:
    """Return the tokens of the blocks. The parser does not know that a carriage return is space."""
    return PARSER.parse("".join(line.parsed for line in lines).replace("\r", " "))


def label(lines: Iterable[Line], tokens: Iterable[Token]) -> Iterator[LabelledLine]:
    """Say of each line, or its pieces, whether it is prose according to the tokens."""
    prose = {number for token in tokens if token.map and token.type in PROSE for number in range(*token.map)}
    for number, line in enumerate(lines):
        for piece in line.pieces:
            yield piece, number in prose and bool(line.parsed.strip())
        line.pieces = []
