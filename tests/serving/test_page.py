"""The page in a real browser: the actions of a writer and their results."""

import threading
from pathlib import Path

import pytest
from docx import Document
from judged import judged_corrector
from paged import TEXT, copied, correct, expect, items, marks, open_page, slide, text_box
from scripted import Scripted
from served import served

from btr.candidates.engine import Hypothesis

AGREEMENT = "“has” to “have”: subject–verb agreement"


def status(page):
    return page.get_by_role("status")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_typed_errors_are_marked_with_reason_and_confidence(page):
    text_box(page).press_sequentially("I has one dog.")  # nothing is pressed: the page checks while one types
    expect(marks(page)).to_have_text(["has"])
    expect(status(page)).to_have_text("1 correction.")
    expect(items(page)).to_have_attribute("aria-label", f"{AGREEMENT}, 82 % sure")
    text_box(page).evaluate("box => box.setSelectionRange(3, 3)")  # the caret in the mark
    expect(page.locator("#card-type")).to_have_text("subject–verb agreement")
    expect(page.locator("#card-change")).to_have_text("has → have")
    expect(page.locator("#card-confidence")).to_have_text("82 % sure")


def test_marks_lie_under_their_words(page):
    """The mirror has the lines of the text area, whatever is marked in it."""
    correct(page, "I has it. " * 30 + "He is very nice.\n\n\nThe end.\n")
    box, mirror = text_box(page), page.locator("#mirror")
    assert box.bounding_box() == mirror.bounding_box()
    assert box.evaluate("box => box.scrollHeight <= box.clientHeight")
    assert mirror.evaluate("mirror => mirror.textContent") == box.input_value()


class Apostrophes(Scripted):
    """Puts the apostrophe into a word, of which the tokens are do and nt."""

    def correct(self, text):
        return text.replace("do nt", "do n't")


def test_changes_are_shown_with_whole_words(browser):
    with served(judged_corrector(Apostrophes())) as address:
        for page in open_page(browser, address):
            correct(page, "I dont know what they want.")
            expect(marks(page)).to_have_text(["nt"])
            items(page).first.click()
            expect(page.locator("#card-change")).to_have_text("dont → don't")
            page.locator("#accept").click()
            expect(text_box(page)).to_have_value("I don't know what they want.")


def test_accept_one_dismiss_one_and_copy(page):
    correct(page)
    expect(marks(page)).to_have_text(["has", "go"])
    items(page).first.click()
    page.locator("#accept").click()
    expect(text_box(page)).to_have_value("I have one dog 😀. It go.")
    expect(marks(page)).to_have_text(["go"])
    expect(page.locator("#card-change")).to_have_text("go → went away")  # the next one
    page.locator("#dismiss").click()
    expect(marks(page)).to_have_count(0)
    expect(page.locator("#card")).to_be_hidden()
    assert copied(page) == "I have one dog 😀. It go."


def test_an_accepted_correction_needs_no_request(page):
    correct(page)
    sent = len(page.requested)
    items(page).first.click()
    page.locator("#accept").click()
    expect(marks(page)).to_have_text(["go"])
    page.wait_for_timeout(1000)
    assert len(page.requested) == sent


def test_dismissed_corrections_do_not_come_back(page):
    correct(page)
    button(page, "Dismiss all").click()
    expect(marks(page)).to_have_count(0)
    text_box(page).press("End")
    page.keyboard.type(" I has a cat.")
    expect(marks(page)).to_have_text(["has"])
    page.reload()
    expect(marks(page)).to_have_text(["has"])


def test_undo_and_redo_of_decisions(page):
    correct(page)
    button(page, "Accept all").click()
    expect(text_box(page)).to_have_value("I have one dog 😀. It went away.")
    button(page, "Undo").click()
    expect(text_box(page)).to_have_value(TEXT)
    expect(marks(page)).to_have_count(2)
    button(page, "Redo").click()
    expect(text_box(page)).to_have_value("I have one dog 😀. It went away.")
    page.keyboard.press("Control+z")
    button(page, "Dismiss all").click()
    expect(marks(page)).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(marks(page)).to_have_count(2)
    page.keyboard.press("Control+Shift+z")
    expect(marks(page)).to_have_count(0)


