"""The page in a real browser: the actions of a user and their results."""

from pathlib import Path

import httpx
import pytest
from paged import TEXT, copied, correct, expect, marks, open_page
from scripted import Opposed, Scripted
from served import Waiting, scripted, served

from btr.candidates.engine import Hypothesis


def slide(page, value):
    """Move λ as a user does, so that the slider sends its event."""
    page.get_by_role("slider").fill(str(value))


def test_typed_errors_are_marked(page):
    page.get_by_role("textbox", name="Your text").press_sequentially("I has one dog.")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(marks(page)).to_have_count(2)
    assert marks(page).first.locator("del").inner_text() == "has"
    assert marks(page).first.locator("ins").inner_text() == "have"
    expect(page.get_by_role("status")).to_have_text("2 corrections in 1 of 1 sentence.")
    expect(page.locator("#models")).to_have_text("scripted, reranked by opposed")
    expect(page.locator("#types li")).to_contain_text(["singular, plural", "subject–verb agreement"])


def test_accept_one_dismiss_one_and_copy(page):
    correct(page)
    assert marks(page).count() == 3
    marks(page).nth(0).click()
    expect(page.locator("#about-what")).to_have_text("“has” to “have”: subject–verb agreement")
    page.locator("#accept").click()
    expect(marks(page).nth(0)).to_have_attribute("data-state", "accepted")
    expect(marks(page).nth(1)).to_be_focused()  # the next open one
    page.locator("#dismiss").click()
    expect(marks(page).nth(1)).to_have_attribute("data-state", "dismissed")
    assert copied(page) == "I have one dog 😀. It went away."


def test_dismiss_all_accept_all_and_download(page):
    correct(page)
    page.get_by_role("button", name="Dismiss all").click()
    assert copied(page) == TEXT
    page.get_by_role("button", name="Accept all").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download").click()
    assert Path(waiting.value.path()).read_text() == "I have one dogs 😀. It went away."
    assert waiting.value.suggested_filename == "corrected.txt"


def test_the_threshold_changes_the_choices_without_a_request(page):
    correct(page)
    before = len(page.requested)
    slide(page, 0.5)
    expect(marks(page)).to_have_count(0)
    expect(page.get_by_role("status")).to_have_text("0 corrections in 0 of 2 sentences.")
    assert copied(page) == TEXT
    slide(page, 0.97)
    expect(marks(page)).to_have_count(3)
    assert len(page.requested) == before


class Undecided(Opposed):
    """Prefers the source only slightly, and that of a question still less."""

    def scores(self, rows):
        return [
            tuple(score / (800 if "?" in row.source else 250) for score in scores)
            for row, scores in zip(rows, super().scores(rows))
        ]


def test_the_page_shows_what_the_server_chose(browser):
    """The margins are 0.008 and 0.0025, and the threshold lies between two steps of the slider."""
    text, chosen = "I has it. Is it the dog?", "I has it. Is it dogs?"
    with served(scripted(reranker=Undecided(), threshold=0.005)) as address:
        assert httpx.post(f"{address}/v1/correct", json={"text": text}, timeout=60).json()["text"] == chosen
        for page in open_page(browser, address):
            correct(page, text)
            assert copied(page) == chosen
            expect(page.locator("#threshold-value")).to_have_text("0.005")
            slide(page, 0.02)
            assert copied(page) == "I have it. Is it dogs?"


def test_the_names_of_the_models_are_requested_again_after_an_error(page):
    page.route("**/v1/models", lambda route: route.fulfill(status=503, json={}), times=1)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("503")
    correct(page)
    expect(page.locator("#models")).to_have_text("scripted, reranked by opposed")
    expect(page.get_by_role("slider")).to_be_enabled()


def test_the_page_shows_that_a_request_is_running(browser):
    engine = Waiting()
    with served(scripted(engine)) as address:
        engine.free.clear()
        for page in open_page(browser, address):
            page.get_by_role("textbox", name="Your text").fill(TEXT)
            page.get_by_role("button", name="Correct", exact=True).click()
            expect(page.get_by_role("status")).to_have_text("Correcting …")
            expect(page.get_by_role("status")).to_be_visible()
            page.get_by_role("textbox", name="Your text").fill("It go.")  # before the answer arrives
            engine.free.set()
            expect(marks(page)).to_have_count(3)
            expect(page.locator("#result")).to_have_class("result stale")
            correct(page, "It go.")
            expect(page.locator("#result")).to_have_class("result")


class Talkative(Scripted):
    """Writes two more candidates: one too many to compete, and a runaway."""

    def generate(self, sources, settings):
        more = [Hypothesis(*self.encode([text]), -9.0) for text in ("Me have it .", "so " * 50)]
        return [[*hypotheses, *more] for hypotheses in super().generate(sources, settings)]


