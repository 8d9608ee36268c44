"""Tables of the report as data, and their output as CSV, LaTeX and Markdown."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from btr.studies.markup import Word, escape_latex, words_to_latex, words_to_markdown

MAX_LATEX_COLUMNS = 6  # a table with more is scaled down to the width of the page
Style = Literal["best", "base"]  # bold; or grey: the base model's score, as in the paper's grids


@dataclass(frozen=True, slots=True)
class Cell:
    """A number with its printed form, interval and signature; or a sentence, given as words."""

    text: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    signature: str | None = None
    style: Style | None = None
    words: tuple[Word, ...] = ()
    paper: float | None = None  # the paper's value, if it stands beside this one


EMPTY = Cell("–")


@dataclass(frozen=True, slots=True)
class Row:
    """A label and its cells."""

    label: str
    cells: Sequence[Cell]
    line_above: bool = False
    indent: bool = False
    full_label: str | None = None  # for the CSV file, if the label needs the row above it to be understood


class ColumnGroup(NamedTuple):
    """Columns under a common heading, which may be absent."""

    title: str | None
    columns: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table of the report, with the number that it has in the paper."""

    file_stem: str
    number: str
    title: str
    label_heading: str
    groups: Sequence[ColumnGroup]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Return the columns' names, without their groups'."""
        return [name for group in self.groups for name in group.columns]

    @property
    def full_columns(self) -> list[str]:
        """Return the columns' names, each after its group's."""
        return [f"{group.title or ''} {name}".strip() for group in self.groups for name in group.columns]

    @property
    def has_groups(self) -> bool:
        """Whether columns have a common heading."""
        return any(group.title for group in self.groups)

    @property
    def has_sentences(self) -> bool:
        """Whether cells are sentences, which wrap, and not numbers."""
        return any(cell.words for row in self.rows for cell in row.cells)


@dataclass(frozen=True)
class NotComputed:
    """A table or figure of the paper that this study does not have, with the reason."""

    number: str
    title: str
    reason: str


def embolden(rows: Sequence[Row], columns: Iterable[int], skip: int = 0) -> list[Row]:
    """Mark the highest value of each column as best; the first `skip` rows do not count."""
    best = {}
    for column in columns:
        values = [row.cells[column].value for row in rows[skip:]]
        rounded = [round(value, 2) for value in values if value is not None]
        best[column] = max(rounded) if len(set(rounded)) > 1 else None  # where all are equal, none is best

    def mark(column: int, cell: Cell) -> Cell:
        if cell.value is None or cell.style or column not in best or round(cell.value, 2) != best[column]:
            return cell
        return replace(cell, style="best")

    marked = [replace(row, cells=[mark(k, cell) for k, cell in enumerate(row.cells)]) for row in rows[skip:]]
    return [*rows[:skip], *marked]


def to_csv(table: Table) -> str:
    """Write one line per cell, with its value in full, its interval and its signature."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    has_paper = any(cell.paper is not None for row in table.rows for cell in row.cells)
    writer.writerow(["row", "column", "value", "low", "high", "signature", *(["paper"] if has_paper else [])])
    for row in table.rows:
        for column, cell in zip(table.full_columns, row.cells, strict=True):
            value = cell.text if cell.value is None else repr(cell.value)
            low, high = cell.interval or (None, None)
            line = [row.full_label or row.label, column, value, low, high, cell.signature]
            writer.writerow([*line, *([cell.paper] if has_paper else [])])
    return out.getvalue()


def to_latex(table: Table) -> str:
    """Write a table for the package booktabs, with notes and signatures below it."""
    layout = "lp{0.8\\linewidth}" if table.has_sentences else "l" + "r" * len(table.columns)
    scaled = len(table.columns) > MAX_LATEX_COLUMNS
    lines = ["% needs booktabs, graphicx and xcolor", "\\begin{table}[ht]", "\\centering"]
    lines += ["\\resizebox{\\linewidth}{!}{%"] if scaled else []
    lines += [f"\\begin{{tabular}}{{{layout}}}", "\\toprule", *latex_groups(table)]
    lines += [" & ".join(map(escape_latex, [table.label_heading, *table.columns])) + " \\\\", "\\midrule"]
    for row in table.rows:
        if row.line_above:
            lines.append("\\midrule")
        label = ("\\quad " if row.indent else "") + escape_latex(row.label)
        lines.append(" & ".join([label, *map(cell_to_latex, row.cells)]) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}" + ("}" if scaled else "")]
    lines.append(f"\\caption{{{escape_latex(f'({table.number}) {table.title}')}}}")
    below = [*table.notes, *(f"{name}: {signature}" for name, signature in table.signatures.items())]
    if below:
        lines.append("\\par\\smallskip\\raggedright\\scriptsize " + " \\\\ ".join(map(escape_latex, below)))
    return "\n".join([*lines, "\\end{table}", ""])


def latex_groups(table: Table) -> list[str]:
    """Return the line of common headings and the rules below them, if columns have common headings."""
    if not table.has_groups:
        return []
    heads = [f"\\multicolumn{{{len(names)}}}{{c}}{{{escape_latex(title or '')}}}" for title, names in table.groups]
    rules, start = [], 2
    for title, names in table.groups:
        if title:
            rules.append(f"\\cmidrule(lr){{{start}-{start + len(names) - 1}}}")
        start += len(names)
    return [" & ".join(["", *heads]) + " \\\\", " ".join(rules)]


def cell_to_latex(cell: Cell) -> str:
    """Print a cell in bold or grey according to its style."""
    if cell.words:
        return words_to_latex(cell.words)
    text = escape_latex(cell.text)
    if cell.style == "best":
        return f"\\textbf{{{text}}}"
    return f"\\textcolor{{gray}}{{{text}}}" if cell.style == "base" else text


def to_markdown(table: Table) -> str:
    """Write a pipe table, with notes and signatures below it."""
    align = ":--" if table.has_sentences else "--:"
    lines = [f"**{table.number}. {table.title}**", "", markdown_line([table.label_heading, *table.full_columns])]
    lines.append(markdown_line([":--", *[align] * len(table.columns)]))
    for row in table.rows:
        label = ("&emsp;" if row.indent else "") + row.label
        lines.append(markdown_line([label, *map(cell_to_markdown, row.cells)]))
    lines += ["", *(f"- {note}" for note in table.notes)]
    lines += [f"- {name}: `{signature}`" for name, signature in table.signatures.items()]
    return "\n".join(lines).rstrip() + "\n"


def markdown_line(cells: Sequence[str]) -> str:
    """Return a line of a pipe table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def cell_to_markdown(cell: Cell) -> str:
    """Print a cell in bold or italics according to its style."""
    if cell.words:
        return words_to_markdown(cell.words)
    if cell.style is None:
        return cell.text
    return {"best": f"**{cell.text}**", "base": f"*{cell.text}*"}[cell.style]
