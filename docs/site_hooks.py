"""What the documentation site adds to docs/: the files of the repository that its pages lead to.

A file outside docs/ appears in the site as `repository/` and its path. Links between both are rewritten when the site
is built, so that the same Markdown can be read on a code host.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = "repository/"
FIRST_PAGES = ("README.md", "results/*.md", "src/btr/models/shipped/*/README.md")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)")


def path_in_repository(site_path: str) -> str:
    """Return where a file of the site lies in the repository."""
    return site_path.removeprefix(OUTSIDE) if site_path.startswith(OUTSIDE) else f"docs/{site_path}"


def path_in_site(path: str) -> str:
    """Return where a file of the repository lies in the site."""
    return path.removeprefix("docs/") if path.startswith("docs/") else OUTSIDE + path


def resolve(page: str, link: str) -> str | None:
    """Return the path in the repository that a link of a page leads to; None for addresses and links in the page."""
    path = link.partition("#")[0]
    if not path or ":" in path:
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def linked_files(page: str) -> Iterator[str]:
    """Yield the files outside docs/ that a page of the repository links to."""
    for _, link in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        target = resolve(page, link)
        if target and not target.startswith("docs/") and (ROOT / target).is_file():
            yield target


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, results and model cards, and every file that a page links to."""
    waiting = [path.relative_to(ROOT).as_posix() for pattern in FIRST_PAGES for path in sorted(ROOT.glob(pattern))]
    for file in files.documentation_pages():
        waiting += linked_files(path_in_repository(file.src_uri))
    while waiting:
        path = waiting.pop()
        if files.get_file_from_path(path_in_site(path)) is None:
            files.append(File.generated(config, path_in_site(path), abs_src_path=str(ROOT / path)))
            if path.endswith(".md"):
                waiting += linked_files(path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links that cross the border of docs/; a link to a folder becomes plain text."""
    here = page.file.src_uri

    def rewrite(match: re.Match[str]) -> str:
        text, link = match.groups()
        target = resolve(path_in_repository(here), link)
        if target is None:
            return match[0]
        if (ROOT / target).is_dir():
            return text.strip("[]")
        _, sign, anchor = link.partition("#")
        moved = posixpath.relpath(path_in_site(target), posixpath.dirname(here) or ".")
        return f"{text}({moved}{sign}{anchor})"

    return LINK.sub(rewrite, markdown)
