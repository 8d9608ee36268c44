"""A page of the server in a real browser, and what a user does there."""

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test installs it")
expect = playwright.expect
expect.set_options(timeout=60_000)

TEXT = "I has one dog 😀. It go."


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
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"corrections? in"))


def marks(page):
    return page.locator(".mark")


def copied(page):
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_have_text("Copied.")
    return page.evaluate("navigator.clipboard.readText()")
