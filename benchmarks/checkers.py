"""What finds errors in ordinary text: Harper, LingoTweaker, Quire, and any server of LanguageTool's protocol.

Each gives for a text the first suggestion of every finding. Those that are not installed are left out, with a sentence.
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from plain_text import Finding

from btr.errors import InputError

CODES = {"American": "en-US", "British": "en-GB"}  # both kinds of English, as LanguageTool names them
TIMEOUT = 60  # seconds for a sentence
LANGUAGETOOL_STYLE = frozenset(
    [
        "AMERICAN_ENGLISH_STYLE",
        "BRE_STYLE_OXFORD_SPELLING",
        "CREATIVE_WRITING",
        "PLAIN_ENGLISH",
        "REDUNDANCY",
        "REPETITIONS_STYLE",
        "STYLE",
        "TON_ACADEMIC",
        "TYPOGRAPHY",
    ]
)


class Checker(Protocol):
    """What finds errors in ordinary text; `style` are its kinds of findings about style and typography."""

    name: str
    version: str
    style: frozenset[str]

    def find(self, text: str) -> list[Finding]:
        """What the checker would replace, each with its first suggestion."""


class Harper:
    """Harper's rules as they are by default."""

    style = frozenset({"Enhancement", "Formatting", "Readability", "Redundancy", "Regionalism", "Style"})

    def __init__(self, english: str) -> None:
        import harper

        self.name = f"Harper, {english}"
        self.version = f"harper-py {version('harper-py')}"
        self.linter = harper.Linter(harper.Dialect[english.upper()])
        self.insertion = harper.SuggestionKind.INSERT_AFTER

    def find(self, text: str) -> list[Finding]:
        found = []
        for lint in self.linter.lint(text, language="plaintext"):
            for suggestion in lint.suggestions[:1]:
                start = lint.span.end if suggestion.kind == self.insertion else lint.span.start
                found.append(Finding(start, lint.span.end, suggestion.replacement_text, lint.lint_kind))
        return found


class LingoTweaker:
    """LanguageTool's rules as they are by default."""

    style = LANGUAGETOOL_STYLE

    def __init__(self, english: str) -> None:
        import lt_py

        self.name = f"LingoTweaker, {english}"
        self.version = " ".join(f"{name} {version(name)}" for name in ("lingotweaker", "lingotweaker-data-en"))
        self.engine = lt_py.Engine(CODES[english])

    def find(self, text: str) -> list[Finding]:
        found = []
        encoded = text.encode()
        for match in self.engine.check(text):
            for suggestion in match["suggestions"][:1]:  # their offsets count bytes
                start, end = (
                    len(encoded[:offset].decode()) for offset in (match["offset"], match["offset"] + match["length"])
                )
                found.append(Finding(start, end, suggestion, match["category_id"]))
        return found


class Quire:
    """Quire's rules as they are by default, and its DistilBERT that tags words with edits. It knows one English."""

    style = frozenset({"style"})

    def __init__(self) -> None:
        from quire_grammar import check
        from quire_grammar.model import is_available

        if not is_available():
            raise ImportError("quire-grammar has no model, so only its rules would be measured")
        self.name = "Quire"
        self.version = " ".join(f"{name} {version(name)}" for name in ("quire-grammar", "quire-grammar-model"))
        self.check: Callable[[str], Any] = check

    def find(self, text: str) -> list[Finding]:
        return [
            Finding(each.start, each.end, suggestion, each.category)
            for each in self.check(text)
            for suggestion in each.suggestions[:1]
        ]


class LanguageToolServer:
    """A server of LanguageTool's protocol at an address such as http://127.0.0.1:8081: LanguageTool's own, or btr's."""

    style = LANGUAGETOOL_STYLE

    def __init__(self, address: str, english: str) -> None:
        self.address, self.language = f"{address.rstrip('/').removesuffix('/v2')}/v2/check", CODES[english]
        software = self.ask("This is an test.").get("software", {})
        self.name = f"{software.get('name', 'LanguageTool')} (server), {english}"
        self.version = f"{software.get('name', 'LanguageTool')} {software.get('version', 'unknown')} at {address}"

    def find(self, text: str) -> list[Finding]:
        if not text.strip():
            return []
        encoded = text.encode("utf-16-le")  # Java counts units of UTF-16
        found = []
        for match in self.ask(text)["matches"]:
            for suggestion in match["replacements"][:1]:
                start, end = (
                    len(encoded[: 2 * offset].decode("utf-16-le"))
                    for offset in (match["offset"], match["offset"] + match["length"])
                )
                found.append(Finding(start, end, suggestion["value"], match["rule"]["category"]["id"]))
        return found

    def ask(self, text: str) -> dict[str, Any]:
        """Return what the server answers about a text."""
        form = urlencode({"text": text, "language": self.language}).encode()
        try:
            with urlopen(self.address, form, timeout=TIMEOUT) as response:
                answer = json.load(response)
        except HTTPError as error:
            said = error.read().decode(errors="replace")[:200]
            raise InputError(f"{self.address}: answers {error.code} ({said.strip() or error.reason}).") from None
        except (URLError, OSError, ValueError) as error:
            raise InputError(f"{self.address}: no server of LanguageTool's protocol answers ({error}).") from None
        if not isinstance(answer, dict) or "matches" not in answer:
            raise InputError(f"{self.address}: answers without matches, so it is no server of LanguageTool's protocol.")
        return answer


def load_peers(languagetool: str | None = None) -> list[Checker]:
    """Return all peers that are installed, in each kind of English that they have, and the server at an address.

    A sentence on standard error names those that are not installed.
    """
    servers: list[Checker] = [] if languagetool is None else [LanguageToolServer(languagetool, name) for name in CODES]
    makers: dict[str, Callable[[], list[Checker]]] = {
        "Harper": lambda: [Harper(name) for name in CODES],
        "LingoTweaker": lambda: [LingoTweaker(name) for name in CODES],
        "Quire": lambda: [Quire()],
    }
    peers: list[Checker] = []
    for name, make in makers.items():
        try:
            peers += make()
        except ImportError as error:
            print(f"peers: {name} is left out: pip install 'btr-gec[peers]' ({error}).", file=sys.stderr)
    if not peers and not servers:
        raise InputError("no peer is installed: pip install 'btr-gec[peers]', or name a server with --languagetool.")
    return peers + servers