def test_undo_of_typing_never_loses_text(page):
    box = text_box(page)
    box.focus()
    page.keyboard.insert_text("A long draft.")
    page.wait_for_timeout(1100)  # a new step
    page.keyboard.type(" More.")
    page.keyboard.press("Control+z")
    expect(box).to_have_value("A long draft.")
    page.keyboard.press("Control+y")
    expect(box).to_have_value("A long draft. More.")
    page.reload()
    expect(box).to_have_value("A long draft. More.")
    box.focus()
    for _ in range(3):
        page.keyboard.press("Control+z")  # what was opened with the page stays
    expect(box).to_have_value("A long draft. More.")
    expect(button(page, "Undo")).to_be_disabled()


def test_quick_typing_is_undone_word_by_word(page):
    box = text_box(page)
    box.focus()
    page.keyboard.type("One two  three.")
    for text in ("One two", "One", ""):
        page.keyboard.press("Control+z")
        expect(box).to_have_value(text)
    page.keyboard.type("a" * 30)
    page.keyboard.press("Control+z")
    expect(box).to_have_value("a" * 20)
    page.keyboard.press("Control+z")
    for _ in range(30):
        page.keyboard.press("Control+y")
    expect(box).to_have_value("a" * 30)
    for _ in range(25):
        page.keyboard.press("Backspace")
    page.keyboard.press("Control+z")
    expect(box).to_have_value("a" * 10)


def test_each_tab_has_its_own_draft_and_all_have_the_same_settings(page, address):
    other = page.context.new_page()
    other.goto(address)
    text_box(page).fill("My draft.")
    other.get_by_label("Check while I type").uncheck()
    expect(page.get_by_label("Check while I type")).not_to_be_checked()
    add_word(other, "has")
    expect(page.locator("#words-count")).to_have_text("1")
    page.reload()
    expect(text_box(page)).to_have_value("My draft.")
    text_box(other).fill("Another draft.")
    page.reload()
    expect(text_box(page)).to_have_value("My draft.")
    expect(page.locator("#words-count")).to_have_text("1")
    other.reload()
    expect(text_box(other)).to_have_value("Another draft.")
    expect(other.get_by_label("Check while I type")).not_to_be_checked()


def test_the_draft_and_the_settings_are_kept_until_they_are_cleared(page):
    correct(page)
    page.get_by_label("Check while I type").uncheck()
    slide(page, "Show more, or only what is sure", 30)
    expect(marks(page)).to_have_text(["has", "dog", "go"])
    page.reload()
    expect(text_box(page)).to_have_value(TEXT)
    expect(page.get_by_label("Check while I type")).not_to_be_checked()
    expect(page.get_by_role("slider")).to_have_value("30")
    expect(page.locator("#storage")).to_contain_text("stored in this browser only")
    button(page, "Clear them …").click()
    button(page, "Keep them").click()
    expect(text_box(page)).to_have_value(TEXT)
    button(page, "Clear them …").click()
    button(page, "Clear").click()
    expect(text_box(page)).to_have_value("")
    assert page.evaluate("localStorage.length") == 0
    page.keyboard.press("Control+z")
    expect(text_box(page)).to_have_value("")
    page.reload()
    expect(text_box(page)).to_have_value("")
    expect(page.get_by_label("Check while I type")).to_be_checked()


