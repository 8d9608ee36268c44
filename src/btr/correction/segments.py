"""Split prose into the sentences and tokens that a model reads; each token knows its offsets in the text.

A model must not change URLs, code or words that it can't write: it reads the word X in their stead (masked text).
It does not read Markdown's marks, tags, emoji and words in other scripts at all (hidden text). Both stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import name, normalize

if TYPE_CHECKING:
    from spacy.language import Language

MASK = "X"  # what the model reads instead of masked text
LONG_LINE = 60  # characters; a line as long as that was probably wrapped, so that its end is not a sentence's end

# Masked text.
# Punctuation that belongs to the sentence if it ends a URL.
TRAILING = ".,;:!?'\"”’"
# 200 characters or more without a space: no word, and spaCy is slow on long runs of punctuation.
LONG = rf"\S{{200,}}?(?=[{TRAILING}]{{0,3}}(?!\S))"
# https://example.org, www.example.org, me@example.org
URL = r"(?:https?://|ftp://|www\.)[^\s<>\"]+|[\w.+-]+@[\w-]+\.[\w.-]+"
# `code` between backticks, as many before it as after it.
CODE = r"(?<!`)(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`)"
# --flag, -f, @name, #tag, \macro, ~user
FLAG = r"(?<!\S)--?\w[\w=-]*|(?<!\S)[@#\\~]\w[\w./-]*"
# &amp; &#38;
ENTITY = r"&#?\w+;"
# snake_case, a=b, x^2, Some::Thing<T>: a word with a sign inside that prose does not have.
IDENTIFIER = r"(?<![^\s(\[\"'“‘])[^\s(\[\"'“‘]*[\w.)\]][_\\{}=<>@#^~|]\S*[\w)/]"
# /usr/bin, ~/notes, ./run, src/main.py, README.md
PATH = (
    r"(?<![^\s(\[\"'“‘])(?:(?:[~.]{1,2}|)/[\w.@-]+[\w./@-]*|(?:[\w@-]+/)*[\w.-]*\w\."
    r"(?:py|js|jsx|tsx?|md|txt|json|jsonl|ya?ml|toml|ini|cfg|sh|csv|tsv|html?|css|xml|pdf|docx?|xlsx?|pptx?|png|jpe?g|svg|"
    r"cpp|hpp|java|rs|rb|php|sql|log|exe|zip|gz|ipynb|lock|env)\b)"
)
MASKED = re.compile(f"(?P<whole>{CODE}|{LONG}|{ENTITY})|{URL}|{FLAG}|{IDENTIFIER}|{PATH}", re.DOTALL)
# A tag between backticks, which opens no element: `<pre>`
QUOTED_TAG = r"(?<=`)<[^<>]*>`"
# <code>…</code>, <kbd>…</kbd>
CODE_ELEMENT = re.compile(rf"(?P<whole>(?!{QUOTED_TAG})(?i:<(?P<tag>code|kbd)\b[^<>]*>.*?</(?P=tag)\s*>))", re.DOTALL)

# Hidden text.
# ![description](target)
IMAGE = r"!\[[^\]\n]{0,300}\]\([^)\n]*\)"
# [words](target), whose words are read.
LINK = re.compile(r"(?<!!)\[([^\]\n]{0,300})\]\([^)\n]*\)")
# <pre>, <script> and <style> with their content, to the end of the text if they are not closed.
RAW_ELEMENT = rf"(?!{QUOTED_TAG})(?i:<(?P<tag>pre|script|style)\b[^<>]*>.*?(?:</(?P=tag)\s*>|\Z))"
# <b>, </b>, <!-- comment -->
TAG = r"</?[A-Za-z][^<>\n]*>|<!--.*?-->"
# A line that begins with a vertical bar.
TABLE_ROW = r"^[ \t]*\|[^\n]*$"
# What a heading, a list item, a task or a quotation begins with: "## ", "- ", "1. ", "[x] ", "> ", and combinations.
LINE_PREFIX = r"^[ \t]*(?:(?:#{1,6}|>|[-*+•]|\d{1,3}[.)]|\[[ xX]\])[ \t]+)+|^[ \t]*>"
# A line of three or more of the same kind of sign: ---, ===, ***
RULE = r"^[ \t]*(?:[-=*_~][ \t]*){3,}\r?$"
# *, **, ***, _, __, ___ or ~~ at the beginning or the end of a word.
EMPHASIS = r"(?<![\w*_~])(?:\*{1,3}|_{1,3}|~~)(?=[^\s*_~])|(?<=[^\s*_~])(?:\*{1,3}|_{1,3}|~~)(?![\w*_~])"
# Emoji with their variation selectors and joiners; keycaps (1️⃣) begin with an ASCII character.
EMOJI = "[0-9#*](?=\ufe0f?\u20e3)|[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3]+"
HIDDEN = re.compile(
    f"{IMAGE}|{RAW_ELEMENT}|{TAG}|{TABLE_ROW}|{RULE}|{LINE_PREFIX}|{EMPHASIS}|{EMOJI}", re.MULTILINE | re.DOTALL
)

PREFIXED_LINE = re.compile(LINE_PREFIX, re.MULTILINE)
# The line under a heading: === or ---
UNDERLINE = re.compile(r"[ \t]*(?:={3,}|-{3,})\s*$", re.MULTILINE)
# An initial, as in "J. Smith"; "I" is a pronoun.
INITIAL = re.compile("[A-HJ-Z]")
# What stands before a figure and ends with a full stop: ca. $75,000, No. 5
BEFORE_FIGURE = re.compile(r"(?i:ca|approx|nos?|vol|figs?|pp?|ch|sec|eq|art|est|min|max|incl|excl)\.?")
# A unit with a full stop, which spaCy takes for one word after a figure: 13.5m.
UNIT_AND_STOP = re.compile(r"[A-Za-z]{1,3}\.")
FIGURE_START = re.compile(r"[$€£¥]?\d|[$€£¥]")

OPENING = '"', "'", "“", "‘", "«", "(", "["

SPACY_LOCK = Lock()  # spaCy's memory zone belongs to all threads, so that only one of them may have it open

RoundTrip = Callable[[str], str]  # encodes and decodes a word; empty if the model does not know all its characters


class Token(NamedTuple):
    """A token with its offsets in the text. Masked tokens, names and words of a dictionary must not be changed."""

    start: int
    end: int
    text: str
    is_masked: bool = False
    is_in_dictionary: bool = False
    is_name: bool = False


class Segment(NamedTuple):
    """A sentence as its tokens in order."""

    tokens: tuple[Token, ...]
    is_heading_or_item: bool = False

    @property
    def source(self) -> str:
        """The text that the model reads."""
        return " ".join(token.text for token in self.tokens)


class Word(NamedTuple):
    """A word with its offset, as spaCy's rules split it."""

    start: int
    text: str


