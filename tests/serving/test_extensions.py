"""Requests as the extensions of editors send them, read from their public sources (the versions are in the tests)."""

import json
from urllib.parse import urlencode

import httpx
import pytest
from judged import judged_corrector
from served import served

from btr.correction.dictionary import Dictionary

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def address(tmp_path):
    corrector = judged_corrector(dictionary=Dictionary(path=tmp_path / "words.txt"))
    with served(corrector, token="secret") as url:
        yield url


def send(url, form, **headers):
    return httpx.post(url, content=urlencode(form), headers={**FORM, **headers}, timeout=60)


def test_obsidian(address):
    """wrenger/obsidian-languagetool, src/api.ts at 051d013: a form with markup, then words as a query with no body."""
    parts = [{"text": "I has "}, {"markup": "**", "interpretAs": ""}, {"text": "it."}]
    key = {"username": "me", "apiKey": "secret"}
    form = {"data": json.dumps({"annotation": parts}), "language": "auto", "enabledOnly": "false", "level": "default",
            "preferredVariants": "en-US,de-DE,pt-PT,ca-ES", **key}  # fmt: skip
    answer = send(f"{address}/v2/check", form, Accept="application/json").json()
    (match,) = answer["matches"]
    assert (match["offset"], match["length"], match["replacements"][0]["value"]) == (2, 3, "have")
    assert match["message"]
    assert isinstance(match["shortMessage"], str)
    assert match["rule"]["id"]
    assert match["rule"]["category"]["id"]
    assert "en" in [each["code"] for each in httpx.get(f"{address}/v2/languages").json()]
    added = httpx.post(f"{address}/v2/words/add", params={**key, "word": "has"})
    assert added.json() == {"added": True}
    assert httpx.get(f"{address}/v2/words", params={**key, "limit": "1000"}).json() == {"words": ["has"]}
    assert send(f"{address}/v2/check", form).json()["matches"] == []
    assert httpx.post(f"{address}/v2/words/delete", params={**key, "word": "has"}).json() == {"deleted": True}


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json"])
def test_ltex(address, content_type):
    """ltex-plus/ltex-ls-plus, LanguageToolHttpInterface.kt at 81a71a1, and at 32e45d3, which calls the form JSON.

    A match must have all that LanguageToolRuleMatch.kt (7db1fa9) reads. The base address may end in a slash.
    """
    parts = [{"markup": "\\\\textbf{", "interpretAs": ""}, {"text": "I has a dog"}, {"markup": "}"},
             {"markup": "$x$", "interpretAs": "Dummy0"}, {"text": ".\n"}]  # fmt: skip
    form = {"apiKey": "secret", "data": json.dumps({"annotation": parts}), "enabledRules": "R_PREP", "level": "picky",
            "motherTongue": "de-DE", "language": "en-US", "username": "me"}  # fmt: skip
    headers = {"Content-Type": content_type, "Accept": "application/json"}
    answer = httpx.post(f"{address}//v2/check", content=urlencode(form), headers=headers, timeout=60)
    assert answer.status_code == 200
    match = answer.json()["matches"][0]
    start = len(parts[0]["markup"]) + 2
    assert (match["offset"], match["length"], match["replacements"][0]["value"]) == (start, 3, "have")
    assert all(isinstance(text, str) for text in (match["message"], match["sentence"], match["rule"]["id"]))


def test_libreoffice(address):
    """LibreOffice/core, languagetoolimp.cxx at 000b405: `text` and `language`, the text first and not encoded."""
    body = "text=I has it.&language=en-US&username=me&apiKey=secret"
    answer = httpx.post(f"{address}/v2/check", content=body, headers=FORM, timeout=60).json()
    (match,) = answer["matches"]
    assert (match["offset"], match["length"]) == (2, 3)
    assert [each["value"] for each in match["replacements"]] == ["have"]
    assert match["shortMessage"] is not None


def test_a_form_in_parts_that_is_not_utf8_is_refused(address):
    headers = {"Content-Type": "multipart/form-data; boundary=part", "Authorization": "Bearer secret"}
    fields = {"language": b"en-US", "text": "I has a café.".encode("latin-1")}
    parts = [b'--part\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
             for name, value in fields.items()]  # fmt: skip
    answer = httpx.post(f"{address}/v2/check", content=b"".join(parts) + b"--part--\r\n", headers=headers, timeout=60)
    assert (answer.status_code, answer.text) == (400, "Error: the form is not UTF-8.")


def test_a_client_without_the_token_is_refused(address):
    assert send(f"{address}/v2/check", {"text": "I has it.", "language": "en-US"}).status_code == 401
    assert httpx.get(f"{address}/v2/words").status_code == 401
