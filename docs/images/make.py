"""Make the pictures of the docs: .venv/bin/python docs/images/make.py"""

import io
import re
from pathlib import Path

from rich.console import Console

import btr
from btr.tables import print_score

ROOT = Path(__file__).parents[2]


def main() -> None:
    console = Console(record=True, width=74, file=io.StringIO(), force_terminal=True)
    console.print("[bold]$ btr evaluate examples/base.txt --metric m2 --gold examples/gold.m2[/]", soft_wrap=True)
    score = btr.evaluate(ROOT / "examples/base.txt", metric="m2", gold=[ROOT / "examples/gold.m2"])
    print_score(score.to_dict(), console)
    picture = console.export_svg(title="btr evaluate")
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # no fonts from elsewhere
    (ROOT / "docs/images/evaluate.svg").write_text(picture)


if __name__ == "__main__":
    main()
