"""Find text that the model reads but must not change: figures with their signs and units, and names of commands.

Unlike masked text, the sentence needs it: "2 dog" should become "2 dogs".
"""

import re
from collections.abc import Sequence

from btr.corpus.m2 import Edit
from btr.correction.segments import Token

CURRENCY = "$€£¥₹₽₩"
SIGNS = frozenset("$£€#-–/+")  # written without a space between them and a number after them
CURRENCY_CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|US\\$|C\\$|A\\$"
UNITS = (
    "a\\.m\\.|p\\.m\\.|am|pm|AM|PM|%|‰|°C|°F|°|K|[munpkMGT]?(?:m|g|s|V|A|W|Hz|J|N|Pa|Wh|l|L)|[cd]m|[kMGT]i?[Bb]|hPa|"
    "km/h|mph|m/s|m²|km²|m³|min|hr?|hrs|ha|ft|lbs?|oz|px|dpi|fps|rpm|dB|mAh|bpm|ppm|kcal|cal"
)
# 1,250; -0.18; $5; 3.5%; 12:30; 2024-01-31; v2.1.0; COVID-19; 1990s: what stands together with a digit.
FIGURE = (
    r"(?<![^\s()\[\]{}\"“”‘—…!?;])"  # only where a word begins: else a long run would be read from every character
    rf"(?:(?:{CURRENCY_CODES})[ \u00a0]?|[{CURRENCY}]+[ \u00a0]?)?"
    r"[^\s()\[\]{}\"“”‘—…!?;]*\d(?:[^\s()\[\]{}\"“”—…!?;]*[^\s()\[\]{}\"“”’'—…!?;.,:/–-])?"
    rf"(?:[ \u00a0\u202f]?(?:{UNITS}|{CURRENCY_CODES}|[{CURRENCY}])(?!\w))?"
)
# iPhone, camelCase, GitHub
INNER_CAPITAL = r"\b(?=[A-Za-z]*[a-z][A-Z])[A-Za-z]++\b"
COMMAND = (
    "npm|npx|pnpm|yarn|pip3?|pipx|conda|git|docker|docker-compose|podman|kubectl|helm|terraform|cargo|rustup|brew|"
    "apt|apt-get|dnf|yum|pacman|sudo|curl|wget|ssh|scp|rsync|chmod|chown|mkdir|rmdir|grep|sed|awk|systemctl|"
    "cmake|gcc|clang|mypy|pytest|ruff|tox|btr|vim|emacs|zsh|bash|tar|gzip|unzip|cd|ls|cp|mv|rm"
)
SUBCOMMAND = (
    "install|uninstall|add|remove|run|exec|build|test|start|stop|init|clone|commit|push|pull|fetch|merge|rebase|"
    "checkout|switch|branch|status|diff|log|stash|tag|reset|publish|update|upgrade|list|ls|show|freeze|search|apply|"
    "get|delete|describe|logs|compose|up|down|ps|images|new|check|clippy|fmt|ci|audit|config|create|activate|env"
)
# Commands that are English words as well: only with what they are to do.
ORDINARY_WORD = (
    r"make (?:test|tests|install|build|clean|docs|lint|demo)|go (?:build|test|mod|fmt|vet)|"
    rf"(?:uv|poetry) (?:{SUBCOMMAND})|"
    r"(?:python3?|node|ruby|java) (?:-m \w+|[\w./-]+\.\w+)"
)
# npm; make test; git commit -m "fix bug"
COMMANDS = (
    rf"(?<![\w/.-])(?:(?:{ORDINARY_WORD})(?![\w'’-])|(?:{COMMAND})(?![\w/-]))"
    rf"(?:[ ](?:{SUBCOMMAND})(?![\w'’-])(?:[ ](?:--?[A-Za-z][\w-]*(?:=\S+)?|\"[^\"\n]*\"|'[^'\n]*'))*)?"
)
ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
FIXED = re.compile(f"{FIGURE}|{INNER_CAPITAL}|{COMMANDS}")


def is_figure(word: str) -> bool:
    """Whether a word has a digit or a sign of a currency, or is a sign that follows a number."""
    return any(char.isdigit() or char in CURRENCY for char in word) or word in ("%", "‰", "°")


class FixedTokens:
    """Says which tokens of a sentence must not be changed, and so which edits can't be made."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.spans: list[int | None] = [None] * len(tokens)  # the number of the fixed span that a token belongs to
        if not tokens:
            return
        first, index = tokens[0].start, 0
        for number, match in enumerate(FIXED.finditer(text, first, tokens[-1].end)):
            while index < len(tokens) and tokens[index].end <= match.start():
                index += 1
            while index < len(tokens) and tokens[index].start < match.end():
                self.spans[index] = number
                index += 1

    def allow(self, edit: Edit) -> bool:
        """Whether an edit neither changes fixed text nor adds a figure; the ending of an ordinal may change."""
        start, end, words = edit.start, edit.end, edit.corrections[0].split()
        removed = [token.text for token in self.tokens[start:end]]
        if end - start == len(words) == 1 and is_same_ordinal(removed[0], words[0]):
            return True
        if any(map(is_figure, words)) or any(span is not None for span in self.spans[start:end]):
            return False
        before = self.spans[start - 1] if start else None
        after = self.spans[end] if end < len(self.tokens) else None
        sign = words[-1] if words else self.tokens[start - 1].text if start else ""
        if after is not None and sign in SIGNS:  # it would be attached to the figure: 5 → -5
            return False
        if before is None or after is None:
            return True
        has_word = any(char.isalpha() for word in [*removed, *words] for char in word)
        return has_word and not (start == end and before == after)


def is_same_ordinal(one: str, other: str) -> bool:
    """Whether two words are the same ordinal number, perhaps with another ending: 21th, 21st."""
    numbers = [match[1] for word in (one, other) if (match := ORDINAL.fullmatch(word))]
    return len(numbers) == 2 and numbers[0] == numbers[1]
