"""Make the pictures of the docs: .venv/bin/python docs/images/make.py"""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

import btr
from btr.correction.blocks import read_blocks
from btr.correction.corrector import Corrector
from btr.correction.render import Renderer
from btr.tables import print_evaluation

ROOT = Path(__file__).parents[2]
WIDTH = 110


def main() -> None:
    console = start("btr evaluate examples/base.txt --metric m2 --gold examples/gold.m2")
    result = btr.evaluate(ROOT / "examples/base.txt", metric="m2", gold=[ROOT / "examples/gold.m2"])
    print_evaluation(result, console)
    save(console, "evaluate")
    records = list(Corrector.load().correct_blocks(list(read_blocks(ROOT / "examples/letter.md", markdown=True))))
    console = start("btr correct examples/letter.md --diff")
    for record in records:
        console.print(Text.from_ansi(Renderer("diff", colour=True).write(record)), end="")
    save(console, "correct")


def start(command: str) -> Console:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(f"[bold]$ {command}[/]", soft_wrap=True)
    return console


def save(console: Console, name: str) -> None:
    """As SVG, without fonts from elsewhere."""
    picture = console.export_svg(title=f"btr {name}")
    (ROOT / f"docs/images/{name}.svg").write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))


if __name__ == "__main__":
    main()
