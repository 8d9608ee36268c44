"""The paper's grids: scores by a_train, a_pred and λ on the validation set, on other sets, and for a larger model."""

from collections.abc import Sequence
from dataclasses import replace

from btr.decisions.search import THRESHOLDS
from btr.decisions.settings import Settings
from btr.studies.plan import file_stem
from btr.studies.records import TunedGrid
from btr.studies.result_tables import score_name
from btr.studies.results import Results, score_cell
from btr.studies.table import EMPTY, Cell, ColumnGroup, NotComputed, Row, Style, Table, embolden

GREY = (
    "Grey: no suggestion is accepted, so that the score is the base model’s. Bold: the best of the others in the row."
)


def negatives_grid(results: Results) -> Table | NotComputed:
    """Make Tables 14 and 15: by a_train, at the smallest a_pred."""
    plan, base, dataset = results.plan, results.plan.base, results.plan.validation
    names = [name for name in with_threshold(results, base) if plan.rerankers[name].negatives is not None]
    title = f"Tuning a_train on {dataset}"
    if not names:
        return NotComputed("Tables 14 and 15", title, "no reranker gives its number of negatives (a_train).")
    title += f"; a_pred is {results.tuned[names[0], base, dataset].tops[0]}"
    rows = [
        make_row(results, base, dataset, name, 0, f"{name}, a_train = {plan.rerankers[name].negatives}")
        for name in names
    ]
    return make_grid(results, "table-14", "Tables 14 and 15", title, base, dataset, names, rows)


def candidates_grid(results: Results, dataset: str) -> Table | NotComputed:
    """Make Tables 16 and 17 on the validation set, Tables 24 and 25 on others: by a_pred."""
    base = results.plan.base
    if dataset == results.plan.validation:
        number, title, stem = "Tables 16 and 17", f"Tuning a_pred on {dataset}", "table-16"
    else:
        number = {"errant": "Table 24", "gleu": "Table 25"}.get(results.plan.sets[dataset].metric, "Like Table 24")
        title = f"Scores by a_pred and λ on {dataset}, where nothing was tuned"
        stem = f"table-{number[-2:]}-{file_stem(dataset)}"
    names = with_threshold(results, base)
    if not names:
        return NotComputed(number, title, "no reranker of this study has a threshold.")
    return make_grid(results, stem, number, title, base, dataset, names)


def larger_grid(results: Results, generator: str) -> Table | NotComputed:
    """Make Table 19: by λ, for the candidates of a larger model."""
    dataset = results.plan.validation
    title = f"Rerankers on {dataset} with candidates from {generator}"
    names = with_threshold(results, generator)
    if not names:
        return NotComputed("Table 19", title, "no reranker with a threshold has scored these candidates.")
    return make_grid(results, f"table-19-{file_stem(generator)}", "Table 19", title, generator, dataset, names)


def plain_grid(results: Results) -> Table | NotComputed:
    """Make Table 18: by a_pred, for rerankers without a threshold."""
    plan, base, dataset = results.plan, results.plan.base, results.plan.validation
    names = [name for name in results.rerankers_of(base) if not plan.rerankers[name].threshold]
    title = f"Tuning a_pred on {dataset} for rerankers without λ"
    if not names:
        return NotComputed("Table 18", title, "all rerankers of this study have a threshold.")
    tuned = {name: results.tuned[name, base, dataset] for name in names}
    rows = []
    for top in sorted({top for grid in tuned.values() for top in grid.tops}):
        cells = []
        for name, grid in tuned.items():
            signature = results.signature(base, dataset, name, replace(grid.settings, top=top, threshold=0.0))
            cells.append(score_cell(grid.grid[grid.tops.index(top)][0], signature) if top in grid.tops else EMPTY)
        rows.append(Row(str(top), cells))
    signatures = {name: results.signature(base, dataset, name) for name in names}
    heading = f"{title} ({score_name(results, base, dataset)})."
    groups = [ColumnGroup(None, names)]
    marked = embolden(rows, range(len(names)))
    return Table("table-18", "Table 18", heading, "a_pred", groups, marked, (), signatures)