def test_the_slider_works_at_once(page):
    correct(page)
    sent = len(page.requested)
    slider = page.get_by_role("slider", name="Show more, or only what is sure")
    expect(slider).to_have_value("50")
    expect(page.locator("#cutoff-text")).to_have_text("At least 50 % sure: 2 shown, 1 less sure hidden.")
    slide(page, "Show more, or only what is sure", 30)
    expect(marks(page)).to_have_text(["has", "dog", "go"])
    expect(slider).to_have_attribute("max", "85")
    expect(page.locator("#cutoff-end")).to_contain_text("ends at 85 %: hardly any correction is surer")
    slide(page, "Show more, or only what is sure", 85)
    expect(marks(page)).to_have_count(0)
    expect(status(page)).to_have_text("No corrections.")
    assert len(page.requested) == sent


class TwoVerbs(Scripted):
    """Writes one more candidate: with another verb."""

    def generate(self, sources, settings):
        more = [Hypothesis(*self.encode([text.replace("has", "had")]), -1.4) for text in self.decode(sources)]
        return [[row[0], other, *row[1:]] for row, other in zip(super().generate(sources, settings), more)]


def test_another_replacement_can_be_chosen(browser):
    with served(judged_corrector(TwoVerbs())) as address:
        for page in open_page(browser, address):
            correct(page, "I has it.")
            items(page).first.click()
            page.locator(".other", has_text="had").click()
            expect(text_box(page)).to_have_value("I had it.")
            page.keyboard.press("Control+z")
            expect(text_box(page)).to_have_value("I has it.")


def sent_texts(page):
    """Return the texts that the page has sent since."""
    texts = []
    page.on("request", lambda request: texts.append(request.post_data_json["text"]) if request.post_data else None)
    return texts


def test_only_changed_paragraphs_are_sent(page):
    correct(page, "I has it.\n\nIt go.\n\nAll is well.")
    texts = sent_texts(page)
    text_box(page).press("Control+End")
    page.keyboard.insert_text(" You has it.")
    expect(marks(page)).to_have_text(["has", "go", "has"])
    assert all("It go" not in text for text in texts)
    count = len(texts)
    button(page, "Undo").click()  # this text is known
    expect(marks(page)).to_have_text(["has", "go"])
    page.wait_for_timeout(1000)
    assert len(texts) == count


TITLE = "What I has seen in my life and in the life of my friends"


@pytest.mark.parametrize("front_matter", [f"---\ntitle: {TITLE}\n---", f"+++\na = 1\n\n# {TITLE}\n+++"])
def test_front_matter_is_left_alone(page, front_matter):
    """The caret is at the end, so that the last paragraph is the most urgent one."""
    text = f"{front_matter}\n\nYou has it.\n\nIt go."
    correct(page, text)
    expect(marks(page)).to_have_text(["has", "go"])
    text_box(page).fill(f"Well.\n\n{text}")  # then it is no front matter
    expect(items(page).nth(2)).to_be_visible()
    text_box(page).fill(text)
    expect(marks(page)).to_have_text(["has", "go"])


def test_code_without_an_end_does_not_hide_the_paragraphs_above_it(page):
    correct(page, "I has it.\n\nIt go.\n\n```\nI has code")
    expect(marks(page)).to_have_text(["has", "go"])


def test_marks_belong_to_their_paragraph(page):
    """The server joins the code to the paragraph below it."""
    correct(page, "```\nsome code\n```\n\nI has it.")
    expect(marks(page)).to_have_text(["has"])
    text_box(page).press("Control+End")
    page.keyboard.insert_text(" It go.")
    expect(page.locator(".mark:not(.old)")).to_have_text(["has", "go"])
    expect(items(page)).to_have_count(2)


def test_a_paragraph_that_is_too_long_does_not_stop_the_others(browser):
    with served(judged_corrector(), max_characters=60) as address:
        for page in open_page(browser, address):
            correct(page, f"I has it.\n\n{'It go. ' * 9}\n\nHe has it. He is well, and he is here.\n\n{'It go. ' * 9}")
            expect(marks(page)).to_have_text(["has", "has"])
            expect(page.locator(".unchecked")).to_have_count(2)
            expect(page.locator("#too-long")).to_contain_text("this server accepts 60 characters at a time")
            expect(page.locator("#problem")).to_be_hidden()
            text_box(page).fill("I has it.")
            expect(page.locator("#too-long")).to_be_hidden()


