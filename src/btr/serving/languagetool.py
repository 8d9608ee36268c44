"""LanguageTool's protocol: edits as its matches, so that its clients work with this server."""

import json
import re
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic import ValidationError

from btr import __version__
from btr.serving.guard import Refused
from btr.serving.schemas import Check, check_words

Record = dict[str, Any]

VARIANTS = {"US": "US", "GB": "GB", "AU": "Australian", "CA": "Canadian", "NZ": "New Zealand", "ZA": "South African"}
LANGUAGES = [
    {"name": "English", "code": "en", "longCode": "en"},
    *({"name": f"English ({name})", "code": "en", "longCode": f"en-{code}"} for code, name in VARIANTS.items()),
]
WORD = re.compile(r"\s*(?:[\w'’-]+|\S)")
WORD_BEFORE = re.compile(r"(?:[\w'’-]+|\S)\s*\Z")
CONTEXT = 40  # characters around a match
GRAMMAR = "GRAMMAR", "Grammar", "grammar"
CATEGORIES = {  # by the last part of an ERRANT type: LanguageTool's id, its name, and the kind of issue
    "SPELL": ("TYPOS", "Possible Typo", "misspelling"),
    "PUNCT": ("PUNCTUATION", "Punctuation", "typographical"),
    "ORTH": ("CASING", "Capitalization", "typographical"),
}
WORDS = {
    "SPELL": "spelling",
    "PUNCT": "punctuation",
    "ORTH": "upper and lower case, or spaces",
    "DET": "an article or determiner",
    "PREP": "a preposition",
    "SVA": "agreement of subject and verb",
    "TENSE": "the verb's tense",
    "FORM": "the word's form",
    "NUM": "singular or plural",
    "INFL": "inflection",
    "POSS": "the possessive",
    "WO": "word order",
    "NOUN": "a noun",
    "VERB": "a verb",
    "ADJ": "an adjective",
    "ADV": "an adverb",
    "PRON": "a pronoun",
    "CONJ": "a conjunction",
    "PART": "a particle",
    "CONTR": "a contraction",
    "MORPH": "the form of a word",
}


class Text(NamedTuple):
    """A text as it is corrected, what the client sent (UTF-16), and from where to where each character stands there."""

    plain: str
    sent: bytes
    spans: Sequence[tuple[int, int]]


class Wanted(NamedTuple):
    """Which rules and categories a client wants to hear of."""

    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()
    only: bool = False

    @classmethod
    def of(cls, asked: Check) -> "Wanted":
        """What a request names, by rules and by categories."""
        disabled = f"{asked.disabledRules},{asked.disabledCategories}".split(",")
        enabled = f"{asked.enabledRules},{asked.enabledCategories}".split(",")
        return cls(frozenset(disabled) - {""}, frozenset(enabled) - {""}, asked.enabledOnly)

    def __call__(self, rule: str, category: str) -> bool:
        named = {rule, category}
        return not named & self.disabled and (not self.only or bool(named & self.enabled))


def read_form(query: str, body: bytes) -> Check:
    """What a client sends, in the address or as a form, whatever it calls it: LTeX says that its form is JSON."""
    try:
        read = partial(parse_qsl, keep_blank_values=True, errors="strict")
        fields = [*read(query), *read(body.decode())]
        return Check.model_validate({name: value for name, value in fields if value or name == "text"})
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, own['loc']))}: {own['msg']}" for own in error.errors())
        raise Refused(400, f"{told}.") from None
    except UnicodeDecodeError:
        raise Refused(400, "the form is not UTF-8.") from None


def check_language(code: str) -> Record:
    """The language of a code; `auto` is English, since sentences in others are left alone."""
    wanted = "en" if code == "auto" else code
    for language in LANGUAGES:
        if language["longCode"].lower() == wanted.lower():
            return language
    raise Refused(400, f"'{code[:20]}' is not a language code known here; use en, en-US, en-GB … or auto.")


def read_text(text: str | None, data: str | None) -> Text:
    """The text of a request: plain, or annotated with markup that is not to be read."""
    if (text is None) == (data is None):
        raise Refused(400, "send either text or data.")
    if text is not None:
        return join_parts([(text, "", "")])
    try:
        parts = json.loads(data or "")["annotation"]
        read = [(part.get("text"), part.get("markup", ""), part.get("interpretAs", "")) for part in parts]
        check_words("".join(part for own in read for part in own if part))
        return join_parts(read)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused(400, 'data must be JSON: {"annotation": [{"text": "…"}, {"markup": "…"}]}.') from None


