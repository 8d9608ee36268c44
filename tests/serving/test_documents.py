"""Documents: opened as text, and saved with new words and the formatting that was there."""

import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from docx import Document
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from hypothesis import given
from hypothesis import strategies as st
from scripted import Scripted
from served import scripted, served

from btr.serving import documents, service
from btr.serving.documents import WordDocument, differences


@pytest.fixture(scope="module")
def address():
    with served(scripted()) as url:
        yield url


def make_docx():
    document = Document()
    document.add_heading("My dog", 1)
    paragraph = document.add_paragraph("I ")
    paragraph.add_run("has").bold = True
    paragraph.add_run(" a 😀\tcat, and ")
    paragraph.add_run("he go").italic = True
    paragraph.add_run(".")
    document.add_paragraph("")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "I has it.", "Fine."
    return to_bytes(document)


def to_bytes(document):
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def post(address, path, content, name="a.docx", **fields):
    return httpx.post(f"{address}{path}", files={"file": (name, content)}, data=fields, timeout=60)


def runs(content, index):
    return [
        (run.text, run.bold, run.italic) for run in Document(io.BytesIO(content)).paragraphs[index].runs if run.text
    ]


TEXT = "My dog\n\nI has a 😀\tcat, and he go.\n\nI has it.\n\nFine."


def test_a_document_is_opened_as_text(address):
    assert post(address, "/v1/document/text", make_docx()).json() == {"text": TEXT}
    assert post(address, "/v1/document/text", "﻿I has\r\n".encode(), "a.TXT").json() == {"text": "I has\r\n"}


def test_a_document_is_corrected_and_keeps_its_formatting(address):
    answer = post(address, "/v1/document", make_docx())
    assert answer.status_code == 200
    assert WordDocument(answer.content).text == (
        "My dogs\n\nI have a 😀\tcat, and he went away.\n\nI have it.\n\nFine."
    )
    assert runs(answer.content, 1) == [
        ("I ", None, None), ("have", True, None), (" a 😀\tcat, and ", None, None), ("he went away", None, True),
        (".", None, None),
    ]  # fmt: skip
    document = Document(io.BytesIO(answer.content))
    assert document.paragraphs[0].style.name == "Heading 1"
    assert document.paragraphs[2].text == ""
    text = post(address, "/v1/document", b"# My dog\n\n    I has code\n", "a.md")
    assert (text.text, text.headers["content-type"]) == (
        "# My dogs\n\n    I has code\n",
        "text/markdown; charset=utf-8",
    )


def test_unchanged_text_changes_nothing(address):
    saved = post(address, "/v1/document/save", make_docx(), text=TEXT).content
    before, after = (Document(io.BytesIO(content)).element.xml for content in (make_docx(), saved))
    assert before == after


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("I has a", "We have one\nor two"),
        TEXT.replace("\tcat", "dog"),
        TEXT.replace("My dog", "My dog\n\nA new one"),
        TEXT.replace("I has a 😀\tcat, and he go.", "gone, all of it"),
        TEXT.replace("he go.", "he goes") + "\n\nThe end.",
        "First\n\n" + TEXT,
    ],
)
def test_any_new_text_is_saved(address, text):
    saved = post(address, "/v1/document/save", make_docx(), text=text)
    assert saved.status_code == 200
    assert WordDocument(saved.content).text == text


def test_a_paragraph_that_is_gone_is_empty(address):
    saved = post(address, "/v1/document/save", make_docx(), text=TEXT.replace("\n\nI has it.", ""))
    assert Document(io.BytesIO(saved.content)).tables[0].cell(0, 0).text == ""


def make_paragraph(*runs):
    document = Document()
    paragraph = document.add_paragraph()
    for run in runs:
        paragraph.add_run(run)
    return to_bytes(document)


@pytest.mark.parametrize("runs", [["a " * 12_000], ["a "] * 12_000, ["a b c d "] * 3_000])
def test_many_equal_words_are_saved_soon(address, runs):
    """A comparison that is quadratic in the words or the runs would take minutes."""
    text = "b " + "a " * 11_000
    saved = post(address, "/v1/document/save", make_paragraph(*runs), text=text)
    assert WordDocument(saved.content).text == text


