"""Scores as tables for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from btr.decisions.rerank import Reranked
from btr.decisions.tune import Tuned, Tuning


def print_score(score: Mapping[str, Any], console: Console) -> None:
    """A score with its interval, its breakdowns and its signature."""
    confidence = score.get("confidence", {})
    table = make_table("", [name_column(name) for name in score["scores"]])
    table.add_row(score["metric"].upper(), *(f"{value:.2f}" for value in score["scores"].values()))
    if confidence:
        low_high = (confidence[name] for name in score["scores"])
        label = f"[dim]{confidence['level']:.0%} interval[/]"
        table.add_row(label, *(f"[dim]{low:.2f} to {high:.2f}[/]" for low, high in low_high))
    console.print(table)
    if "candidates" in score:
        shares = score["candidates"]
        console.print(
            f"Oracle: {shares['gold_percent']:.2f} % of sentences have the gold among their candidates; "
            f"{shares['unique_percent']:.2f} % of candidates are unique."
        )
    if "rank" in score:
        console.print(f"Candidates of rank {score['rank']}.")
    for kind, rows in score.get("by", {}).items():
        print_breakdown(kind, rows, console)
    if score.get("std_over_draws"):
        console.print(f"Standard deviation over draws of references: {score['std_over_draws']:.2f}")
    console.print(", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in score["counts"].items()))
    print_signature(score["signature"], console)


def print_breakdown(kind: str, rows: Mapping[str, Any], console: Console) -> None:
    """Scores by group, operation or type; within groups, a table each of F by operation and by type."""
    first = next(iter(rows.values()))
    names = list(first["scores"])
    table = make_table(kind, [*(name_column(name) for name in names), *first["counts"]])
    for label, row in rows.items():
        cells = _cells((row["scores"][name] for name in names), ".2f")
        table.add_row(escape(label), *cells, *(f"{count:,}" for count in row["counts"].values()))
    console.print(table)
    for inner in ("operation", "type"):
        if kind == "group" and inner in first:
            labels = list(dict.fromkeys(label for row in rows.values() for label in row[inner]))
            grid = make_table(f"{name_column(names[-1])} by {inner}", [escape(group) for group in rows])
            for label in labels:
                grid.add_row(label, *(_last(row[inner].get(label)) for row in rows.values()))
            grid.add_row("all", *(_last(row) for row in rows.values()))
            console.print(grid)


def _last(row: Mapping[str, Any] | None) -> str:
    return f"{_known_by(row):.2f}" if row else "–"


def print_comparison(result: Mapping[str, Any], console: Console) -> None:
    """Two outputs and their difference, with the tests' p-values."""
    names = list(result["difference"])
    table = make_table(result["metric"].upper(), [name_column(name) for name in names])
    for side in ("a", "b"):
        table.add_row(f"{side.upper()} {escape(result[side]['file'])}", *_cells(result[side]["scores"].values(), ".2f"))
    table.add_row("B - A", *_cells(result["difference"].values(), "+.2f"), style="bold")
    tests = result["significance"]
    intervals = (tests["bootstrap"][name]["interval"] for name in names)
    table.add_row("[dim]95% interval[/]", *(f"[dim]{low:+.2f} to {high:+.2f}[/]" for low, high in intervals))
    table.add_section()
    table.add_row("p, bootstrap", *_cells((tests["bootstrap"][name]["p"] for name in names), ".4f"))
    table.add_row("p, randomisation", *_cells((tests["randomisation"][n]["p"] for n in names), ".4f"))
    table.add_row("p, t-test of sentences", *[""] * (len(names) - 1), f"{tests['t_test']['p']:.4f}")
    console.print(table)
    sentences = result["sentences"]
    console.print(
        f"{sentences['changed']:,} of {sentences['all']:,} sentences differ: {sentences['better']:,} better and "
        f"{sentences['worse']:,} worse in B."
    )
    print_signature(result["signature"], console)


def print_reranked(result: Reranked, console: Console) -> None:
    """Print how many suggestions were accepted, rejected and equal; with gold, the scores in each case (Table 6)."""
    table = make_table(f"{len(result.decisions):,} sentences", list(result.shares))
    table.add_row("share (%)", *_cells(result.shares.values(), ".2f"))
    evaluation = result.evaluation
    if evaluation:
        cases = [evaluation.by_verdict.get(verdict) for verdict in result.shares]
        for label, name, form in (
            ("base", "base", ".2f"),
            ("suggested", "suggested", ".2f"),
            ("p, bootstrap", "p_bootstrap", ".4f"),
            ("p, t-test of sentences", "p_t_test", ".4f"),
        ):
            table.add_row(label, *(format(getattr(case, name), form) if case else "–" for case in cases))
    console.print(table)
    if result.unscored:
        console.print(f"{result.unscored:,} of the equal could not be scored: a candidate or the source is too long.")
    if evaluation:
        totals = make_table("all", [name_column(name) for name in evaluation.base])
        totals.add_row("base", *_cells(evaluation.base.values(), ".2f"))
        totals.add_row("reranked", *_cells(evaluation.reranked.values(), ".2f"))
        console.print(totals)
        print_signature(evaluation.signature, console)
    print_signature(result.signature, console)


