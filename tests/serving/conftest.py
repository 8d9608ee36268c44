"""A server, and its page in the browser."""

import pytest
from judged import judged_corrector
from served import served


@pytest.fixture(scope="module")
def address():
    with served(judged_corrector()) as url:
        yield url


@pytest.fixture
def page(browser, address):
    from paged import open_page

    yield from open_page(browser, address)


@pytest.fixture
def phone(browser, address):
    from paged import open_page

    yield from open_page(browser, address, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
