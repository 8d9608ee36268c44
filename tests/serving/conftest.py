"""Chromium without a window, and a page in it."""

import os
import shutil
from pathlib import Path

import pytest
from served import scripted, served


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
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
    from paged import open_page

    yield from open_page(browser, address)


@pytest.fixture
def phone(browser, address):
    from paged import open_page

    yield from open_page(browser, address, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
