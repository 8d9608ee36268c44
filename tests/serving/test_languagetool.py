"""The protocol of LanguageTool, by hand and with a widely used client."""

import json
from urllib.parse import urlencode

import httpx
import pytest
from served import scripted, served

from btr.correction.changes import Change, apply_changes
from btr.correction.records import CorrectedSentence, EditSpan
from btr.serving.languagetool import RuleFilter, explain, find_language, read_text, widen, write_answer


@pytest.fixture(scope="module")
def address():
    with served(scripted()) as url:
        yield url


def check(address, **form):
    return httpx.post(f"{address}/v2/check", data={"language": "en-US", **form}, timeout=60)


def edit(text, old, new):
    start = text.index(old)
    return EditSpan(start, start + len(old), old, new, "R:NOUN")


def sentence(text, *edits):
    return CorrectedSentence(0, len(text), text, edits)


def matches(text, *edits):
    """Return the matches for a text that is one sentence."""
    answer = write_answer(text, find_language("en"), [sentence(text.plain, *edits)], RuleFilter())
    return answer["matches"]


@pytest.mark.parametrize(
    ("text", "edit", "low", "expected"),
    [
        ("I has it", (2, 5, "have"), 0, (2, 5, "have")),
        ("I go school.", (5, 5, "to "), 0, (5, 11, "to school")),
        ("I saw the him.", (6, 10, ""), 0, (6, 13, "him")),
        ("I go", (4, 4, "."), 0, (2, 4, "go.")),
        ("I go (", (4, 6, ""), 0, (2, 6, "go")),
        ("it go", (5, 5, "."), 5, (5, 5, ".")),
    ],
)
def test_insertions_and_deletions_take_a_word_with_them(text, edit, low, expected):
    start, end, new = edit
    wide = widen(text, Change(start, end, new, ("M:DET",)), low, len(text))
    assert (wide.start, wide.end, wide.replacement) == expected


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("I saw dog", [(6, 6, "a "), (9, 9, ".")], [(6, 9, "a dog.")]),
        ("I saw dog", [(2, 2, "have "), (6, 6, "a "), (9, 9, ".")], [(2, 5, "have saw"), (6, 9, "a dog.")]),
        ("I saw the dog it", [(6, 10, ""), (13, 16, "")], [(6, 16, "dog")]),
        ("I saw dog and", [(6, 6, "a "), (9, 13, "")], [(6, 13, "a dog")]),
        ("I saw big dog", [(6, 6, "a "), (13, 13, ".")], [(6, 9, "a big"), (10, 13, "dog.")]),
    ],
)
def test_matches_do_not_overlap(text, edits, expected):
    spans = [EditSpan(start, end, text[start:end], new, "M:DET") for start, end, new in edits]
    shown = matches(read_text(text, None), *spans)
    spans = [(m["offset"], m["offset"] + m["length"], m["replacements"][0]["value"]) for m in shown]
    assert spans == expected
    changes = [[Change(*edit) for edit in group] for group in (edits, expected)]
    assert apply_changes(text, changes[0]) == apply_changes(text, changes[1])


def test_offsets_count_utf16_units():
    text = "😀 I has it."
    answer = write_answer(
        read_text(text, None),
        find_language("en"),
        [CorrectedSentence(2, 11, text, (edit(text, "has", "have"),))],
        RuleFilter(),
    )
    (match,) = answer["matches"]
    assert (match["offset"], match["length"], match["sentence"]) == (5, 3, "I has it.")
    assert (match["context"]["text"], match["context"]["offset"]) == (text, 5)
    assert answer["sentenceRanges"] == [[3, 12]]


def test_markup_is_skipped():
    parts = [
        {"text": "I "},
        {"markup": "<b>"},
        {"text": "has"},
        {"markup": "</b>", "interpretAs": ""},
        {"text": " it."},
    ]
    text = read_text(None, json.dumps({"annotation": parts}))
    assert text.plain == "I has it."
    (match,) = matches(text, edit(text.plain, "has", "have"))
    assert (match["offset"], match["length"]) == (5, 3)
    assert matches(text, edit(text.plain, "I has", "We have")) == []  # it would delete the markup


@pytest.mark.parametrize(("markup", "meaning"), [("\\dots", "…"), ("--", "-"), ("$x$", "Dummy0")])
def test_markup_with_a_meaning_is_skipped(markup, meaning):
    parts = [{"text": "We saw 😀 it "}, {"markup": markup, "interpretAs": meaning}, {"text": " and left."}]
    text = read_text(None, json.dumps({"annotation": parts}))
    for old in (f"it {meaning}", meaning, f"{meaning} and"):
        assert matches(text, edit(text.plain, old, "it,")) == []
    last = sentence(text.plain, edit(text.plain, "and left", "and go"))
    answer = write_answer(text, find_language("en"), [last], RuleFilter())
    assert (answer["matches"][0]["offset"], answer["matches"][0]["length"]) == (14 + len(markup), 8)
    assert answer["sentenceRanges"] == [[0, 23 + len(markup)]]


def test_a_text_may_have_many_parts():
    parts = [{"text": "😀"}, {"markup": "<br/>", "interpretAs": "\n"}] * 20_000
    text = read_text(None, json.dumps({"annotation": parts}))
    assert text.plain == "😀\n" * 20_000
    assert text.sent.decode("utf-16-le") == "😀<br/>" * 20_000
    assert text.spans[-3:] == [(139_993, 139_995), (139_995, 140_000), (140_000, 140_000)]