def test_candidates_that_do_not_compete_say_so(browser):
    with served(scripted(Talkative(), size=4, top=2)) as address:
        for page in open_page(browser, address):
            correct(page, "I has it.")
            page.locator("summary").click()
            _, source, other, runaway = page.locator(".candidate").all()
            expect(source).to_contain_text("f 0.982")
            expect(other).to_contain_text("does not compete")
            expect(runaway).to_contain_text("does not competerunaway")
            expect(runaway).to_be_disabled()
            other.click()
            assert copied(page) == "Me have it."


def test_candidates_compete_though_f_is_almost_zero(browser):
    with served(scripted(reranker=Opposed(40.0), threshold=0.5)) as address:
        for page in open_page(browser, address):
            correct(page, "I has it.")
            page.locator("summary").click()
            expect(page.locator(".candidate").first).to_contain_text("f 0.000base candidate")


def test_candidates_of_a_sentence(page):
    correct(page)
    first = page.locator("details").first
    first.locator("summary").click()
    expect(first).to_contain_text("rejected")
    expect(first).to_contain_text("margin 0.964")
    base, other = first.locator(".candidate").all()
    expect(base).to_contain_text("f 0.018base candidate")
    expect(base).to_have_attribute("aria-pressed", "true")
    expect(other).to_contain_text("f 0.982reranker")
    bars = [candidate.locator(".bar") for candidate in (base, other)]
    widths = [bar.evaluate("bar => bar.style.width") for bar in bars]
    assert [round(float(width.rstrip("%"))) for width in widths] == [2, 98]
    other.click()  # the user may choose
    expect(marks(page)).to_have_count(1)
    expect(page.locator("details").first).to_contain_text("your choice")


def test_by_keyboard_alone(page):
    keys = page.keyboard
    page.get_by_role("textbox", name="Your text").focus()
    keys.type(TEXT)
    keys.press("Control+Enter")
    expect(marks(page)).to_have_count(3)
    reach(page, ".mark")
    keys.press("a")
    keys.press("d")
    expect(page.get_by_role("status")).to_have_text("Dismissed: “dog” to “dogs”: singular, plural.")
    states = [mark.get_attribute("data-state") for mark in marks(page).all()]
    assert states == ["accepted", "dismissed", "open"]
    reach(page, "#threshold")
    for _ in range(5):
        keys.press("ArrowLeft")  # 0.94: the reranker's suggestions are chosen
    expect(marks(page)).to_have_count(0)
    keys.press("End")
    reach(page, "summary")
    keys.press("Enter")
    reach(page, ".candidate:nth-child(1)")
    assert page.locator("details").first.get_attribute("open") is not None


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_keyboard_reaches_the_buttons_of_every_mark(page, key):
    correct(page)
    reach(page, ".mark")
    page.keyboard.press(key)
    expect(page.locator("#accept")).to_be_focused()
    expect(page.locator("#about-what")).to_have_text("“has” to “have”: subject–verb agreement")
    page.keyboard.press(key)
    expect(marks(page).nth(0)).to_have_attribute("data-state", "accepted")
    expect(marks(page).nth(1)).to_be_focused()
    page.keyboard.press(key)
    page.keyboard.press("Tab")
    expect(page.locator("#dismiss")).to_be_focused()
    page.keyboard.press(key)
    expect(marks(page).nth(1)).to_have_attribute("data-state", "dismissed")
    expect(marks(page).nth(2)).to_be_focused()
    page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(marks(page).nth(2)).to_be_focused()
    page.keyboard.press(key)
    page.keyboard.press("a")  # the shortcut of the button
    expect(marks(page).nth(2)).to_have_attribute("data-state", "accepted")


def reach(page, selector):
    """Press Tab until an element has the focus."""
    for _ in range(40):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} can't be reached with the keyboard")


def test_a_text_is_never_html(page):
    text = 'I has <script>document.title = "has"</script> one <img src=x onerror="document.title=1"> dog & &amp; it.'
    correct(page, text)
    assert marks(page).count() >= 1
    assert page.title() == "btr: correct a text"
    assert page.locator("#result script, #result img, details script, details img").count() == 0
    page.get_by_role("button", name="Dismiss all").click()
    assert copied(page) == text


def test_the_page_shows_errors_of_the_server(page):
    page.get_by_role("textbox", name="Your text").fill("a " * 30_000)
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("this server accepts 50,000 at a time")


def test_the_page_asks_for_the_token(browser):
    with served(scripted(), token="sesame") as address:
        for page in open_page(browser, address):
            page.get_by_label("This server asks for a token").fill("sesame")
            page.get_by_role("textbox", name="Your text").fill(TEXT)
            page.get_by_role("button", name="Use it").click()
            expect(marks(page)).to_have_count(3)
            expect(page.get_by_label("This server asks for a token")).to_be_hidden()