def test_greyed_marks_say_why(page):
    page.get_by_label("Check while I type").uncheck()
    correct(page)
    text_box(page).press("Control+End")
    page.keyboard.type(" Well.")
    expect(page.locator(".mark.old")).to_have_text(["has", "go"])
    expect(page.locator("#old")).to_contain_text("from before your last change")
    expect(page.locator("#old")).to_contain_text("press Check")
    expect(items(page)).to_have_count(0)
    button(page, "Check").click()
    expect(page.locator("#old")).to_be_hidden()
    expect(items(page)).to_have_count(2)


class Blocking(Scripted):
    """Waits before it corrects a sentence that begins with Wait."""

    def __init__(self):
        super().__init__()
        self.free = threading.Event()

    def generate(self, sources, settings):
        if any(text.startswith("Wait") for text in self.decode(sources)):
            assert self.free.wait(60)
        return super().generate(sources, settings)


def test_progress_partial_results_and_cancel(browser):
    engine = Blocking()
    first, second = f"I has it. See https://{'a' * 6000} for more.", "Wait, he go."  # two requests
    with served(judged_corrector(engine)) as address:
        try:
            for page in open_page(browser, address):
                page.get_by_label("Check while I type").uncheck()
                text_box(page).fill(f"{first}\n\n{second}")
                text_box(page).press("Control+Home")  # the paragraph at the caret comes first
                button(page, "Check").click()
                expect(page.locator("#progress-text")).to_have_text("1 of 2 paragraphs checked")
                expect(page.get_by_role("progressbar")).to_be_visible()
                expect(marks(page)).to_have_text(["has"])
                button(page, "Cancel").click()
                expect(status(page)).to_have_text("Cancelled: 1 of 2 paragraphs checked. Press Check to go on.")
                expect(marks(page)).to_have_text(["has"])
                engine.free.set()
                button(page, "Check").click()
                expect(status(page)).to_have_text("2 corrections.")
        finally:
            engine.free.set()


def test_markdown_is_a_setting(page):
    text = "It is:\n\n    I has code\n\nIt go."
    correct(page, text)
    expect(marks(page)).to_have_text(["has", "go"])
    page.get_by_label("The text is Markdown").check()
    expect(marks(page)).to_have_text(["go"])


@pytest.mark.parametrize(("name", "is_markdown"), [("letter.txt", False), ("notes.md", True)])
def test_open_and_save(page, tmp_path, name, is_markdown):
    path = tmp_path / name
    path.write_text(TEXT)
    with page.expect_file_chooser() as waiting:
        button(page, "Open …").click()
    waiting.value.set_files(path)
    expect(text_box(page)).to_have_value(TEXT)
    expect(page.get_by_label("The text is Markdown")).to_be_checked(checked=is_markdown)
    expect(marks(page)).to_have_count(2)
    button(page, "Accept all").click()
    with page.expect_download() as download:
        button(page, "Save").click()
    assert Path(download.value.path()).read_text() == "I have one dog 😀. It went away."
    assert download.value.suggested_filename == name
    expect(status(page)).to_have_text(f"Saved as {name}.")


def test_open_and_save_a_word_document(page, tmp_path):
    path = tmp_path / "letter.docx"
    document = Document()
    document.add_paragraph().add_run(TEXT).bold = True
    document.save(path)
    page.locator("#file").set_input_files(path)
    expect(text_box(page)).to_have_value(TEXT)
    expect(marks(page)).to_have_count(2)
    button(page, "Accept all").click()
    with page.expect_download() as download:
        button(page, "Save").click()
    assert download.value.suggested_filename == "letter.docx"
    saved = tmp_path / "saved.docx"
    download.value.save_as(saved)
    (paragraph,) = Document(saved).paragraphs
    assert paragraph.text == "I have one dog 😀. It went away."
    assert all(run.bold for run in paragraph.runs if run.text)