def test_many_equal_paragraphs_are_saved_soon(address):
    document = Document()
    for _ in range(1_000):
        document.add_paragraph("a")
    text = "b\n\n" + "\n\n".join("a" * 15_000)
    saved = post(address, "/v1/document/save", to_bytes(document), text=text)
    assert WordDocument(saved.content).text == text


@pytest.mark.parametrize("limit", [0, 4, documents.MAX_ALIGNED])
@given(old=st.text("ab", max_size=12), new=st.text("ab", max_size=12))
def test_differences_turn_one_list_of_words_into_the_other(limit, old, new):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "MAX_ALIGNED", limit)
        found = list(differences(list(old), list(new)))
    changed, ends = list(old), (-1, -1)
    for low, high, first, end in found:
        assert low > ends[0]  # something equal is between them
        assert first > ends[1]
        assert old[low:high] != new[first:end]
        ends = high, end
    for low, high, first, end in reversed(found):
        changed[low:high] = new[first:end]
    assert "".join(changed) == new


def test_other_requests_do_not_wait_for_a_document(address, monkeypatch):
    begun, free = threading.Event(), threading.Event()

    def wait(*_):
        begun.set()
        assert free.wait(60)

    monkeypatch.setattr(WordDocument, "write", wait)
    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(post, address, "/v1/document/save", make_docx(), text=TEXT)
        try:
            assert begun.wait(60)
            answer = httpx.post(f"{address}/v1/correct", json={"text": "I has it."}, timeout=30)
        finally:
            free.set()
        assert (answer.json()["text"], saving.result().status_code) == ("I have it.", 200)


def test_a_document_that_is_too_long_is_refused():
    with served(scripted(), max_characters=len(TEXT) - 1) as address:
        for path, fields in (("/v1/document", {}), ("/v1/document/save", {"text": "short"})):
            answer = post(address, path, make_docx(), **fields)
            assert (answer.status_code, "characters; this server accepts" in answer.json()["detail"]) == (413, True)


@pytest.mark.parametrize("char", ["\x01", "\x0c", "\ufffe"])
def test_characters_that_a_docx_cannot_hold_are_refused(address, char):
    answer = post(address, "/v1/document/save", make_docx(), text=TEXT + char)
    assert answer.status_code == 422
    assert answer.json()["detail"] == f"the character U+{ord(char):04X} can't stand in a .docx; take it out."


def test_a_vertical_tab_is_a_line_break(address):
    saved = post(address, "/v1/document/save", make_docx(), text=TEXT.replace("a 😀", "a\x0b😀"))
    assert WordDocument(saved.content).text == TEXT.replace("a 😀", "a\n😀")


def make_objects():
    """Return a document with a formula, a symbol, a picture and a moved word."""
    document = Document()
    paragraph = document.add_paragraph("The value of ")
    paragraph._p.append(OxmlElement("m:oMath"))
    paragraph.add_run(" has ")
    paragraph.add_run()._r.append(OxmlElement("w:sym"))
    moved = OxmlElement("w:moveFrom")
    paragraph._p.append(moved)
    moved.append(paragraph.add_run("gone ")._r)
    drawing = OxmlElement("w:drawing")
    drawing.append(OxmlElement("wp:inline"))
    paragraph.add_run()._r.append(drawing)
    paragraph.add_run(" it.")
    document.add_paragraph()._p.append(OxmlElement("m:oMath"))
    return to_bytes(document)


def objects(content):
    tags = "m:oMath", "w:sym", "w:moveFrom", "w:drawing"
    body = Document(io.BytesIO(content)).element.body
    return [sum(1 for _ in body.iter(qn(tag))) for tag in tags]


SHOWN = "The value of `\ufffc` has `\ufffc``\ufffc` it."


