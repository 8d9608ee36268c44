"""The protocol of LanguageTool: its clients get a sentence's edits as matches."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from pydantic import ValidationError

from btr import __version__
from btr.correction.changes import Change
from btr.correction.reasons import explanation_of, name_of
from btr.correction.records import CorrectedSentence
from btr.correction.variants import OfferedProfile
from btr.serving.errors import RequestError
from btr.serving.schemas import CheckRequest, check_plain

Json = dict[str, Any]  # LanguageTool's, which this module writes

VARIANTS = {"US": "US", "GB": "GB", "AU": "Australian", "CA": "Canadian", "NZ": "New Zealand", "ZA": "South African"}
LANGUAGES: list[dict[str, str]] = [
    {"name": "English", "code": "en", "longCode": "en"},
    *({"name": f"English ({name})", "code": "en", "longCode": f"en-{code}"} for code, name in VARIANTS.items()),
]
SOFTWARE: Json = {
    "name": "btr",
    "version": __version__,
    "buildDate": "",
    "apiVersion": 1,
    "premium": False,
    "status": "",
}
WORD = re.compile(r"\s*(?:[\w'’-]+|\S)")
WORD_BEFORE = re.compile(r"(?:[\w'’-]+|\S)\s*\Z")
PICKY_PROFILE = "fluency"  # its cut-off is that of level=picky
PICKY_CUTOFF = 0.2  # where there is no such profile
CONTEXT = 40  # characters on each side of a match
GRAMMAR = "GRAMMAR", "Grammar", "grammar"
CATEGORIES = {  # by the last part of an ERRANT type: LanguageTool's id, its name, and the kind of issue
    "SPELL": ("TYPOS", "Possible Typo", "misspelling"),
    "PUNCT": ("PUNCTUATION", "Punctuation", "typographical"),
    "ORTH": ("CASING", "Capitalization", "typographical"),
}


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with markup: `plain` is corrected, `sent` is what the client sent, in UTF-16.

    `spans` has the start and end of each character of `plain` in `sent`, in units of UTF-16, as Java counts.
    """

    plain: str
    sent: bytes
    spans: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """The rules and categories whose matches a client wants."""

    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()
    enabled_only: bool = False

    @classmethod
    def from_request(cls, request: CheckRequest) -> "RuleFilter":
        """Collect the names of rules and categories in a request."""
        disabled = f"{request.disabledRules},{request.disabledCategories}".split(",")
        enabled = f"{request.enabledRules},{request.enabledCategories}".split(",")
        return cls(frozenset(disabled) - {""}, frozenset(enabled) - {""}, request.enabledOnly)

    def accepts(self, rule: str, category: str) -> bool:
        """Return whether the client wants matches of a rule."""
        names = {rule, category}
        return not names & self.disabled and (not self.enabled_only or bool(names & self.enabled))


def read_check(fields: Mapping[str, str]) -> CheckRequest:
    """Check the fields of a request; empty ones count as absent, since clients send them so."""
    try:
        return CheckRequest.model_validate({name: value for name, value in fields.items() if value or name == "text"})
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
        raise RequestError(400, f"{'; '.join(problems)}.") from None


def find_language(code: str) -> dict[str, str]:
    """Return the language of a code; `auto` is English, since sentences in other languages stay as they are."""
    long_code = "en" if code == "auto" else code.lower()
    for language in LANGUAGES:
        if language["longCode"].lower() == long_code:
            return language
    raise RequestError(400, f"'{code[:20]}' is not a language code known here; use en, en-US, en-GB … or auto.")


