"""Text in LaTeX, Markdown and HTML: escape special characters, and mark corrected words."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup


class Word(NamedTuple):
    """A word of an example sentence."""

    text: str
    corrected: bool


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
    """Return a text that LaTeX prints unchanged."""
    return "".join(LATEX.get(sign, sign) for sign in text)


def join_words(words: Sequence[Word]) -> list[tuple[str, bool]]:
    """Join neighbouring words that are all corrected, or all unchanged."""
    return [
        (" ".join(word.text for word in group), corrected)
        for corrected, group in groupby(words, key=lambda word: word.corrected)
    ]


def words_to_latex(words: Sequence[Word]) -> str:
    """Print corrections in blue, as the paper does."""
    return " ".join(
        f"\\textcolor{{blue}}{{{escape_latex(text)}}}" if corrected else escape_latex(text)
        for text, corrected in join_words(words)
    )


def words_to_markdown(words: Sequence[Word]) -> str:
    """Print corrections in bold."""
    return " ".join(f"**{text}**" if corrected else text for text, corrected in join_words(words))


def words_to_html(words: Sequence[Word]) -> Markup:
    """Print corrections as <mark>."""
    return Markup(" ").join(
        Markup("<mark>{}</mark>").format(text) if corrected else text for text, corrected in join_words(words)
    )