def test_line_breaks_may_be_markup():
    parts = [{"text": "I"}, {"markup": "\n  ", "interpretAs": " "}, {"text": "has it."}]
    text = read_text(None, json.dumps({"annotation": parts}))
    (match,) = matches(text, edit(text.plain, "I has", "We have"))
    assert (match["offset"], match["length"]) == (0, 7)


def test_rules_and_categories_can_be_disabled(address):
    text = "I has one dog."
    assert [match["rule"]["id"] for match in check(address, text=text).json()["matches"]] == [
        "R_VERB_SVA",
        "R_NOUN_NUM",
    ]
    shown = check(address, text=text, disabledRules="R_VERB_SVA,X").json()["matches"]
    assert [match["rule"]["id"] for match in shown] == ["R_NOUN_NUM"]
    assert check(address, text=text, disabledCategories="GRAMMAR").json()["matches"] == []
    shown = check(address, text=text, enabledRules="R_NOUN_NUM", enabledOnly="true").json()["matches"]
    assert [match["rule"]["id"] for match in shown] == ["R_NOUN_NUM"]


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"text": "a", "language": "de-DE"}, "'de-DE' is not a language code known here"),
        ({}, "send either text or data"),
        ({"text": "a", "data": "{}"}, "send either text or data"),
        ({"data": '{"annotation": 3}'}, "data must be JSON"),
        ({"data": "nonsense"}, "data must be JSON"),
        ({"data": "[" * 100_000}, "data must be JSON"),
        ({"text": "a\0b"}, "no zero bytes"),
        ({"text": "a", "enabledOnly": "perhaps"}, "enabledOnly: Input should be a valid boolean"),
    ],
)
def test_errors_are_plain_text(address, form, why):
    answer = check(address, **form)
    assert answer.status_code == 400
    assert answer.text.startswith("Error: ")
    assert why in answer.text


def test_the_content_type_is_ignored(address):
    """LTeX, which VS Code and Vim use, sends a form with markup and calls it JSON."""
    parts = [{"text": "I "}, {"markup": "**"}, {"text": "has"}, {"markup": "**"}, {"text": " it."}]
    form = {"language": "en-US", "data": json.dumps({"annotation": parts}), "level": "picky", "motherTongue": "de"}
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(f"{address}/v2/check", content=urlencode(form), headers=headers, timeout=60).json()
    assert [(match["offset"], match["length"]) for match in answer["matches"]] == [(4, 3)]
    request = {"params": {"language": "en", "text": "I has"}, "timeout": 60}
    assert httpx.post(f"{address}/v2/check", **request).json()["matches"]
    assert httpx.post(f"{address}//v2/check", **request).json()["matches"]


def test_explanations_of_types():
    assert explain(["R:SPELL"]) == "Spelling. The word is spelt in another way."
    assert explain(["M:DET"]).startswith("Missing article or determiner. ")
    assert explain(["R:SPELL", "R:NOUN:NUM"]).startswith("Spelling and singular or plural. ")
    assert explain(["U:NEW"]).startswith("Unnecessary wording. ")


def test_a_real_client(address):
    client = pytest.importorskip("language_tool_python")
    tool = client.LanguageTool("en-US", remote_server=address)
    text = "😀 I has one dog, and very nice."
    matches = tool.check(text)
    assert [text[match.offset : match.offset + match.error_length] for match in matches][:2] == ["has", "dog"]
    assert matches[0].replacements == ["have"]
    assert tool.correct(text) == "😀 I have one dogs, and very, nice."
    tool.disabled_rules = {"R_VERB_SVA"}
    assert tool.correct("I has one dog.") == "I has one dogs."
    assert tool.check("") == []
    tool.close()


def test_a_real_client_gets_errors(address):
    client = pytest.importorskip("language_tool_python")
    from language_tool_python.exceptions import LanguageToolError

    tool = client.LanguageTool("en-US", remote_server=address)
    with pytest.raises(LanguageToolError, match="50,000"):
        tool.check("a" * 60_000)
    tool.close()


def test_forms_in_parts_and_queries(address):
    fields = {"language": "en-US", "text": "I has 😀 it."}
    parts = httpx.post(f"{address}/v2/check", files={name: (None, value) for name, value in fields.items()}, timeout=60)
    query = httpx.get(f"{address}/v2/check", params=fields, timeout=60)
    expected = check(address, **fields).json()
    assert expected["matches"]
    assert parts.json() == query.json() == expected
    broken = httpx.post(
        f"{address}/v2/check", content=b"x", headers={"Content-Type": "multipart/form-data"}, timeout=60
    )
    assert (broken.status_code, broken.text) == (400, "Error: the form can't be read (Missing boundary in multipart.).")


def test_paths_that_describe_the_server(address):
    health = httpx.get(f"{address}/v2/healthcheck", timeout=60)
    assert (health.status_code, health.text) == (200, "OK")
    assert httpx.get(f"{address}/v2/info", timeout=60).json()["software"]["name"] == "btr"
    assert httpx.get(f"{address}/v2/maxtextlength", timeout=60).text == "50000"


def test_the_token_is_the_api_key_of_every_kind_of_request():
    fields = {"language": "en-US", "text": "I has it.", "username": "me", "apiKey": "sesame"}
    parts = {name: (None, value) for name, value in fields.items()}
    with served(scripted(), token="sesame") as address:
        path = f"{address}/v2/check"
        assert httpx.get(path, params=fields, timeout=60).status_code == 200
        assert httpx.post(path, files=parts, timeout=60).status_code == 200
        assert httpx.get(path, params={**fields, "apiKey": "x"}, timeout=60).status_code == 401
        assert httpx.post(path, files={**parts, "apiKey": (None, "x")}, timeout=60).status_code == 401