SplitWord = tuple[Word, bool, bool]  # a word, whether it is space, and whether spaCy begins a sentence with it


def cut_segments(text: str, round_trip: RoundTrip) -> Iterator[Segment]:
    """Split a paragraph into sentences."""
    visible, masked = mask_and_hide(text)
    for start, end in cut_lines(text):
        is_heading_or_item = bool(PREFIXED_LINE.match(text, start) or UNDERLINE.match(text, end))
        for sentence in cut_sentences(visible[start:end]):
            tokens = tuple(
                token
                for word in sentence
                if (token := read_token(Word(start + word.start, word.text), masked, round_trip))
            )
            if tokens:
                yield Segment(tokens, is_heading_or_item)


def read_token(word: Word, masked: set[int], round_trip: RoundTrip) -> Token | None:
    """Return the token that the model reads for a word; None if the word is hidden from it."""
    start, end = word.start, word.start + len(word.text)
    known = "" if is_foreign(word.text) else round_trip(word.text)
    if not masked.isdisjoint(range(start, end)) or (not known and is_latin(word.text)):
        return Token(start, end, MASK, True)
    return Token(start, end, known) if known else None


def is_latin(word: str) -> bool:
    """Whether a word has a Latin letter or a digit. Such a word is masked, not hidden: the sentence needs it."""
    chars = normalize("NFKD", word)
    return any((char.isascii() and char.isalnum()) or name(char, "").startswith("LATIN ") for char in chars)


def is_foreign(word: str) -> bool:
    """Whether a word is in another script. A model may know some of its letters, but no words of them."""
    return not word.isascii() and any(char.isalpha() for char in word) and not is_latin(word)


