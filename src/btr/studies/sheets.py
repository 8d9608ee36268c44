"""Tables as data: cells that carry their value, interval and signature; and as CSV, LaTeX and Markdown."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from btr.studies.words import escape_latex, mark_latex, mark_markdown

MOST_COLUMNS = 6  # that fit a page of LaTeX
Style = Literal["", "best", "base"]  # base: the same as the base model, greyed out as in the paper


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table, as it is shown and as it is; or a text, whose pieces may be marked."""

    text: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    signature: str = ""
    style: Style = ""
    pieces: tuple[tuple[str, bool], ...] = ()  # words, and whether each is a correction


EMPTY = Cell("–")


@dataclass(frozen=True, slots=True)
class Row:
    """A label and its cells; a rule separates it from the row before."""

    label: str
    cells: Sequence[Cell]
    rule: bool = False
    name: str = ""  # by which it is known where the rows around it are not seen; the label if not said


@dataclass(frozen=True)
class Sheet:
    """A table of the report, under the number that it has in the paper."""

    name: str  # of its files
    number: str
    title: str
    head: str  # of the column of labels
    groups: Sequence[tuple[str, Sequence[str]]]  # columns under a common head, which may be empty
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    signatures: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns' full names."""
        return [f"{group} {name}".strip() for group, names in self.groups for name in names]

    @property
    def caption(self) -> str:
        """Number and title."""
        return f"{self.number}. {self.title}"


@dataclass(frozen=True)
class Gap:
    """A table or figure of the paper that could not be computed, and why."""

    number: str
    title: str
    why: str


def embolden(rows: Sequence[Row], columns: Iterable[int], skip: int = 0) -> list[Row]:
    """Mark the highest value of each column, but for the first rows."""
    best = {}
    for column in columns:
        values = [row.cells[column].value for row in rows[skip:]]
        known = [round(value, 2) for value in values if value is not None]
        best[column] = max(known) if len(set(known)) > 1 else None  # where all are equal, none is best

    def mark(column: int, cell: Cell) -> Cell:
        if cell.value is None or cell.style or column not in best or round(cell.value, 2) != best[column]:
            return cell
        return replace(cell, style="best")

    marked = [replace(row, cells=[mark(k, cell) for k, cell in enumerate(row.cells)]) for row in rows[skip:]]
    return [*rows[:skip], *marked]


def to_csv(sheet: Sheet) -> str:
    """A line for each cell, with its value in full, its interval and its signature."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "column", "value", "low", "high", "signature"])
    for row in sheet.rows:
        for column, cell in zip(sheet.columns, row.cells, strict=True):
            name, value = row.name or row.label.strip(), cell.text if cell.value is None else repr(cell.value)
            writer.writerow([name, column, value, *(cell.interval or ("", "")), cell.signature])
    return out.getvalue()


def to_latex(sheet: Sheet) -> str:
    """A table for booktabs; signatures stand below it."""
    wide = any(cell.pieces for row in sheet.rows for cell in row.cells)
    layout = "lp{0.8\\linewidth}" if wide else "l" + "r" * len(sheet.columns)
    fit = len(sheet.columns) > MOST_COLUMNS  # then it is made as wide as the page
    lines = ["% needs booktabs, graphicx and xcolor", "\\begin{table}[ht]", "\\centering"]
    lines += [*(["\\resizebox{\\linewidth}{!}{%"] if fit else []), f"\\begin{{tabular}}{{{layout}}}", "\\toprule"]
    if any(group for group, _ in sheet.groups):
        heads = [f"\\multicolumn{{{len(names)}}}{{c}}{{{escape_latex(group)}}}" for group, names in sheet.groups]
        lines.append(" & ".join(["", *heads]) + " \\\\")
        start = 2
        rules = []
        for group, names in sheet.groups:
            if group:
                rules.append(f"\\cmidrule(lr){{{start}-{start + len(names) - 1}}}")
            start += len(names)
        lines.append(" ".join(rules))
    names = [name for _, own in sheet.groups for name in own]
    lines += [" & ".join(map(escape_latex, [sheet.head, *names])) + " \\\\", "\\midrule"]
    for row in sheet.rows:
        if row.rule:
            lines.append("\\midrule")
        label = ("\\quad " if row.label.startswith(" ") else "") + escape_latex(row.label.strip())
        lines.append(" & ".join([label, *map(cell_latex, row.cells)]) + " \\\\")
    lines += [
        "\\bottomrule",
        "\\end{tabular}" + ("}" if fit else ""),
        f"\\caption{{{escape_latex(f'({sheet.number}) {sheet.title}')}}}",
    ]
    below = [*sheet.notes, *(f"{name}: {signature}" for name, signature in sheet.signatures.items())]
    if below:
        lines.append("\\par\\smallskip\\raggedright\\scriptsize " + " \\\\ ".join(map(escape_latex, below)))
    return "\n".join([*lines, "\\end{table}", ""])


def cell_latex(cell: Cell) -> str:
    """A cell, bold or grey where it should be."""
    if cell.pieces:
        return mark_latex(cell.pieces)
    text = escape_latex(cell.text)
    if cell.style == "best":
        return f"\\textbf{{{text}}}"
    return f"\\textcolor{{gray}}{{{text}}}" if cell.style == "base" else text


def to_markdown(sheet: Sheet) -> str:
    """A pipe table, with notes and signatures below."""
    align = ":--" if any(cell.pieces for row in sheet.rows for cell in row.cells) else "--:"
    lines = [f"**{sheet.caption}**", "", line([sheet.head, *sheet.columns])]
    lines.append(line([":--", *[align] * len(sheet.columns)]))
    for row in sheet.rows:
        indent = "&emsp;" if row.label.startswith(" ") else ""
        lines.append(line([indent + row.label.strip(), *map(cell_markdown, row.cells)]))
    lines += ["", *(f"- {note}" for note in sheet.notes)]
    lines += [f"- {name}: `{signature}`" for name, signature in sheet.signatures.items()]
    return "\n".join(lines).rstrip() + "\n"


def line(cells: Sequence[str]) -> str:
    """A line of a pipe table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def cell_markdown(cell: Cell) -> str:
    """A cell, bold or in italics where it should be."""
    if cell.pieces:
        return mark_markdown(cell.pieces)
    return {"best": f"**{cell.text}**", "base": f"*{cell.text}*"}.get(cell.style, cell.text)
