"""Word documents: their paragraphs as text, and new words written back with the formatting that was there."""

import io
import re
import zipfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate, chain, zip_longest
from typing import Any

from docx import Document
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from rapidfuzz.distance import Levenshtein

from btr.serving.errors import RequestError

SEPARATOR = "\n\n"  # between paragraphs, so that each is corrected by itself
MAX_UNPACKED = 50_000_000  # bytes of all files in a .docx
MAX_FILES = 2_000
MAX_ALIGNED = 400_000_000  # old times new words (or paragraphs) that are aligned: some 0.2 seconds
PARAGRAPH, RUN, TEXT = qn("w:p"), qn("w:r"), qn("w:t")
CHARACTERS = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
# Pictures, formulas and symbols: in the text of a paragraph this stands for each of them. The corrector masks code.
OBJECT = "`\ufffc`"
OBJECT_OR_REST = re.compile("`?\ufffc`?")
FORMULA, MOVED_AWAY, INLINE = qn("m:oMath"), qn("w:moveFrom"), qn("wp:inline")
SYMBOLS = frozenset({qn("w:sym"), qn("w:object")})
DRAWINGS = frozenset({qn("w:drawing"), "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"})
NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NOT_TEXT = "the file is not a .docx document that can be read; save it again as .docx, or as plain text."

WORD = re.compile(rf"\s*{OBJECT}|\s*\w+|\s*[^\w\s]|\s+")

Element = Any  # lxml's


@dataclass
class Piece:
    """A text element of a paragraph, one that stands for a character, as a tab does, or an object, which stays."""

    element: Element
    text: str
    start: int
    end: int
    is_object: bool


class WordDocument:
    """A .docx file: the paragraphs of its body and tables. Text boxes, headers and footnotes stay as they are."""

    def __init__(self, content: bytes) -> None:
        check_zip(content)
        try:
            self.document = Document(io.BytesIO(content))
            body = self.document.element.body
        except Exception:  # python-docx has no error of its own for most damage
            raise RequestError(422, NOT_TEXT) from None
        box = qn("w:txbxContent")
        every = [each for each in body.iter(PARAGRAPH) if not any(up.tag == box for up in each.iterancestors())]
        self.paragraphs = [each for each in every if paragraph_text(each).replace(OBJECT, "").strip()]

    @property
    def text(self) -> str:
        """Return the paragraphs that have words, with a blank line between them."""
        return SEPARATOR.join(map(clean_text, self.paragraphs))

    def write(self, text: str) -> None:
        """Give the paragraphs the words of a new text. New paragraphs are added; those that are gone become empty."""
        text = re.sub("\r\n?|\v", "\n", text)
        if match := NOT_XML.search(text):
            raise RequestError(422, f"the character U+{ord(match[0]):04X} can't stand in a .docx; take it out.")
        old = list(map(clean_text, self.paragraphs))
        new = [each for each in text.rstrip("\n").split(SEPARATOR) if each.strip()]
        for low, high, first, end in differences(old, new):
            last = self.paragraphs[low - 1] if low else None
            for paragraph, words in zip_longest(self.paragraphs[low:high], new[first:end]):
                if paragraph is None:
                    last = self.add_after(last, words)
                else:
                    replace_words(paragraph, words or "")
                    last = paragraph

    def add_after(self, last: Element | None, words: str) -> Element:
        """Add a paragraph with the properties of the one before it."""
        added = OxmlElement("w:p")
        if last is None:
            self.document.element.body.insert(0, added)
        else:
            if last.pPr is not None:
                added.append(deepcopy(last.pPr))
                for section in added.pPr.findall(qn("w:sectPr")):
                    added.pPr.remove(section)
            last.addnext(added)
        replace_words(added, words)
        return added

    def to_bytes(self) -> bytes:
        """Return the file."""
        file = io.BytesIO()
        self.document.save(file)
        return file.getvalue()


