"""Prose as the model sees it: sentences, cut into tokens that know their place in the text.

What a model should not touch is hidden from it. URLs, code, words that it can't write and the like become the word X;
marks of Markdown, tags, emoji and words of other scripts are not seen at all, and stay where they are.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from unicodedata import name, normalize

STAND_IN = "X"  # what the model reads in place of a URL, code, or a word that it can't write
LONG_LINE = 60  # characters: a line that long was probably broken because the page ended, not the sentence

TRAILING = ".,;:!?'\"”’"  # not a URL's own when they end it
LONG = rf"\S{{200,}}?(?=[{TRAILING}]{{0,3}}(?!\S))"  # no word, and spaCy takes long for long runs of signs
URL = r"(?:https?://|ftp://|www\.)[^\s<>\"]+|[\w.+-]+@[\w-]+\.[\w.-]+"
CODE = r"(?<!`)(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`)"
FLAG = r"(?<!\S)--?\w[\w=-]*|(?<!\S)[@#\\~]\w[\w./-]*"
ENTITY = r"&#?\w+;"
IDENTIFIER = r"(?<![^\s(\[\"'“‘])[^\s(\[\"'“‘]*[\w.)\]][_\\{}=<>@#^~|]\S*[\w)/]"
FIXED = re.compile(f"(?P<whole>{CODE}|{LONG}|{ENTITY})|{URL}|{FLAG}|{IDENTIFIER}", re.DOTALL)
NAMED = r"(?<=`)<[^<>]*>`"  # a tag that is only talked about
ELEMENT = re.compile(rf"(?P<whole>(?!{NAMED})(?i:<(?P<tag>code|kbd)\b[^<>]*>.*?</(?P=tag)\s*>))", re.DOTALL)

IMAGE = r"!\[[^\]\n]{0,300}\]\([^)\n]*\)"
LINK = re.compile(r"(?<!!)\[([^\]\n]{0,300})\]\([^)\n]*\)")
HIDDEN = rf"(?!{NAMED})(?i:<(?P<tag>pre|script|style)\b[^<>]*>.*?(?:</(?P=tag)\s*>|\Z))"
TAG = r"</?[A-Za-z][^<>\n]*>|<!--.*?-->"
TABLE = r"^[ \t]*\|[^\n]*$"
START = r"^[ \t]*(?:(?:#{1,6}|>|[-*+•]|\d{1,3}[.)]|\[[ xX]\])[ \t]+)+|^[ \t]*>"
RULE = r"^[ \t]*(?:[-=*_~][ \t]*){3,}\r?$"
STRESS = r"(?<![\w*_~])(?:\*{1,3}|_{1,3}|~~)(?=[^\s*_~])|(?<=[^\s*_~])(?:\*{1,3}|_{1,3}|~~)(?![\w*_~])"
SIGN = "\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3"  # emoji, and what varies and joins them
EMOJI = f"[0-9#*](?=\ufe0f?\u20e3)|[{SIGN}]+"
UNSEEN = re.compile(f"{IMAGE}|{HIDDEN}|{TAG}|{TABLE}|{RULE}|{START}|{STRESS}|{EMOJI}", re.MULTILINE | re.DOTALL)
MARKED = re.compile(START, re.MULTILINE)
UNDERLINE = re.compile(r"[ \t]*(?:={3,}|-{3,})\s*$", re.MULTILINE)

READING = Lock()  # one text at a time: what spaCy reads meanwhile is forgotten with it

See = Callable[[str], str]  # a word as the model reads and writes it


class Token(NamedTuple):
    """A word that the model sees, and where it stands in the text."""

    start: int
    end: int
    seen: str
    fixed: bool = False  # a stand-in, which must not be changed


class Segment(NamedTuple):
    """A sentence: its tokens in order. `marked` says that it is a heading or an item of a list."""

    tokens: tuple[Token, ...]
    marked: bool = False

    @property
    def source(self) -> str:
        """What the model reads."""
        return " ".join(token.seen for token in self.tokens)


def cut_segments(text: str, see: See) -> Iterator[Segment]:
    """The sentences of a paragraph."""
    shown, fixed = hide(text)
    for start, end in cut_lines(text):
        marked = bool(MARKED.match(text, start) or UNDERLINE.match(text, end))
        for sentence in cut_sentences(shown[start:end]):
            tokens = []
            for place, word in sentence:
                place += start
                is_hidden = not fixed.isdisjoint(range(place, place + len(word)))
                known = "" if is_foreign(word) else see(word)
                is_fixed = is_hidden or (not known and is_latin(word))
                seen = STAND_IN if is_fixed else known
                if seen:
                    tokens.append(Token(place, place + len(word), seen, is_fixed))
            if tokens:
                yield Segment(tuple(tokens), marked)


def is_latin(word: str) -> bool:
    """Whether a word has a Latin letter or a digit: without it, the sentence would not be whole."""
    chars = normalize("NFKD", word)
    return any((char.isascii() and char.isalnum()) or name(char, "").startswith("LATIN ") for char in chars)


def is_foreign(word: str) -> bool:
    """Whether a word is of another script, some of whose letters the model knows but can't use."""
    return not word.isascii() and any(char.isalpha() for char in word) and not is_latin(word)