def mask_and_hide(text: str) -> tuple[str, set[int]]:
    """Replace hidden text by spaces and masked text by a word, each of the same length; also return masked offsets."""
    offsets: set[int] = set()
    visible = mask(text, CODE_ELEMENT, offsets)
    visible = LINK.sub(lambda match: f" {match[1]} ".ljust(len(match[0])), visible)
    visible = HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), visible)
    return mask(visible, MASKED, offsets), offsets


def mask(text: str, pattern: re.Pattern[str], offsets: set[int]) -> str:
    """Replace each match by a word of the same length, and add its offsets to `offsets`."""
    for match in list(pattern.finditer(text)):
        matched = match[0] if match["whole"] else match[0].rstrip(TRAILING)
        if matched.strip():
            start, end = match.start(), match.start() + len(matched)
            offsets.update(range(start, end))
            text = text[:start] + MASK * len(matched) + text[end:]
    return text


def cut_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of wrapped lines that belong together. The end of any other line ends a sentence."""
    start = end = 0
    lines = text.splitlines(keepends=True)
    for line, following in zip(lines, [*lines[1:], ""]):
        end += len(line)
        can_continue = following.strip() and not HIDDEN.match(following)
        is_wrapped = len(line) > LONG_LINE or following.lstrip()[:1].islower()
        if not (can_continue and is_wrapped):
            yield start, end
            start = end


def cut_sentences(text: str) -> Iterator[list[Word]]:
    """Split a text into sentences and words by spaCy's rules."""
    splitter = load_splitter()
    with SPACY_LOCK, splitter.memory_zone():  # outside a memory zone, spaCy stores every new word for good
        tokens = [(Word(token.idx, token.text), token.is_space, bool(token.is_sent_start)) for token in splitter(text)]
    sentence: list[Word] = []
    has_ended = False
    for word, is_space, is_start in end_after_figures(tokens):
        has_ended = has_ended or is_start
        if is_space:
            continue
        if sentence and has_ended and not continues(sentence, word.text):
            end = len(sentence)
            while end > 1 and is_opening(text, sentence[end - 1]):  # spaCy ends a sentence after all punctuation
                end -= 1
            yield sentence[:end]
            sentence = sentence[end:]
        has_ended = False
        sentence.append(word)
    if sentence:
        yield sentence


def end_after_figures(tokens: list[SplitWord]) -> Iterator[SplitWord]:
    """Cut the full stop off a unit that is attached to a figure, where a sentence may begin after it: "13.5m. We"."""
    has_ended, before = False, Word(0, "")
    for k, (word, is_space, is_start) in enumerate(tokens):
        is_start = is_start or (has_ended and not is_space)
        has_ended = has_ended and is_space
        following = [other.text for other, other_is_space, _ in tokens[k + 1 : k + 3] if not other_is_space]
        is_attached = before.text[-1:].isdigit() and before.start + len(before.text) == word.start
        if is_attached and UNIT_AND_STOP.fullmatch(word.text) and (not following or following[0][:1].isupper()):
            yield Word(word.start, word.text[:-1]), False, is_start
            yield Word(word.start + len(word.text) - 1, "."), False, False
            has_ended = True
        else:
            yield word, is_space, is_start
        before = word


def is_opening(text: str, word: Word) -> bool:
    """Whether a word is a quote or bracket of what follows: space or another one before it, no space after it."""
    before, after = text[word.start - 1 : word.start], text[word.start + len(word.text) :][:1]
    return word.text in OPENING and (before.isspace() or before in OPENING) and not after.isspace()


def continues(sentence: list[Word], following: str) -> bool:
    """Whether a full stop did not end the sentence.

    It follows an initial, a small letter follows it, or it stands between an abbreviation and a figure.
    """
    if sentence[-1].text != "." or len(sentence) == 1:
        last, is_initial = sentence[-1].text, False
    else:
        last, is_initial = sentence[-2].text, bool(INITIAL.fullmatch(sentence[-2].text))
    is_abbreviation = BEFORE_FIGURE.fullmatch(last) and FIGURE_START.match(following)
    return following[:1].islower() or is_initial or bool(is_abbreviation)


@cache
def load_splitter() -> "Language":
    """Load spaCy's English tokenizer and its rule-based sentence splitter."""
    import spacy

    splitter = spacy.blank("en")
    splitter.add_pipe("sentencizer")
    splitter.max_length = 10_000_000
    return splitter