def save(page):
    with page.expect_download() as download:
        button(page, "Save").click()
    return download.value.suggested_filename, Path(download.value.path())


def test_the_formatting_of_a_word_document_is_only_for_its_own_text(page, tmp_path):
    path = tmp_path / "letter.docx"
    document = Document()
    document.add_paragraph(TEXT)
    document.save(path)
    text_box(page).fill("A draft.")
    page.locator("#file").set_input_files(path)
    expect(text_box(page)).to_have_value(TEXT)
    expect(page.locator("#format")).to_have_value("docx")
    button(page, "Undo").click()
    expect(text_box(page)).to_have_value("A draft.")
    expect(page.locator("#as-docx")).to_be_disabled()
    name, saved = save(page)
    assert (name, saved.read_text()) == ("text.txt", "A draft.")
    button(page, "Redo").click()
    name, _ = save(page)
    assert name == "letter.docx"
    button(page, "Clear them …").click()
    button(page, "Clear").click()
    expect(page.locator("#as-docx")).to_be_disabled()
    text_box(page).fill("Another draft.")
    name, saved = save(page)
    assert (name, saved.read_text()) == ("text.txt", "Another draft.")


def test_nothing_is_checked_unasked(page, tmp_path):
    page.get_by_label("Check while I type").uncheck()
    texts = sent_texts(page)
    path = tmp_path / "letter.txt"
    path.write_text(TEXT)
    page.locator("#file").set_input_files(path)
    expect(status(page)).to_have_text("Opened letter.txt.")
    add_word(page, "dog")
    page.reload()
    expect(text_box(page)).to_have_value(TEXT)
    page.wait_for_timeout(1500)
    assert texts == []
    button(page, "Check").click()
    expect(marks(page)).to_have_count(2)
    assert len(texts) == 1


def offer_profiles(route):
    """Answer as a server that has profiles."""
    models = route.fetch().json()
    profiles = [{"name": "cautious", "cutoff": 0.88}, {"name": "minimal", "cutoff": 0.5}]
    route.fulfill(json={**models, "profiles": profiles, "profile": "minimal"})


def test_another_profile_is_not_checked_unasked(page):
    page.route("**/v1/models", offer_profiles)
    page.reload()
    correct(page)
    page.get_by_label("Check while I type").uncheck()
    texts = sent_texts(page)
    page.get_by_label("Cautious").check()
    expect(page.locator("#old")).to_contain_text("press Check")
    expect(page.get_by_role("slider")).to_have_value("88")  # the slider goes as far as the profiles do
    page.wait_for_timeout(1500)
    assert texts == []


def test_a_file_that_is_no_text_is_refused(page, tmp_path):
    path = tmp_path / "picture.txt"
    path.write_bytes(b"\xff\xfe\x00")
    text_box(page).fill("A draft.")
    page.locator("#file").set_input_files(path)
    expect(page.get_by_role("alert")).to_contain_text("picture.txt is no text in UTF-8")
    expect(text_box(page)).to_have_value("A draft.")


def add_word(page, word):
    if page.locator("#dictionary").get_attribute("open") is None:
        page.locator("#dictionary summary").click()
    page.get_by_label("Word", exact=True).fill(word)
    button(page, "Add").click()


