"""Every Python block that users are shown runs as shown: the blocks of a page in order, in one namespace."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from served import scripted, served

ROOT = Path(__file__).parents[1]
SERVER = "http://127.0.0.1:8081"  # where `btr serve` is, as the pages name it


def python_blocks(page):
    """Return a page's Python blocks as one program, in which every line has the number that it has in the page."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        inside = inside and line != "```"
        lines.append(line if inside else "")
        inside = inside or line == "```python"
    return "\n".join(lines)


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))) if python_blocks(page).strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page, tmp_path):
    """In a process of its own, in a folder of its own, with the examples beside it."""
    program = python_blocks(page)
    assert program.count("\n") < len(page.read_text(encoding="utf-8").splitlines())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with served(scripted()) as address:
        (tmp_path / page.with_suffix(".py").name).write_text(program.replace(SERVER, address), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, page.with_suffix(".py").name],
            cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for shown, comment in re.findall(r"^print\((.*)\)  # (.*)$", program, re.MULTILINE):
        if shown.endswith((".text", ".signature()")):  # other comments explain what is printed
            assert comment in done.stdout.splitlines()


def test_an_undefined_name_would_fail(tmp_path):
    (tmp_path / "page.md").write_text("A\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n\n```python\nprint(x, y)\n```\n")
    program = python_blocks(tmp_path / "page.md")
    assert program.splitlines()[3] == "x = 1"
    with pytest.raises(NameError, match="'y' is not defined"):
        exec(compile(program, "page.md", "exec"), {})
