"""How the page looks, to all who use it: on a phone, in the dark, by name.

With BTR_IMAGES set to a folder, the pictures of the docs are made there, with the shipped models.
"""

import os
import re
from pathlib import Path

import pytest
from paged import TEXT, correct, expect, marks, open_page
from served import served

from btr.correction import DEFAULT_MODEL, DEFAULT_RERANKERS
from btr.correction.corrector import Corrector

LETTER = (
    "Dear Ana,\n\nI am writing you becouse I want to tell you about my new life. Last month I have moved to a big "
    "city, and since then everything are different. I look forward to see you soon.\n\nKisses, Marta\n"
)


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
    keys = [page.locator(own).get_attribute("aria-keyshortcuts") for own in ("#accept", "#dismiss")]
    assert keys == ["A", "D"]


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_can_be_operated_has_an_edge_that_is_seen(browser, address, scheme):
    for page in open_page(browser, address, color_scheme=scheme):
        correct(page)
        for own in ("#text", "#copy", "#correct"):
            colours = page.locator(own).evaluate(
                "e => [getComputedStyle(e).borderColor, getComputedStyle(e.closest('section')).backgroundColor]"
            )
            dark, light = sorted(map(luminance, colours))
            assert (light + 0.05) / (dark + 0.05) >= 3  # as WCAG asks for


def luminance(colour):
    """How bright a colour is, by WCAG."""
    shares = [int(own) / 255 for own in re.findall(r"\d+", colour)[:3]]
    linear = [own / 12.92 if own <= 0.04045 else ((own + 0.055) / 1.055) ** 2.4 for own in shares]
    return sum(weight * own for weight, own in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.skipif(not os.environ.get("BTR_IMAGES"), reason="pictures are made if BTR_IMAGES names a folder")
def test_pictures_for_the_docs(browser):
    folder = Path(os.environ["BTR_IMAGES"])
    sizes = {"serve": (1280, 860, "light"), "serve-dark": (1280, 860, "dark"), "serve-phone": (360, 780, "light")}
    with served(Corrector.load(), (DEFAULT_MODEL, " + ".join(DEFAULT_RERANKERS))) as address:
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