def print_tuned(result: Tuned, console: Console) -> None:
    """Print each model's grid, as in the paper: the best cell is bold, and those that equal the base are dim."""
    for model in result.models:
        best = model.best
        name = name_column(list(model.best_score.scores)[-1])
        table = make_table(f"{escape(model.scores)}: λ", [f"{name}, {top}" for top in model.tops])
        for k, threshold in enumerate(result.thresholds):
            cells = []
            for top, values, changed in zip(model.tops, model.grid, model.changed):
                bold = (top, threshold) == (best.top, best.threshold)
                style = "bold" if bold else "default" if changed[k] else "dim"
                cells.append(f"[{style}]{values[k]:.2f}[/]")
            table.add_row(f"{threshold:g}", *cells)
        console.print(table)
    summary = make_table("", ["top", "λ", "tuned", "cross-validated", "Δ base [95 %]"])
    summary.add_row("base", "", "", f"{result.base.value:.2f}", "", "")
    tunings: list[tuple[str, Tuning]] = [(model.scores, model) for model in result.models]
    if result.mixture:
        tunings.append(("mixture", result.mixture))
    for name, tuning in tunings:
        low, high = tuning.interval
        gain = escape(f"{tuning.gain:+.2f} [{low:+.2f}, {high:+.2f}]")
        scores = f"{tuning.best_score.value:.2f}", f"{tuning.cross_validated.score.value:.2f}"
        summary.add_row(escape(name), f"{tuning.best.top}", f"{tuning.best.threshold:g}", *scores, gain)
    console.print(summary)
    if result.mixture:
        weights = " + ".join(f"{weight:g} · {kind}" for kind, weight in result.mixture.best.weights.items())
        console.print(f"Mixture: {weights}", soft_wrap=True)
    print_signature(result.signature, console)


def _known_by(score: Mapping[str, Any]) -> float:
    return float(list(score["scores"].values())[-1])


FLAGS = {
    "too_long": "of the sources {is_are} over the greatest length, and passed through unchanged",
    "duplicate": "of the candidates {is_are} equal to an earlier one of the source",
    "empty": "of the candidates {is_are} empty: the source stands in the place",
    "runaway": "of the candidates {is_are} far longer than the source",
    "unfinished": "of the candidates {is_are} cut at the greatest length",
}


def print_generated(result: Mapping[str, Any], console: Console) -> None:
    """How many candidates were written, and what is odd about some."""
    console.print(f"{result['candidates']:,} candidates of {result['sources']:,} sources.")
    for flag, number in result["flags"].items():
        console.print(f"{number:,} {FLAGS[flag].format(is_are='is' if number == 1 else 'are')} ({flag}).")
    print_signature(result["signature"], console)


def print_trained(result: Mapping[str, Any], console: Console) -> None:
    """How far a run is, and how good its best model."""
    state = "complete" if result["complete"] else "not complete: without --max-steps the command goes on"
    if not result["new_steps"]:
        state += "; nothing was left to do"
    console.print(
        f"{result['steps']:,} updates, {result['tokens']:,} tokens, {result['tokens_per_second']:,.0f} a second; "
        f"{state}.",
        soft_wrap=True,
    )
    if best := result["best"]:
        names = [name for name in best if name not in ("value", "grid", "signature")]
        table = make_table("validation", [name_column(name) for name in names])
        table.add_row("best", *_cells((best[name] for name in names), ".2f"))
        console.print(table)
        print_signature(best["signature"], console)
    if result["model"]:
        console.print(f"Model: {result['model']}", soft_wrap=True)


def print_compacted(result: Mapping[str, Any], console: Console) -> None:
    """How small a model has become."""
    size = f"{result['megabytes']:,} MB, of {result['float32_megabytes']:,} MB in float32"
    console.print(f"Model: {result['model']} ({size})", soft_wrap=True)


def print_study(result: Mapping[str, Any], console: Console) -> None:
    """Where the report is, what was run for it, and what is not in it."""
    ran = ", ".join(f"{what} {number}" for what, number in result["ran"].items())
    console.print(f"Run: {ran}." if ran else "Nothing was left to run.", soft_wrap=True)
    for number, why in result["gaps"].items():
        console.print(f"{number} not computed: {why}", highlight=False, soft_wrap=True)
    console.print(f"Report: {result['report']}, and {len(result['files']) - 1} files beside it.", soft_wrap=True)


def print_exported(result: Mapping[str, Any], console: Console) -> None:
    """What is in the archive."""
    told = f"{result['file']} with {result['sentences']:,} sentences"
    console.print(f"Archive: {result['archive']} ({told})", soft_wrap=True)


def print_signature(signature: str, console: Console) -> None:
    """On one line, so that it can be copied."""
    console.print(signature, style="dim", soft_wrap=True, markup=False, highlight=False)


def make_table(head: str, columns: Sequence[str]) -> Table:
    """An empty table: a column of labels, then numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(head, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def name_column(name: str) -> str:
    """How a score is called in tables."""
    return name if name in ("precision", "recall") else name.upper()


def _cells(values: Iterable[float], form: str) -> list[str]:
    return [format(value, form) for value in values]
