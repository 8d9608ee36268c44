"""Words of a report in LaTeX, Markdown and HTML: what must be escaped, and how corrections are marked."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

Pieces = Sequence[tuple[str, bool]]  # words, and whether each is a correction

LATEX = {
    "\\": "\\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "|": "\\textbar{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "λ": "$\\lambda$",
    "±": "$\\pm$",
    "−": "$-$",
    "–": "--",
    "†": "$\\dagger$",
    "Δ": "$\\Delta$",
    "·": "$\\cdot$",
    "…": "\\dots{}",
    "’": "'",
}


def escape_latex(text: str) -> str:
    """A text that LaTeX prints as it is."""
    return "".join(LATEX.get(sign, sign) for sign in text)


def runs(pieces: Pieces) -> list[tuple[str, bool]]:
    """Neighbouring words of the same kind together."""
    return [
        (" ".join(word for word, _ in own), changed) for changed, own in groupby(pieces, key=lambda piece: piece[1])
    ]


def mark_latex(pieces: Pieces) -> str:
    """Corrections in blue, as in the paper."""
    return " ".join(
        f"\\textcolor{{blue}}{{{escape_latex(text)}}}" if changed else escape_latex(text)
        for text, changed in runs(pieces)
    )


def mark_markdown(pieces: Pieces) -> str:
    """Corrections in bold."""
    return " ".join(f"**{text}**" if changed else text for text, changed in runs(pieces))


def mark_html(pieces: Pieces) -> str:
    """Corrections as marked text."""
    return " ".join(f"<mark>{escape(text)}</mark>" if changed else escape(text) for text, changed in runs(pieces))