def hide(text: str) -> tuple[str, set[int]]:
    """A text of the same length in which the unseen is blank and the fixed a word; and where the fixed is."""
    places: set[int] = set()
    shown = fix(text, ELEMENT, places)
    shown = LINK.sub(lambda match: f" {match[1]} ".ljust(len(match[0])), shown)
    shown = UNSEEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), shown)
    return fix(shown, FIXED, places), places


def fix(text: str, pattern: re.Pattern[str], places: set[int]) -> str:
    """A text with a word of the same length for each match; where they are is added to `places`."""
    for match in list(pattern.finditer(text)):
        word = match[0] if match["whole"] else match[0].rstrip(TRAILING)
        if word.strip():
            places.update(range(match.start(), match.start() + len(word)))
            text = text[: match.start()] + STAND_IN * len(word) + text[match.start() + len(word) :]
    return text


def cut_lines(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of lines that belong together: a line that is not long, or before a mark, ends a sentence."""
    start = end = 0
    lines = text.splitlines(keepends=True)
    for line, following in zip(lines, [*lines[1:], ""]):
        end += len(line)
        goes_on = following.strip() and not UNSEEN.match(following)
        broken = len(line) > LONG_LINE or following.lstrip()[:1].islower()
        if not (goes_on and broken):
            yield start, end
            start = end


def cut_sentences(text: str) -> Iterator[list[tuple[int, str]]]:
    """Sentences by spaCy's rules, as words and their places."""
    rules = load_rules()
    with READING, rules.memory_zone():  # else spaCy keeps every word that it ever saw
        tokens = [(token.idx, token.text, token.is_space, bool(token.is_sent_start)) for token in rules(text)]
    sentence: list[tuple[int, str]] = []
    ended = False
    for place, word, is_space, is_start in tokens:
        ended = ended or is_start
        if is_space:
            continue
        if sentence and ended and not continues(sentence, word):
            yield sentence
            sentence = []
        ended = False
        sentence.append((place, word))
    if sentence:
        yield sentence


def continues(sentence: list[tuple[int, str]], word: str) -> bool:
    """Whether a full stop was none: a small letter follows, or it stood after an initial."""
    is_initial = sentence[-1][1] == "." and len(sentence) > 1 and re.fullmatch("[A-HJ-Z]", sentence[-2][1])
    return word[:1].islower() or bool(is_initial)


@cache
def load_rules() -> Any:
    """spaCy's English tokenizer, and its rule-based sentence splitter."""
    import spacy

    rules = spacy.blank("en")
    rules.add_pipe("sentencizer")
    rules.max_length = 10_000_000
    return rules
