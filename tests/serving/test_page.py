"""The page in a real browser: Chromium without a window.

With BTR_IMAGES set to a folder, the pictures of the docs are made there, with the shipped models.
"""

import os
import re
import shutil
from pathlib import Path

import pytest
from served import scripted, served

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test installs it")
expect = playwright.expect
expect.set_options(timeout=60_000)

TEXT = "I has one dog 😀. It go."
LETTER = (
    "Dear Ana,\n\nI am writing you becouse I want to tell you about my new life. Last month I have moved to a big "
    "city, and since then everything are different. I look forward to see you soon.\n\nKisses, Marta\n"
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        names = ("chromium", "chromium-browser", "google-chrome")
        own = next(filter(None, map(shutil.which, names)), None)
        if not own and not Path(started.chromium.executable_path).exists():
            pytest.skip("no browser here: install chromium, or run 'playwright install chromium'")
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = started.chromium.launch(executable_path=own, args=sandbox, timeout=160_000)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address():
    with served(scripted()) as own:
        yield own


@pytest.fixture
def page(browser, address):
    yield from open_page(browser, address)


@pytest.fixture
def phone(browser, address):
    yield from open_page(browser, address, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)


def open_page(browser, address, **options):
    """A page that may load nothing from elsewhere, and on which nothing may go wrong."""
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = context.new_page()
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(address)
    page.asked = asked
    yield page
    assert all(url.startswith((address, "blob:")) for url in asked)
    assert [text for text in wrong if "the server responded" not in text] == []
    context.close()


def correct(page, text=TEXT):
    page.get_by_role("textbox", name="Your text").fill(text)
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator("#result")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("in")


def marks(page):
    return page.locator(".mark")


def copied(page):
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_have_text("Copied.")
    return page.evaluate("navigator.clipboard.readText()")


def slide(page, value):
    """Move λ as a user does: the slider says that it was moved."""
    page.get_by_role("slider").fill(str(value))


def test_type_and_see_marks(page):
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
    expect(marks(page).nth(1)).to_be_focused()  # the next that is open
    page.locator("#dismiss").click()
    expect(marks(page).nth(1)).to_have_attribute("data-state", "dismissed")
    assert copied(page) == "I have one dog 😀. It went away."


def test_all_at_once_and_download(page):
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
    before = len(page.asked)
    slide(page, 0.5)
    expect(marks(page)).to_have_count(0)
    expect(page.get_by_role("status")).to_have_text("0 corrections in 0 of 2 sentences.")
    assert copied(page) == TEXT
    slide(page, 0.97)
    expect(marks(page)).to_have_count(3)
    assert len(page.asked) == before


def test_candidates_of_a_sentence(page):
    correct(page)
    first = page.locator("details").first
    first.locator("summary").click()
    expect(first).to_contain_text("rejected")
    expect(first).to_contain_text("margin 0.964")
    base, other = first.locator(".candidate").all()
    expect(base).to_contain_text("f 0.018base model")
    expect(base).to_have_attribute("aria-pressed", "true")
    expect(other).to_contain_text("f 0.982reranker")
    widths = [own.locator(".bar").evaluate("bar => bar.style.width") for own in (base, other)]
    assert [round(float(width.rstrip("%"))) for width in widths] == [2, 98]
    other.click()  # the user may choose as well
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
        keys.press("ArrowLeft")  # 0.94: the reranker's suggestions are taken
    expect(marks(page)).to_have_count(0)
    keys.press("End")
    reach(page, "summary")
    keys.press("Enter")
    reach(page, ".candidate:nth-child(1)")
    assert page.locator("details").first.get_attribute("open") is not None


def reach(page, selector):
    """Tab until something has the focus."""
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


def test_on_a_phone(phone):
    correct(phone, TEXT + "\n\nhttps://example.org/" + "a" * 200)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    marks(phone).first.tap()
    accept = phone.locator("#accept")
    expect(accept).to_be_in_viewport()
    assert accept.bounding_box()["height"] >= 32  # wide enough for a finger
    accept.tap()
    expect(marks(phone).first).to_have_attribute("data-state", "accepted")
    for summary in phone.locator("summary").all():
        summary.tap()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360


def test_everything_has_a_name(page):
    """What can be operated says what it is, to those who can't see it."""
    correct(page)
    for one in page.locator("button, input:visible, textarea, summary, a").all():
        name = one.evaluate(
            "e => e.getAttribute('aria-label') || e.innerText || (e.labels && e.labels[0] && e.labels[0].innerText)"
        )
        assert (name or "").strip() or not one.is_visible()
    assert page.locator("[aria-live=polite]").count() == 1


def test_problems_are_told(page):
    page.get_by_role("textbox", name="Your text").fill("a " * 30_000)
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("this server takes 50,000 at a time")


def test_the_page_asks_for_the_token(browser):
    with served(scripted(), token="sesame") as address:
        for page in open_page(browser, address):
            page.get_by_label("This server asks for a token").fill("sesame")
            page.get_by_role("textbox", name="Your text").fill(TEXT)
            page.get_by_role("button", name="Use it").click()
            expect(marks(page)).to_have_count(3)
            expect(page.get_by_label("This server asks for a token")).to_be_hidden()


def test_docs_show_the_api(page, address):
    page.goto(f"{address}/docs")
    expect(page.locator("section h2")).to_contain_text(["POST /v1/correct", "POST /v1/score"])
    expect(page.locator("pre").first).to_contain_text(f"curl {address}/v1/correct")


def test_dark_is_dark(browser, address):
    shades = []
    for scheme in ("light", "dark"):
        for page in open_page(browser, address, color_scheme=scheme):
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            shades.append(sum(map(int, re.findall(r"\d+", colour)[:3])))
    assert shades[0] > 600 > 200 > shades[1]


@pytest.mark.skipif(not os.environ.get("BTR_IMAGES"), reason="pictures are made if BTR_IMAGES names a folder")
def test_pictures_for_the_docs(browser):
    from btr.correction.corrector import Corrector

    folder = Path(os.environ["BTR_IMAGES"])
    sizes = {"serve": (1280, 860, "light"), "serve-dark": (1280, 860, "dark"), "serve-phone": (360, 780, "light")}
    with served(Corrector.load(reranker="mbr"), ("t5gec-small", "mbr")) as address:
        for name, (width, height, scheme) in sizes.items():
            viewport = {"width": width, "height": height}
            for page in open_page(browser, address, viewport=viewport, color_scheme=scheme):
                correct(page, LETTER)
                page.locator("summary").nth(1).click()
                marks(page).first.click()
                page.evaluate("window.scrollTo(0, 0)")
                if width < 500:
                    page.locator(".read").scroll_into_view_if_needed()
                page.screenshot(path=folder / f"{name}.png")