def test_words_of_the_dictionary_are_left_alone(page):
    correct(page)
    items(page).nth(1).click()
    button(page, "Add “go” to my dictionary").click()
    expect(items(page)).to_have_count(1)  # without a request
    expect(marks(page)).to_have_text(["has"])
    add_word(page, "has")
    expect(marks(page)).to_have_count(0)
    page.reload()
    expect(status(page)).to_have_text("No corrections.")
    expect(page.locator("#words-count")).to_have_text("2")
    page.locator("#dictionary summary").click()
    button(page, "Remove “has”").click()
    expect(marks(page)).to_have_text(["has"])


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("New York", "“New York” is more than one word: add its words one by one."),
        ("#has", "“#has” begins with #, which no word does."),
        ("a\u200bb", "This word has characters that can't be seen: type it anew."),
        ("a" * 101, "This word is too long: a word has at most 100 characters."),
    ],
)
def test_what_is_no_word_is_refused(page, word, problem):
    add_word(page, word)
    expect(page.locator("#word-problem")).to_have_text(problem)
    expect(page.locator("#words-count")).to_have_text("0")
    add_word(page, "go")
    expect(page.locator("#word-problem")).to_be_hidden()
    correct(page)
    expect(marks(page)).to_have_text(["has"])
    expect(page.locator("#problem")).to_be_hidden()


def test_words_with_signs_and_a_full_dictionary(page):
    page.get_by_label("Check while I type").uncheck()
    page.evaluate("localStorage.setItem('btr.words', JSON.stringify(Array.from({length: 999}, (_, k) => `word${k}`)))")
    page.reload()
    add_word(page, "C#")
    expect(page.locator("#words li").first).to_contain_text("C#")
    add_word(page, "C++")
    expect(page.locator("#word-problem")).to_contain_text("Your dictionary is full: it has 1,000 words.")
    expect(page.locator("#words-count")).to_have_text("1000")


def test_by_keyboard_alone(page):
    keys = page.keyboard
    text_box(page).focus()
    keys.type(TEXT)
    keys.press("Control+Enter")
    expect(marks(page)).to_have_count(2)
    text_box(page).press("Control+Home")
    keys.press("F8")
    expect(items(page).first).to_be_focused()
    keys.press("F8")
    expect(items(page).nth(1)).to_be_focused()
    keys.press("Shift+F8")
    expect(items(page).first).to_be_focused()
    keys.press("a")
    expect(status(page)).to_have_text(f"Accepted: {AGREEMENT}.")
    expect(items(page).first).to_be_focused()
    keys.press("Escape")
    expect(text_box(page)).to_be_focused()
    keys.press("F8")
    keys.press("d")
    expect(text_box(page)).to_have_value("I have one dog 😀. It go.")
    expect(marks(page)).to_have_count(0)


def test_a_text_is_never_html(page):
    text = 'I has <script>document.title = "has"</script> one <img src=x onerror="document.title=1"> dog & &amp; it.'
    correct(page, text)
    assert marks(page).count() >= 1
    assert page.title() == "btr: correct a text"
    assert page.locator("main script, main img").count() == 0
    assert copied(page) == text


def test_the_page_shows_errors_of_the_server(page):
    answer = {"status": 413, "json": {"detail": "the text is too long."}}
    page.route("**/v1/correct/stream", lambda route: route.fulfill(**answer), times=1)
    text_box(page).fill(TEXT)
    expect(page.get_by_role("alert")).to_have_text("the text is too long.")
    correct(page)
    expect(page.locator("#problem")).to_be_hidden()


def test_the_names_of_the_models_are_requested_again_after_an_error(page):
    page.route("**/v1/models", lambda route: route.fulfill(status=503, json={}), times=1)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("503")
    correct(page)
    page.locator("#details > summary").click()
    expect(page.locator("#models")).to_have_text("scripted, edits of at least 50 % confidence")


def test_the_page_asks_for_the_token(browser):
    with served(judged_corrector(), token="sesame") as address:
        for page in open_page(browser, address):
            page.get_by_label("This server asks for a token").fill("sesame")
            text_box(page).fill(TEXT)
            button(page, "Use it").click()
            expect(marks(page)).to_have_count(2)
            expect(page.get_by_label("This server asks for a token")).to_be_hidden()
