"""Scores as tables for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from btr.decisions.rerank import Reranked
from btr.decisions.tune import Tuned, Tuning
from btr.metrics.results import Comparison, Evaluation, Part, Score
from btr.studies.export import Exported
from btr.studies.study import StudyReport
from btr.wording import count_of

if TYPE_CHECKING:  # these need torch
    from btr.candidates.generate import Generated
    from btr.models.compact import Compacted
    from btr.models.fetch import Fetched
    from btr.models.hub import Pushed
    from btr.models.import_checkpoint import Imported
    from btr.training.cross_fit import CrossFitted
    from btr.training.train import Trained
    from btr.training.write_errors import WrittenErrors


def print_evaluation(result: Evaluation, console: Console) -> None:
    """Print a score with its intervals, its breakdowns and its signature."""
    table = make_table("", list(result.columns.values()))
    table.add_row(result.title, *_cells((result.scores[name] for name in result.columns), ".2f"))
    if result.confidence:
        intervals = (result.confidence.intervals[name] for name in result.columns)
        label = f"[dim]{result.confidence.level:.0%} interval[/]"
        table.add_row(label, *(f"[dim]{low:.2f} to {high:.2f}[/]" for low, high in intervals))
    console.print(table)
    if result.oracle:
        console.print(
            f"Oracle: {result.oracle.gold_percent:.2f} % of sentences have the gold among their candidates; "
            f"{result.oracle.unique_percent:.2f} % of candidates are unique."
        )
    if result.rank is not None:
        console.print(f"Candidates of rank {result.rank}.")
    for kind, parts in result.by.items():
        print_breakdown(kind, parts, result, console)
    if result.details.get("std_over_draws"):
        console.print(f"Standard deviation over draws of references: {result.details['std_over_draws']:.2f}")
    console.print(", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in result.counts.items()))
    print_signature(result.signature, console)


def print_breakdown(kind: str, parts: Mapping[str, Part], score: Score, console: Console) -> None:
    """Print scores by group, operation or type; within groups also tables of the main score by operation and type."""
    first = next(iter(parts.values()))
    table = make_table(kind, [*score.columns.values(), *first.counts])
    for label, part in parts.items():
        cells = _cells((part.scores[name] for name in score.columns), ".2f")
        table.add_row(escape(label), *cells, *(f"{count:,}" for count in part.counts.values()))
    console.print(table)

    def main_score(part: Part | None) -> str:
        return f"{part.scores[score.main_score]:.2f}" if part else "–"

    for inner in first.by:
        labels = list(dict.fromkeys(label for part in parts.values() for label in part.by[inner]))
        grid = make_table(f"{score.columns[score.main_score]} by {inner}", [escape(group) for group in parts])
        for label in labels:
            grid.add_row(label, *(main_score(part.by[inner].get(label)) for part in parts.values()))
        grid.add_row("all", *map(main_score, parts.values()))
        console.print(grid)


def print_comparison(result: Comparison, console: Console) -> None:
    """Print two outputs and their difference, with the p-values of the tests."""
    columns, tests = result.a.columns, result.significance
    table = make_table(result.a.title, list(columns.values()))
    for side, file, score in zip("AB", result.files, (result.a, result.b)):
        table.add_row(f"{side} {escape(file)}", *_cells((score.scores[name] for name in columns), ".2f"))
    table.add_row("B - A", *_cells((result.difference[name] for name in columns), "+.2f"), style="bold")
    intervals = (tests.bootstrap[name].interval or () for name in columns)
    table.add_row(
        "[dim]95% interval[/]", *(f"[dim]{' to '.join(f'{100 * end:+.2f}' for end in ends)}[/]" for ends in intervals)
    )
    table.add_section()
    table.add_row("p, bootstrap", *_cells((tests.bootstrap[name].p for name in columns), ".4f"))
    table.add_row("p, randomisation", *_cells((tests.randomisation[name].p for name in columns), ".4f"))
    table.add_row("p, t-test of sentences", *[""] * (len(columns) - 1), f"{tests.t_test.p:.4f}")
    console.print(table)
    sentences = result.sentences
    console.print(
        f"{sentences.changed:,} of {count_of(sentences.all, 'sentence')} differ: {sentences.better:,} better and "
        f"{sentences.worse:,} worse in B."
    )
    print_signature(result.a.signature, console)


def print_reranked(result: Reranked, console: Console) -> None:
    """Print how many suggestions were accepted, rejected and equal; with gold, the scores in each case (Table 6)."""
    table = make_table(count_of(len(result.decisions), "sentence"), list(result.shares))
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
        reason = "for models: a candidate or the source is too long"
        console.print(f"{result.unscored:,} of the equal have no score ({reason}).")
    if evaluation:
        totals = make_table("all", list(evaluation.base.columns.values()))
        totals.add_row("base", *_cells(evaluation.base.scores.values(), ".2f"))
        totals.add_row("reranked", *_cells(evaluation.reranked.scores.values(), ".2f"))
        console.print(totals)
        print_signature(evaluation.base.signature, console)
    print_signature(result.signature, console)


def print_tuned(result: Tuned, console: Console) -> None:
    """Print each model's grid, as in the paper: the best cell is bold, and those that equal the base are dim."""
    for model in result.models:
        best = model.best
        name = model.best_score.columns[model.best_score.main_score]
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
        scores = f"{tuning.best_score.value:.2f}", f"{tuning.cross_validated.value:.2f}"
        summary.add_row(escape(name), f"{tuning.best.top}", f"{tuning.best.threshold:g}", *scores, gain)
    console.print(summary)
    if result.mixture:
        best = result.mixture.best
        weights = " ".join(f"--weight {kind}={weight:g}" for kind, weight in best.weights.items())
        options = f"--top {best.top} --threshold {best.threshold:g} {weights}"
        console.print(f"The mixture is btr rerank {options}", soft_wrap=True, highlight=False)
    if all(tuning.gain <= 0 for _, tuning in tunings):
        console.print("There is nothing to gain: no cross-validated score is above the base score.")
    print_signature(result.signature, console)


