"""The documentation site is built without a network, strictly, and holds all that it promises."""

import os
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import btr

ROOT = Path(__file__).parents[1]
# Whatever opens a connection fails: the build needs no network.
OFFLINE = """
import runpy, socket, sys
def refuse(*arguments): raise OSError("the site must be built without a network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
sys.modules["torch"] = None
sys.argv[0] = "mkdocs"
runpy.run_module("mkdocs", run_name="__main__")
"""


class Fetched(HTMLParser):
    """Collect the addresses that a browser loads with a page, its links, and what they can lead to."""

    def __init__(self):
        super().__init__()
        self.addresses, self.links, self.ids = [], set(), set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id"))
        if tag == "a":
            self.links.add(values.get("href") or "")
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(values.get("src") or "")
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.addresses.append(values.get("href") or "")


def read(page):
    parser = Fetched()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def build(output, config="mkdocs.yml"):
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, "build", "--strict", "--config-file", config, "--site-dir", output],
        cwd=ROOT, capture_output=True, text=True, timeout=300, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    output = tmp_path_factory.mktemp("site")
    done = build(output)
    assert done.returncode == 0, done.stderr
    return output


def test_every_page_is_in_the_site(site):
    for page in (ROOT / "docs").glob("**/*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page
    for page in (ROOT / "results").glob("*.md"):
        name = "index" if page.stem == "README" else page.stem
        assert (site / "repository" / "results" / f"{name}.html").is_file(), page
    for name in ("t5gec-small", "btr-small", "edit-btr-small"):  # the model cards
        assert (site / "repository" / "src" / "btr" / "models" / "shipped" / name / "index.html").is_file()
    assert not (site / "site_hooks.py").exists()


def test_every_page_is_in_the_menu(site):
    """The start page's menu leads to each page under docs/, so that none is forgotten."""
    start = (site / "index.html").read_text(encoding="utf-8")
    listed = {"index.html", *re.findall(r'<a href="([^"#]+)" class="md-nav__link', start)}
    for page in (ROOT / "docs").glob("*.md"):
        assert page.with_suffix(".html").name in listed, page.name


def test_nothing_is_loaded_from_other_sites(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        parser = read(page)
        assert parser.addresses
        assert not [address for address in parser.addresses if "//" in address], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", sheet.read_text(encoding="utf-8")), sheet


def test_the_reference_has_every_public_name(site):
    page = (site / "reference.html").read_text(encoding="utf-8")
    for name in btr.__all__:
        assert re.search(rf'id="btr\.{name}"', page), name
    assert btr.evaluate.__doc__.splitlines()[0].split("`")[0] in page  # docstrings, not only names


def test_links_out_of_the_docs_lead_into_the_site(site):
    edits = (site / "edits.html").read_text(encoding="utf-8")
    assert 'href="repository/results/judge.html"' in edits
    assert "../results/" not in edits
    assert 'href="../evaluate.html"' in (site / "repository" / "index.html").read_text(encoding="utf-8")
    assert (site / "repository" / "studies" / "small.yaml").is_file()


def test_every_link_of_the_built_site_leads_somewhere(site):
    """Also to files that are no pages, which --strict does not check."""
    pages = {page.resolve(): read(page) for page in site.rglob("*.html") if page.name != "404.html"}
    broken = []
    for page, parser in pages.items():
        for link in parser.links:
            path, _, anchor = link.partition("#")
            if ":" in path:
                continue
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append((page.name, link))
    assert broken == []


@pytest.fixture(scope="module")
def address(site):
    """The address of the site on a server of files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_and_can_be_read(browser, address, axe, width, scheme):
    """Nothing is wider than the window, nothing comes from elsewhere, and axe-core has nothing to say of the text.

    It is not asked about tables that scroll: the theme makes them after the page is loaded.
    """
    from paged import open_page

    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 860}}
    for page in open_page(browser, address, **options):
        for name in ("index", "evaluate", "reference", "repository/index", "repository/results/peers"):
            page.goto(f"{address}/{name}.html")
            assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), name
            page.evaluate(axe)
            problems = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa']}).then((result) => result.violations)")
            found = [(problem["id"], problem["nodes"][0]["html"]) for problem in problems]
            assert [each for each in found if each[0] != "scrollable-region-focusable"] == [], name


def test_search_finds_a_page(browser, address):
    from paged import expect, open_page

    for page in open_page(browser, address, viewport={"width": 1280, "height": 860}):
        page.get_by_role("textbox", name="Search").fill("bootstrap")
        result = page.locator(".md-search-result__link", has_text="Outputs side by side").first
        expect(result).to_have_attribute("href", re.compile(r"evaluate\.html"))


NAMED = "no-such-page", "no-such-heading", "results/none"


@pytest.mark.parametrize("link", ["no-such-page.md", "glossary.md#no-such-heading", "../results/none.md"])
def test_a_broken_link_fails_the_build(tmp_path, link):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Start\n\n[there]({link})\n")
    (tmp_path / "docs" / "glossary.md").write_text("# Glossary\n")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    config = config.replace("docs_dir: docs", f"docs_dir: {tmp_path / 'docs'}")
    config = config.replace("docs/site_hooks.py", str(ROOT / "docs" / "site_hooks.py"))
    (tmp_path / "mkdocs.yml").write_text(config)
    done = build(tmp_path / "site", str(tmp_path / "mkdocs.yml"))
    assert done.returncode == 1
    assert re.search(r"WARNING.*(" + "|".join(NAMED) + ")", done.stderr)