def transfer_table(results: Results, main: str) -> Table | NotComputed:
    """Make Table 26: the main reranker on each set, with the settings that are best on each set."""
    base = results.plan.base
    sets = [dataset for dataset in results.sets_of(base) if (main, base, dataset) in results.tuned]
    title = f"{main} with the settings that are best on each set, with candidates from {base}"
    if results.plan.rerankers[main].gives("threshold"):
        return NotComputed("Table 26", title, f"the settings of {main} were given, not tuned.")
    rows = []
    for tuned_on in sets:
        best = results.tuned[main, base, tuned_on].settings
        cells = [Cell(f"{best.top or 'all'}", best.top), Cell(f"{best.threshold:g}", best.threshold)]
        for dataset in sets:
            signature = results.signature(base, dataset, main, best)
            tuned = results.tuned[main, base, dataset]
            if dataset == tuned_on:
                crossed = tuned.crossed
                cells.append(score_cell(crossed.score, f"{signature}|folds:{crossed.folds}"))
            else:
                cells.append(score_cell(score_at(tuned, best), signature))
        rows.append(Row(tuned_on, cells))
    notes = [
        "Where a set's best settings are used on the set itself, the score is cross-validated.",
        f"The study's other tables have the settings that are best on {results.plan.validation}.",
    ]
    columns = ["a_pred", "λ", *(f"{dataset} ({score_name(results, base, dataset)})" for dataset in sets)]
    signatures = {dataset: results.signature(base, dataset, main) for dataset in sets}
    marked = embolden(rows, range(2, 2 + len(sets)))
    groups = [ColumnGroup(None, columns)]
    return Table("table-26", "Table 26", f"{title}.", "Tuned on", groups, marked, notes, signatures)


def score_at(tuned: TunedGrid, best: Settings) -> float:
    """Return the score of settings in another set's grid, where there may be fewer candidates."""
    top = tuned.tops[-1] if best.top is None else best.top
    row = min(range(len(tuned.tops)), key=lambda k: (abs(tuned.tops[k] - top), k))
    return tuned.grid[row][tuned.thresholds.index(best.threshold)]


def with_threshold(results: Results, generator: str) -> list[str]:
    """Return the rerankers that have a threshold and scores of these candidates."""
    return [name for name in results.rerankers_of(generator) if results.plan.rerankers[name].threshold]


def make_grid(
    results: Results,
    stem: str,
    number: str,
    title: str,
    generator: str,
    dataset: str,
    rerankers: Sequence[str],
    rows: Sequence[Row] | None = None,
) -> Table:
    """Make a table with one column per threshold; without `rows`, one row per reranker and number of candidates."""
    scored = [name for name in rerankers if (name, generator, dataset) in results.tuned]
    signatures = {name: results.signature(generator, dataset, name) for name in scored}
    if rows is None:
        tops = {name: results.tuned[name, generator, dataset].tops for name in scored}
        rows = [
            make_row(
                results, generator, dataset, name, k, f"{name}, a_pred = {top}",
                line_above=k == 0 and name != scored[0] and len(tops[name]) > 1,
            )
            for name in scored
            for k, top in enumerate(tops[name])
        ]  # fmt: skip
    columns = [f"{threshold:g}" for threshold in THRESHOLDS]
    heading = f"{title} ({score_name(results, generator, dataset)} by λ)."
    return Table(stem, number, heading, "λ", [ColumnGroup(None, columns)], rows, [GREY], signatures)


def make_row(
    results: Results, generator: str, dataset: str, name: str, k: int, label: str, line_above: bool = False
) -> Row:
    """Return the scores of a reranker by threshold, for its k-th number of candidates."""
    tuned = results.tuned[name, generator, dataset]
    cells = [replace(tuned.settings, top=tuned.tops[k], threshold=threshold) for threshold in tuned.thresholds]
    signatures = [results.signature(generator, dataset, name, settings) for settings in cells]
    return Row(label, shade(tuned.grid[k], tuned.changed[k], signatures), line_above)


def shade(values: Sequence[float], changed: Sequence[bool], signatures: Sequence[str]) -> list[Cell]:
    """Return a row of a grid: the best score bold, and scores that are the base model's grey."""
    best = max((round(value, 2) for value, accepts in zip(values, changed) if accepts), default=None)
    cells = []
    for value, accepts, signature in zip(values, changed, signatures):
        style: Style | None = "base" if not accepts else "best" if round(value, 2) == best else None
        cells.append(Cell(f"{value:.2f}", value, None, signature, style))
    return cells
