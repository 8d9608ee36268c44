"""The page of the server in a real browser, and the actions of a user."""

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test installs it")
expect = playwright.expect
expect.set_options(timeout=60_000)

TEXT = "I has one dog 😀. It go."


def open_page(browser, address, **options):
    """Open the page; assert that it loads nothing from other sites and has no errors."""
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = context.new_page()
    requested, errors = [], []
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(address)
    page.requested = requested
    yield page
    assert all(url.startswith((address, "blob:")) for url in requested)
    assert [text for text in errors if "the server responded" not in text] == []
    context.close()


def text_box(page):
    return page.get_by_role("textbox", name="Your text")


def correct(page, text=TEXT):
    text_box(page).fill(text)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"corrections?\."))


def marks(page):
    return page.locator(".mark")


def items(page):
    return page.locator(".item")


def copied(page):
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_have_text("Copied.")
    return page.evaluate("navigator.clipboard.readText()")


def slide(page, name, value):
    """Move a slider as a user does, so that it sends its event."""
    page.get_by_role("slider", name=name).fill(str(value))