def read_text(text: str | None, data: str | None) -> MarkedText:
    """Return the text of a request: plain `text`, or `data` with markup that is not corrected."""
    if (text is None) == (data is None):
        raise RequestError(400, "send either text or data.")
    if text is not None:
        return join_parts([(text, "", "")])
    try:
        annotation = json.loads(data or "")["annotation"]
        parts = [(part.get("text"), part.get("markup", ""), part.get("interpretAs", "")) for part in annotation]
        check_plain("".join(field for part in parts for field in part if field))
        return join_parts(parts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RequestError(400, 'data must be JSON: {"annotation": [{"text": "…"}, {"markup": "…"}]}.') from None


def join_parts(parts: Sequence[tuple[str | None, str, str]]) -> MarkedText:
    """Join texts and markup. In the plain text markup becomes its meaning, each character of which spans the markup."""
    plain, sent, spans, offset = [], [], [], 0
    for text, markup, meaning in parts:
        if text is None:
            end = offset + sum(map(utf16_length, markup))
            spans += [(offset, end)] * len(meaning)
        else:
            *_, end = offsets = [*accumulate(map(utf16_length, text), initial=offset)]
            spans += pairwise(offsets)
        plain.append(meaning if text is None else text)
        sent.append(markup if text is None else text)
        offset = end
    return MarkedText("".join(plain), "".join(sent).encode("utf-16-le"), [*spans, (offset, offset)])


def utf16_length(char: str) -> int:
    """Return the length of a character in Java."""
    return 2 if ord(char) > 0xFFFF else 1


def write_answer(
    text: MarkedText,
    language: dict[str, str],
    sentences: Sequence[CorrectedSentence],
    rule_filter: RuleFilter,
    is_complete: bool = True,
) -> Json:
    """Return LanguageTool's answer to `/v2/check`."""
    matches = []
    for sentence in sentences:
        for change in widen_all(text.plain, sentence):
            match = write_match(text, sentence, change)
            if match and rule_filter.accepts(match["rule"]["id"], match["rule"]["category"]["id"]):
                matches.append(match)
    return {
        "software": SOFTWARE,
        "warnings": {"incompleteResults": not is_complete},
        "language": {
            "name": language["name"],
            "code": language["longCode"],
            "detectedLanguage": {"name": language["name"], "code": language["longCode"], "confidence": 1.0},
        },
        "matches": matches,
        "sentenceRanges": [[text.spans[each.start][0], text.spans[each.end - 1][1]] for each in sentences],
    }


def find_picky_cutoff(profiles: Sequence[OfferedProfile]) -> float:
    """Return the confidence that an edit must have if a client asks for level=picky."""
    return next((each.cutoff for each in profiles if each.name == PICKY_PROFILE and each.cutoff), PICKY_CUTOFF)


def with_picky_edits(sentence: CorrectedSentence, cutoff: float) -> CorrectedSentence:
    """Return a sentence whose edits are those of a lower cut-off: the surest first, and none beside a surer one."""
    edits = list(sentence.edits)
    for edit in sentence.alternatives or ():
        is_sure = edit.confidence is not None and edit.confidence >= cutoff
        if is_sure and all(edit.end < other.start or other.end < edit.start for other in edits):
            edits.append(edit)
    return replace(sentence, edits=tuple(sorted(edits, key=lambda edit: edit.start)))


def widen_all(plain: str, sentence: CorrectedSentence) -> list[Change]:
    """Return a sentence's edits as changes that don't overlap, each with an original and a replacement.

    Clients show neither a match without characters nor an empty replacement. So a bare edit takes a word beside it
    along. If no word is left, as for the second of two insertions around one word, it joins the change before it.
    """
    edits = [Change(edit.start, edit.end, edit.replacement, tuple(edit.type.split("+"))) for edit in sentence.edits]
    changes: list[Change] = []
    for edit, next_start in zip(edits, [*(edit.start for edit in edits[1:]), sentence.end]):
        change = widen(plain, edit, changes[-1].end if changes else sentence.start, next_start)
        if changes and is_bare(plain, change):
            change = join_changes(plain, changes.pop(), change)
        changes.append(change)
    return changes


def is_bare(plain: str, change: Change) -> bool:
    """Return whether a change is a mere insertion or deletion."""
    return not (plain[change.start : change.end].strip() and change.replacement.strip())


def join_changes(plain: str, first: Change, second: Change) -> Change:
    """Return two changes as one, with the text between them."""
    replacement = first.replacement + plain[first.end : second.start] + second.replacement
    return Change(first.start, second.end, replacement, (*first.types, *second.types))


def widen(plain: str, change: Change, low: int, high: int) -> Change:
    """Add a word beside it to a bare change, within characters `low` to `high`."""
    if not is_bare(plain, change):
        return change
    right = WORD.match(plain, change.end, high)
    if right:
        return replace(change, end=right.end(), replacement=change.replacement + right[0])
    left = WORD_BEFORE.search(plain[low : change.start])
    word = left[0] if left else ""
    return replace(change, start=change.start - len(word), replacement=word + change.replacement)


def write_match(text: MarkedText, sentence: CorrectedSentence, change: Change) -> Json | None:
    """Return a change as a match; None if there is markup inside it."""
    start, end = change.start, change.end
    plain = text.plain
    offset = text.spans[start][0]
    stop = text.spans[end - 1][1] if end > start else offset
    if text.sent[2 * offset : 2 * stop].decode("utf-16-le").split() != plain[start:end].split():
        return None
    category, name, issue = CATEGORIES.get(change.types[0].split(":")[-1], GRAMMAR)
    message = explain(change.types)
    sure = confidence_of(sentence, change)
    if sure is not None:
        message += f" Confidence: {round(100 * sure)} %."
    low, high = max(0, start - CONTEXT), min(len(plain), end + CONTEXT)
    return {
        "message": message,
        "shortMessage": name,
        "replacements": [{"value": value} for value in replacements_of(sentence, change)],
        "offset": offset,
        "length": stop - offset,
        "context": {
            "text": plain[low:high],
            "offset": sum(map(utf16_length, plain[low:start])),
            "length": sum(map(utf16_length, plain[start:end])),
        },
        "sentence": plain[sentence.start : sentence.end],
        "type": {"typeName": "Other"},
        "rule": {
            "id": change.types[0].replace(":", "_"),
            "description": explain(change.types[:1]),
            "issueType": issue,
            "category": {"id": category, "name": name},
        },
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": 0,
    }


def confidence_of(sentence: CorrectedSentence, change: Change) -> float | None:
    """Return the confidence of the least sure edit within a change; None if no judge decided."""
    known = [
        edit.confidence
        for edit in sentence.edits
        if change.start <= edit.start and edit.end <= change.end and edit.confidence is not None
    ]
    return min(known, default=None)


def explain(types: Sequence[str]) -> str:
    """Return a message for the user about edits of these ERRANT types: their name and what it means."""
    joined = "+".join(types)
    name = name_of(joined)
    return f"{name[0].upper()}{name[1:]}. {explanation_of(joined)}"


def replacements_of(sentence: CorrectedSentence, change: Change) -> list[str]:
    """Return the replacement of a change and its runners-up, which only a change that was not widened has."""
    others = next(
        (edit.others or () for edit in sentence.edits if (edit.start, edit.end) == (change.start, change.end)), ()
    )
    return list(dict.fromkeys([change.replacement, *(other.text for other in others if other.text.strip())]))