def join_parts(parts: Sequence[tuple[str | None, str, str]]) -> Text:
    """Texts as they are, and markup as what it stands for, each character of which takes all of the markup's place."""
    plain, sent, spans, place = [], [], [], 0
    for text, markup, meaning in parts:
        if text is None:
            end = place + sum(map(units, markup))
            spans += [(place, end)] * len(meaning)
        else:
            *_, end = places = [*accumulate(map(units, text), initial=place)]
            spans += pairwise(places)
        plain.append(meaning if text is None else text)
        sent.append(markup if text is None else text)
        place = end
    return Text("".join(plain), "".join(sent).encode("utf-16-le"), [*spans, (place, place)])


def units(char: str) -> int:
    """How long Java takes a character to be."""
    return 2 if ord(char) > 0xFFFF else 1


def check(text: Text, language: Record, sentences: Sequence[Record], wanted: Wanted) -> Record:
    """LanguageTool's answer to `/v2/check`."""
    matches = []
    for sentence in sentences:
        for edit in widen_all(text.plain, sentence):
            match = write_match(text, sentence, edit)
            if match and wanted(match["rule"]["id"], match["rule"]["category"]["id"]):
                matches.append(match)
    return {
        "software": {
            "name": "btr",
            "version": __version__,
            "buildDate": "",
            "apiVersion": 1,
            "premium": False,
            "status": "",
        },
        "warnings": {"incompleteResults": False},
        "language": {
            "name": language["name"],
            "code": language["longCode"],
            "detectedLanguage": {"name": language["name"], "code": language["longCode"], "confidence": 1.0},
        },
        "matches": matches,
        "sentenceRanges": [[text.spans[s["start"]][0], text.spans[s["end"] - 1][1]] for s in sentences],
    }


def widen_all(plain: str, sentence: Record) -> list[Record]:
    """A sentence's edits, none over another, each with a place and a replacement: clients want both.

    One that has no word of its own beside it, as the second of two that put something around a word, joins the first.
    """
    edits = sentence["edits"]
    wide: list[Record] = []
    for edit, after in zip(edits, [*(other["start"] for other in edits[1:]), sentence["end"]]):
        own = widen(plain, edit, wide[-1]["end"] if wide else sentence["start"], after)
        if wide and is_bare(plain, own):
            own = join_edits(plain, wide.pop(), own)
        wide.append(own)
    return wide


def is_bare(plain: str, edit: Record) -> bool:
    """Whether an edit only puts in or takes away."""
    return not (plain[edit["start"] : edit["end"]].strip() and edit["replacement"].strip())


def join_edits(plain: str, first: Record, second: Record) -> Record:
    """Two edits as one, with what stands between them."""
    between = plain[first["end"] : second["start"]]
    return {
        **first,
        "end": second["end"],
        "replacement": first["replacement"] + between + second["replacement"],
        "type": f"{first['type']}+{second['type']}",
    }


def widen(plain: str, edit: Record, before: int, after: int) -> Record:
    """An edit with a word beside it, if it is bare."""
    start, end, new = edit["start"], edit["end"], edit["replacement"]
    if not is_bare(plain, edit):
        return edit
    right = WORD.match(plain, end, after)
    if right:
        return {**edit, "end": right.end(), "replacement": new + right[0]}
    left = WORD_BEFORE.search(plain[before:start])
    own = left[0] if left else ""
    return {**edit, "start": start - len(own), "replacement": own + new}


def write_match(text: Text, sentence: Record, edit: Record) -> Record | None:
    """An edit as a match; None if markup stands in it."""
    start, end = edit["start"], edit["end"]
    plain = text.plain
    offset = text.spans[start][0]
    stop = text.spans[end - 1][1] if end > start else offset
    if text.sent[2 * offset : 2 * stop].decode("utf-16-le").split() != plain[start:end].split():
        return None
    kind = edit["type"].split("+")[0]
    category, name, issue = CATEGORIES.get(kind.split(":")[-1], GRAMMAR)
    message = explain(edit["type"])
    low, high = max(0, start - CONTEXT), min(len(plain), end + CONTEXT)
    return {
        "message": message,
        "shortMessage": name,
        "replacements": [{"value": edit["replacement"]}],
        "offset": offset,
        "length": stop - offset,
        "context": {
            "text": plain[low:high],
            "offset": sum(map(units, plain[low:start])),
            "length": sum(map(units, plain[start:end])),
        },
        "sentence": plain[sentence["start"] : sentence["end"]],
        "type": {"typeName": "Other"},
        "rule": {
            "id": kind.replace(":", "_"),
            "description": message,
            "issueType": issue,
            "category": {"id": category, "name": name},
        },
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": 0,
    }


def explain(types: str) -> str:
    """ERRANT's types in words."""
    parts = [kind.split(":") for kind in types.split("+")]
    words = dict.fromkeys(WORDS.get(part[-1], "the wording") for part in parts)
    doing = {"M": "Missing", "U": "Unnecessary"}.get(parts[0][0], "Check")
    return f"{doing}: {' and '.join(words)}." if len(parts) == 1 else f"Check: {' and '.join(words)}."