def check_zip(content: bytes) -> None:
    """Refuse what is no zip file, and one that would fill the memory. Python reads no more than the sizes it states."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise RequestError(422, NOT_TEXT) from None
    if len(files) > MAX_FILES or sum(file.file_size for file in files) > MAX_UNPACKED:
        raise RequestError(413, f"the document is larger than {MAX_UNPACKED:,} bytes when it is unpacked.")


def pieces_of(paragraph: Element) -> list[Piece]:
    """Return the text elements and objects of a paragraph, without those of paragraphs inside it or moved elsewhere."""
    pieces: list[Piece] = []
    start = 0
    for part in paragraph.iter(RUN, FORMULA):
        if (
            next(part.iterancestors(PARAGRAPH)) is not paragraph
            or next(part.iterancestors(MOVED_AWAY), None) is not None
        ):
            continue
        for element in [part] if part.tag == FORMULA else part:
            is_object = stands_for_object(element)
            text = (element.text or "") if element.tag == TEXT else CHARACTERS.get(element.tag, "")
            text = OBJECT if is_object else text
            if text:
                pieces.append(Piece(element, text, start, start + len(text), is_object))
                start += len(text)
    return pieces


def stands_for_object(element: Element) -> bool:
    """Return whether an element is a formula, a symbol, or a picture that stands in the line as a word does."""
    if element.tag in DRAWINGS:
        return next(element.iter(INLINE), None) is not None
    return element.tag == FORMULA or element.tag in SYMBOLS


def paragraph_text(paragraph: Element) -> str:
    """Return the characters of a paragraph."""
    return "".join(piece.text for piece in pieces_of(paragraph))


def clean_text(paragraph: Element) -> str:
    """Return a paragraph's characters without blank lines, which separate paragraphs."""
    text = paragraph_text(paragraph)
    while SEPARATOR in text:
        text = text.replace(SEPARATOR, " \n")  # as many characters as before
    return text if not text.endswith("\n") else text[:-1] + " "


def replace_words(paragraph: Element, words: str) -> None:
    """Change the words that differ; each new one takes the formatting of the place where it stands."""
    old = clean_text(paragraph)
    pieces = pieces_of(paragraph)
    if not pieces:
        if words := OBJECT_OR_REST.sub("", words):
            run, element = OxmlElement("w:r"), OxmlElement("w:t")
            run.append(element)
            paragraph.append(run)
            write_element(element, words)
        return
    before, after = WORD.findall(old), WORD.findall(words)
    offsets = [*accumulate(map(len, before), initial=0)]
    starts = [piece.start for piece in pieces]
    for low, high, first, end in reversed(list(differences(before, after))):
        start, stop, new = offsets[low], offsets[high], OBJECT_OR_REST.sub("", "".join(after[first:end]))
        # What is the same at the beginning may be in another run, as the space before a word.
        same = common_length(old[start:stop], new)
        replace_span(pieces, starts, start + same, stop, new[same:])
    for piece in (each for each in pieces if not each.is_object):
        write_element(piece.element, piece.text)


def differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield, in order, the start and end of each part of `old` that differs, and of the part of `new` in its place.

    If both differ by more than can be aligned in a short time, all between their common beginning and end is one part.
    """
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if len(before) * len(after) > MAX_ALIGNED:
        yield start, start + len(before), start, start + len(after)
        return
    low = first = 0
    for block in [*Levenshtein.opcodes(before, after), None]:
        if block is not None and block.tag != "equal":
            continue
        high, stop = (block.src_start, block.dest_start) if block else (len(before), len(after))
        if (low, first) != (high, stop):
            yield start + low, start + high, start + first, start + stop
        if block:
            low, first = block.src_end, block.dest_end


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words, or characters, are the same at the beginning of both."""
    return next((k for k, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))


def replace_span(pieces: list[Piece], starts: list[int], low: int, high: int, new: str) -> None:
    """Replace characters `low` to `high`, from the end of a paragraph to its start; only texts change, not offsets."""
    # An insertion goes after the character before it.
    first = max(0, (bisect_right(starts, low) if low < high else bisect_left(starts, low)) - 1)
    touched = range(first, max(first + 1, bisect_left(starts, high)))
    nearest = chain(touched, reversed(range(first)), range(touched.stop, len(pieces)))
    target = next(k for k in nearest if not pieces[k].is_object)
    for k in {*touched, target}:
        piece = pieces[k]
        if not piece.is_object:
            before, after = (min(max(offset, piece.start), piece.end) - piece.start for offset in (low, high))
            piece.text = piece.text[:before] + (new if k == target else "") + piece.text[after:]


def write_element(element: Element, text: str) -> None:
    """Write characters into an element of a run; line breaks and tabs become elements of their own."""
    if text == CHARACTERS.get(element.tag):
        return
    if element.tag == TEXT and text == (element.text or ""):
        return
    for char_run in reversed(split_characters(text)):
        added = OxmlElement({"\t": "w:tab", "\n": "w:br"}.get(char_run, "w:t"))
        if added.tag == TEXT:
            added.text = char_run
            added.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
        element.addnext(added)
    element.getparent().remove(element)


def split_characters(text: str) -> list[str]:
    """Cut a text at its line breaks and tabs, which are parts too."""
    parts = [""]
    for char in text:
        if char in "\t\n":
            parts += [char, ""]
        else:
            parts[-1] += char
    return [part for part in parts if part]
