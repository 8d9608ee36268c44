"""The page on a phone, in the dark, and for a screen reader."""

import re

import pytest
from paged import TEXT, correct, expect, items, marks, open_page


def test_on_a_phone(phone):
    correct(phone, TEXT + "\n\nhttps://example.org/" + "a" * 200)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    items(phone).first.tap()
    accept = phone.locator("#accept")
    expect(accept).to_be_in_viewport()
    assert accept.bounding_box()["height"] >= 32  # large enough for a finger
    accept.tap()
    expect(marks(phone)).to_have_text(["go"])
    for summary in phone.locator("summary:visible").all():
        summary.tap()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name(page):
    """A screen reader can name every control."""
    correct(page)
    page.locator("#details > summary").click()
    for one in page.locator("button, input:visible, textarea, summary, a").all():
        name = one.evaluate(
            "e => e.getAttribute('aria-label') || e.innerText || (e.labels && e.labels[0] && e.labels[0].innerText)"
        )
        assert (name or "").strip() or not one.is_visible()
    assert page.locator("[aria-live=polite]").count() == 1
    keys = [page.locator(selector).get_attribute("aria-keyshortcuts") for selector in ("#accept", "#dismiss")]
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
def test_controls_have_borders_with_contrast(browser, address, scheme):
    for page in open_page(browser, address, color_scheme=scheme):
        correct(page)
        for selector in (".paper", "#copy", "#check"):
            colours = page.locator(selector).evaluate(
                "e => [getComputedStyle(e).borderColor, getComputedStyle(e.closest('section')).backgroundColor]"
            )
            dark, light = sorted(map(luminance, colours))
            assert (light + 0.05) / (dark + 0.05) >= 3  # WCAG 2.1, 1.4.11


def luminance(colour):
    """Return the relative luminance of a colour as WCAG defines it."""
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_problem(browser, address, axe, scheme, width):
    for page in open_page(browser, address, color_scheme=scheme, viewport={"width": width, "height": 860}):
        correct(page)
        items(page).first.click()
        for summary in page.locator("summary:visible").all():
            summary.click()
        page.evaluate(axe)
        problems = page.evaluate("axe.run().then((result) => result.violations)")
        serious = [
            (problem["id"], problem["nodes"][0]["html"])
            for problem in problems
            if problem["impact"] in ("serious", "critical")
        ]
        assert serious == []
