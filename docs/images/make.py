"""Make the pictures of the docs: .venv/bin/python docs/images/make.py

The pictures of the page need Playwright and Chromium, which `make test` installs.
"""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

import btr
from btr.cli.tables import print_evaluation
from btr.correction.blocks import read_blocks
from btr.correction.corrector import Corrector
from btr.correction.render import Renderer

ROOT = Path(__file__).parents[2]
WIDTH = 110
LETTER = (
    "Dear Ana,\n\nI am writing you becouse I want to tell you about my new life. Last month I have moved to a big "
    "city, and since then everything are different. I look forward to see you soon.\n\nKisses, Marta\n"
)
PAGES = {"serve": (1280, 860, "light"), "serve-dark": (1280, 860, "dark"), "serve-phone": (390, 800, "light")}


def main() -> None:
    console = start("btr evaluate examples/base.txt --metric m2 --gold examples/gold.m2")
    result = btr.evaluate(ROOT / "examples/base.txt", metric="m2", gold=[ROOT / "examples/gold.m2"])
    print_evaluation(result, console)
    save(console, "evaluate")
    blocks = list(read_blocks(ROOT / "examples/letter.md", markdown=True))
    console = start("btr correct examples/letter.md --diff")
    for block in Corrector.from_pretrained().correct_blocks(blocks):
        console.print(Text.from_ansi(Renderer("diff", colour=True).write(block)), end="")
    save(console, "correct")
    command = [sys.executable, "-m", "btr.cli", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout
        save_pages(server.stdout.readline().split()[-1])
    finally:
        server.terminate()
        server.wait(60)


def start(command: str) -> Console:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(f"[bold]$ {command}[/]", soft_wrap=True)
    return console


def save(console: Console, name: str) -> None:
    """Save what was printed as SVG, without fonts of other sites."""
    picture = console.export_svg(title=f"btr {name}")
    (ROOT / f"docs/images/{name}.svg").write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))


def save_pages(address: str) -> None:
    """Save pictures of the page with a corrected letter: in the light, in the dark, and on a phone."""
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height, scheme) in PAGES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(address)
            page.locator("#text").fill(LETTER)
            page.locator("#check").click()
            expect(page.get_by_role("status")).to_contain_text("correction", timeout=60_000)
            page.locator(".item").first.click()
            page.evaluate("window.scrollTo(0, 0)")
            page.screenshot(path=ROOT / f"docs/images/{name}.png")


if __name__ == "__main__":
    main()
