"""Several systems side by side, reports and named test sets, as tables for people."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from btr.cli.tables import make_table, print_signature
from btr.corpus.named_sets import ListedSet, set_folders
from btr.metrics.results import Comparison, Confidence, Report


def print_systems(result: Comparison, console: Console) -> None:
    """Print several outputs, each after the first with its difference from the first."""
    print_names(result.files, console)
    print_outputs(result, (), console)
    print_notes(result, console)
    print_signature(result.a.signature, console)


def print_report(result: Report, console: Console) -> None:
    """Print a table for each metric, then all signatures."""
    print_names(result.files, console)
    for section in result.sections.values():
        print_outputs(section.comparison, section.confidence, console)
    print_notes(next(iter(result.sections.values())).comparison, console)
    for signature in result.signatures.values():
        print_signature(signature, console)


def print_names(files: Sequence[str], console: Console) -> None:
    """Print which letter stands for which output."""
    for letter, file in zip(letters(), files):
        console.print(f"{letter} {escape(file)}", soft_wrap=True, highlight=False)


def letters() -> Iterator[str]:
    """Yield A to Z, then AA, AB and so on."""
    yield from ascii_uppercase
    yield from (first + second for first in letters() for second in ascii_uppercase)


def print_outputs(result: Comparison, confidence: Sequence[Confidence], console: Console) -> None:
    """Print the scores of outputs by one metric, and how the main score differs from that of the first output.

    A single output has the intervals of its scores instead.
    """
    columns, main = result.a.columns, result.a.main_score
    tests = ["Δ A", "95 %", "p"] if result.contrasts else []
    table = narrow_table(result.a.title, [*columns.values(), *tests])
    for k, (letter, score) in enumerate(zip(letters(), result.scores)):
        cells = [f"{score.scores[name]:.2f}" for name in columns]
        if k:
            contrast = result.contrasts[k - 1]
            test = contrast.significance.bootstrap[main]
            low, high = (100 * end for end in test.interval or (0.0, 0.0))
            cells += [f"{contrast.difference[main]:+.2f}", f"{low:+.1f} to {high:+.1f}"]
            cells += [f"{test.p if test.p_holm is None else test.p_holm:.4f}"]
        table.add_row(letter, *cells)
    if confidence and not result.contrasts:
        intervals = (confidence[0].intervals[name] for name in columns)
        label = f"[dim]{confidence[0].level:.0%}[/]"
        table.add_row(label, *(f"[dim]{low:.1f} to {high:.1f}[/]" for low, high in intervals))
    console.print(table)


def narrow_table(head: str, columns: Sequence[str]) -> Table:
    """Return a table with little space between its columns, since there are many."""
    table = make_table(head, columns)
    table.padding = 0, 0, 0, 1
    return table


def print_notes(result: Comparison, console: Console) -> None:
    """Print what holds for all rows: the rank, and how p-values are made."""
    if result.rank is not None:
        console.print(f"Candidates of rank {result.rank}.")
    if result.contrasts:
        adjusted = f", adjusted for {len(result.contrasts)} comparisons (Holm)" if len(result.contrasts) > 1 else ""
        note = f"Δ A: the last score minus that of A; p: paired bootstrap{adjusted}; --json has further tests."
        console.print(note, soft_wrap=True, highlight=False)


def print_set_list(sets: Sequence[ListedSet], console: Console) -> None:
    """Print each set with its files: the hash, whether it is here and the right one; then who offers them."""
    table = narrow_table("set", ["metric", "size"])
    for column in ("file", "SHA-256", "here"):
        table.add_column(column, overflow="fold")
    for one in sets:
        head = [one.name, one.metric if one.has_gold else "no gold", f"{one.sentences:,}"]
        for file in one.files:
            here = file.problem or ("yes" if file.found else "no")
            table.add_row(*head, file.path, file.sha256[:8] if file.sha256 else "unknown", here)
            head = [""] * 3
    console.print(table)
    folders = " or ".join(map(str, set_folders()))
    console.print(f"Files are looked for below {folders}. Their licence holders offer them:", soft_wrap=True)
    pages = {page: [one.name for one in sets if one.page == page] for page in dict.fromkeys(one.page for one in sets)}
    for page, names in pages.items():
        console.print(f"  {', '.join(names)}: {page}", soft_wrap=True, highlight=False)
