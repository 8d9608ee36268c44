"""Corpora, golden figures and a browser, where they are at hand."""

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data():
    """The folder of corpora that BTR_DATA names."""
    folder = os.environ.get("BTR_DATA")
    if not folder:
        pytest.skip("needs corpora: set BTR_DATA to the folder that holds conll13, jfleg-dev, wi, …")
    return Path(folder)


@pytest.fixture(scope="session")
def golden(data):
    """What the official scorers print on real data, beside the corpora."""
    folder = data.parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"needs the golden figures, expected in {folder}")
    return folder


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window."""
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


@pytest.fixture(scope="session")
def axe():
    """The accessibility checker axe-core, which tests/helpers/axe.sh downloads."""
    path = Path(__file__).parent / "helpers" / "axe.min.js"
    if not path.exists():
        pytest.skip("no axe-core here: run tests/helpers/axe.sh, which needs npm and a network")
    return path.read_text()