FLAGS = {
    "too_long": "of the sources {is_are} over the greatest length, and passed through unchanged",
    "duplicate": "of the candidates {is_are} equal to an earlier one of the source",
    "empty": "of the candidates {is_are} empty: the source is used instead",
    "runaway": "of the candidates {is_are} far longer than the source",
    "unfinished": "of the candidates {is_are} cut at the greatest length",
}


def print_generated(result: "Generated", console: Console) -> None:
    """Print how many candidates were written, and how many have each flag."""
    console.print(f"{count_of(result.candidates, 'candidate')} of {count_of(result.sources, 'source')}.")
    for flag, number in result.flags.items():
        console.print(f"{number:,} {FLAGS[flag].format(is_are='is' if number == 1 else 'are')} ({flag}).")
    print_signature(result.signature, console)


def print_cross_fitted(result: "CrossFitted", console: Console) -> None:
    """Print what was written, and how many sources each model had not seen."""
    sizes = " + ".join(f"{size:,}" for size in result.sources)
    console.print(
        f"Candidates of {count_of(sum(result.sources), 'source')} ({sizes}): {result.candidates}", soft_wrap=True
    )
    console.print(f"Gold: {result.gold}", soft_wrap=True)


def print_written_errors(result: "WrittenErrors", console: Console) -> None:
    """Print how many pairs were written, and why others were dropped."""
    from btr.training.write_errors import DROPPED

    console.print(f"{count_of(result.pairs, 'pair')} of {count_of(result.sentences, 'sentence')}.")
    for reason, number in result.dropped.items():
        console.print(f"Dropped: {number:,} {DROPPED[reason]} ({reason}).", soft_wrap=True)
    print_signature(result.signature, console)


def print_trained(result: "Trained", console: Console) -> None:
    """Print how far a run is, and how good its best model is."""
    state = "complete" if result.complete else "not complete: without --max-steps the command goes on"
    if not result.new_steps:
        state += "; nothing was left to do"
    speed = f"{result.tokens_per_second:,.0f} per second in {result.precision}"
    console.print(f"{count_of(result.steps, 'update')}, {result.tokens:,} tokens, {speed}; {state}.", soft_wrap=True)
    if best := result.best:
        columns = {name: value for name, value in best.to_dict().items() if isinstance(value, float)}
        columns.pop("value")
        table = make_table("validation", [name_column(name) for name in columns])
        table.add_row("best", *_cells(columns.values(), ".2f"))
        console.print(table)
        print_signature(str(best.signature), console)
    if result.model:
        console.print(f"Model: {result.model}", soft_wrap=True)


def print_compacted(result: "Compacted", console: Console) -> None:
    """Print how small a model has become."""
    size = f"{result.megabytes:,} MB, of {result.float32_megabytes:,} MB in float32"
    if result.pieces is not None:
        size += f"; {result.pieces:,} of {result.original_pieces:,} pieces"
    console.print(f"Model: {result.model} ({size})", soft_wrap=True)


def print_imported(result: "Imported", console: Console) -> None:
    """Print what an imported model is, and how it is named."""
    what, use = ("a BTR", f"btr:{result.model}") if result.kind == "btr" else ("a base model", result.model)
    console.print(f"Model: {use} ({what} of {result.parameters:,} parameters)", soft_wrap=True, highlight=False)


def print_fetched(result: "Fetched", console: Console) -> None:
    """Print where a fetched model is."""
    note = " (it was there already)" if result.was_there else ""
    console.print(f"Model: {result.model} in {result.folder}{note}", soft_wrap=True)


def print_pushed(result: "Pushed", console: Console) -> None:
    """Print where a model was uploaded to."""
    console.print(f"Model: {result.url}, {count_of(len(result.files), 'file')}", highlight=False, soft_wrap=True)


def print_study(result: StudyReport, console: Console) -> None:
    """Print where the report is, which stages were run for it, and what it does not have."""
    stages = ", ".join(f"{stage} {number}" for stage, number in result.ran.items())
    console.print(f"Stages run: {stages}." if stages else "All stages were in the cache.", soft_wrap=True)
    for number, reason in result.gaps.items():
        console.print(f"{number} not computed: {reason}", highlight=False, soft_wrap=True)
    console.print(f"Report: {result.report}, and {count_of(len(result.files) - 1, 'file')} beside it.", soft_wrap=True)


def print_exported(result: Exported, console: Console) -> None:
    """Print what is in the archive."""
    contents = f"{result.file} with {count_of(result.sentences, 'sentence')}"
    console.print(f"Archive: {result.archive} ({contents})", soft_wrap=True)


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