def test_objects_have_a_place_in_the_text_and_stay(address):
    assert post(address, "/v1/document/text", make_objects()).json() == {"text": SHOWN}
    answer = post(address, "/v1/document", make_objects()).content
    assert WordDocument(answer).text == SHOWN.replace("has", "have")
    for text in (
        SHOWN,
        "A new text",
        SHOWN.replace("`\ufffc`", ""),
        "\ufffc" + SHOWN * 3 + "\n\n`\ufffc`new",
        "`\ufffc`",
    ):
        saved = post(address, "/v1/document/save", make_objects(), text=text).content
        assert objects(saved) == [2, 1, 1, 1]
        assert "\ufffc" not in Document(io.BytesIO(saved)).element.xml


def test_the_models_read_a_word_in_the_place_of_an_object():
    (sentence,) = scripted().correct(SHOWN).sentences
    assert sentence.source == "The value of X has X it ."


def test_settings_of_a_document(address):
    answer = post(address, "/v1/document", make_docx(), words="has\ngo", candidates="3")
    assert WordDocument(answer.content).text == TEXT.replace("dog", "dogs")
    for fields, why in (
        ({"candidates": "many"}, "candidates: Input should be a valid integer"),
        ({"cutoff": "2"}, "cutoff: Input should be less than or equal to 1"),
        ({"cut-off": "0.5"}, "cut-off: Extra inputs are not permitted"),
        ({"cutoff": "0.5"}, "a cut-off is for decisions edit by edit"),
        ({"profile": "paper"}, "a request can't choose this profile"),
    ):
        answer = post(address, "/v1/document", make_docx(), **fields)
        assert (answer.status_code, answer.json()["detail"][: len(why)]) == (422, why)


def test_a_document_that_takes_too_long_has_what_is_done(monkeypatch):
    class OneBatch(Scripted):
        """Waits for ever once it has written the batch of a request."""

        batches, over = 0, threading.Event()

        def generate(self, sources, settings):
            self.batches += 1
            assert self.batches <= 2 or self.over.wait(60)
            return super().generate(sources, settings)

    monkeypatch.setattr(service, "BATCH_CHARACTERS", 5)
    engine = OneBatch()
    with served(scripted(engine), timeout=3) as address:
        try:
            answer = post(address, "/v1/document", make_docx())
        finally:
            engine.over.set()
    done = int(answer.headers["Btr-Corrected-Until"])
    assert (answer.status_code, answer.headers["Btr-Complete"], 6 <= done <= 8) == (200, "false", True)
    assert WordDocument(answer.content).text == TEXT.replace("My dog", "My dogs")


def test_a_zip_bomb_is_refused(address, monkeypatch):
    monkeypatch.setattr(documents, "MAX_UNPACKED", 1_000_000)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 2_000_000)
    answer = post(address, "/v1/document/text", file.getvalue())
    assert (answer.status_code, "when it is unpacked" in answer.json()["detail"]) == (413, True)


def zip_without_document():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "status", "why"),
    [
        (b"no zip", "a.docx", 422, "not a .docx document"),
        (zip_without_document(), "a.docx", 422, "not a .docx document"),
        (make_docx()[:-200], "a.docx", 422, "not a .docx document"),
        (b"\xff\xfe", "a.txt", 422, "not text in UTF-8"),
        (b"a\0b", "a.txt", 422, "not text in UTF-8"),
        (b"x", "a.pdf", 422, "must end in .docx, .txt or .md"),
        (b"x" * 11_000_000, "a.txt", 413, "the body is larger than"),
    ],
)
def test_bad_files_are_refused(address, content, name, status, why):
    answer = post(address, "/v1/document/text", content, name)
    assert (answer.status_code, list(answer.json())) == (status, ["detail"])
    assert why in answer.json()["detail"]


def test_a_form_without_a_file_or_text_is_refused(address):
    answer = httpx.post(f"{address}/v1/document/text", json={}, timeout=60)
    assert (answer.status_code, "send the file in a form" in answer.json()["detail"]) == (422, True)
    answer = post(address, "/v1/document/save", make_docx())
    assert (answer.status_code, answer.json()["detail"]) == (422, "text: Field required.")
