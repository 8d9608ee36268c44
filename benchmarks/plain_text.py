"""Tokenised sentences as people write them, for checkers of ordinary text; and back, with the checkers' corrections.

Tokens are glued into words by simple rules ("do n't" is "don't", a comma has no space before it). A checker sees words
with a space between them. Its replacements are applied to that text; then words that are still the same get back the
very tokens of the source, and only the others are tokenised anew. So tokens come back exactly if nothing is found, and
whatever only moves spaces between a word and a punctuation mark changes nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain

import spacy

Tokenise = Callable[[str], list[str]]

CLITIC = re.compile(r"n['’]t|['’](s|m|re|ve|ll|d)", re.IGNORECASE)
ENDING = re.compile(r"[.,;:!?%)\]}…»”]+|''")
OPENING = re.compile(r"[(\[{$£€«“‘]|``")
HALVES = {"gon": "na", "wan": "na", "got": "ta", "gim": "me", "lem": "me"}
TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."})


@dataclass(frozen=True)
class Finding:
    """What a checker would put in place of the characters `start` to `end`, and the checker's kind of finding."""

    start: int
    end: int
    replacement: str
    kind: str = ""


def glue(tokens: Sequence[str], hyphens: bool = True) -> list[list[str]]:
    """The tokens of each word, as written without spaces; with `hyphens`, a hyphen alone joins its neighbours."""
    words: list[list[str]] = []
    opened: set[str] = set()
    joins = False  # whether the next token belongs to the same word
    for k, token in enumerate(tokens):
        before, after = (tokens[k - 1] if k else ""), (tokens[k + 1] if k + 1 < len(tokens) else "")
        left = bool(CLITIC.fullmatch(token) or ENDING.fullmatch(token)) or HALVES.get(before.lower()) == token.lower()
        right = bool(OPENING.fullmatch(token))
        if token == "/" or (token == "-" and hyphens):
            left = right = before[-1:].isalnum() and after[:1].isalnum()
        elif token == "'" and CLITIC.fullmatch(token + after):
            left = right = True
        elif token == "'" and before.lower().endswith("s") and token not in opened:
            left = True  # the students' own
        elif token in ("'", '"'):
            left, right = token in opened, token not in opened
            opened ^= {token}
        if words and (left or joins):
            words[-1].append(token)
        else:
            words.append([token])
        joins = right
    return words


def as_text(words: Iterable[Sequence[str]]) -> str:
    """What a checker reads."""
    return " ".join("".join(word) for word in words)


def apply(text: str, findings: Iterable[Finding]) -> str:
    """The text with the replacements, from left to right; one that overlaps an earlier one is passed over."""
    parts: list[str] = []
    end, last = 0, (-1, -1)
    for finding in sorted(findings, key=lambda finding: finding.start):
        if finding.start >= end and (finding.start, finding.end) != last:
            parts += [text[end : finding.start], finding.replacement]
            end, last = finding.end, (finding.start, finding.end)
    return "".join([*parts, text[end:]])


def correct(words: Sequence[Sequence[str]], findings: Iterable[Finding], tokenise: Tokenise) -> list[str]:
    """The corrected sentence's tokens: those of the source where words are the same, new ones elsewhere."""
    old = ["".join(word) for word in words]
    new = apply(as_text(words), findings).split()
    tokens: list[str] = []
    for operation, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        tokens += chain.from_iterable(words[a:b]) if operation == "equal" else tokenise(" ".join(new[c:d]))
    return tokens


def matters(words: Sequence[Sequence[str]], finding: Finding, tokenise: Tokenise) -> bool:
    """Whether a finding is about more than spaces and the shape of quotes, dashes and dots."""
    old, new = chain.from_iterable(words), correct(words, [finding], tokenise)
    return fold(old) != fold(new)


def fold(tokens: Iterable[str]) -> str:
    """Tokens with all quotes, dashes and dots of the plainest shape."""
    return " ".join(tokens).translate(TYPOGRAPHY).replace("''", '"')


def make_tokeniser(hyphens: bool = True) -> Tokenise:
    """spaCy's English tokeniser; without `hyphens` it leaves hyphenated words and "cannot" whole, as JFLEG does."""
    tokenizer = spacy.blank("en").tokenizer
    if not hyphens:
        infixes = [infix for infix in spacy.blank("en").Defaults.infixes if "|–|" not in infix]
        tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer
        tokenizer.rules = {word: parts for word, parts in tokenizer.rules.items() if word.lower() != "cannot"}
    return lambda text: [token.text for token in tokenizer(text) if not token.is_space]
