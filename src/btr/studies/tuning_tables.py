"""The paper's grids: scores by a_train, a_pred and λ on the validation set, on other sets, and for a larger model."""

from collections.abc import Sequence

from btr.decisions.search import THRESHOLDS
from btr.studies.pipeline import RerankerResult
from btr.studies.plan import file_stem
from btr.studies.result_tables import score_name
from btr.studies.results import Results, score_cell
from btr.studies.table import EMPTY, Cell, ColumnGroup, NotComputed, Row, Style, Table, embolden

GREY = (
    "Grey: no suggestion is accepted, so that the score is the base model’s. Bold: the best of the others in the row."
)


def negatives_grid(results: Results) -> Table | NotComputed:
    """Make Tables 14 and 15: by a_train, at the first a_pred."""
    plan, base, dataset = results.plan, results.plan.base, results.plan.validation
    names = [
        name
        for head in with_threshold(results, base)
        for name in plan.family(head)
        if plan.rerankers[name].negatives is not None and (name, base, dataset) in results.tuned
    ]
    title = f"Tuning a_train on {dataset}"
    if not names:
        return NotComputed("Tables 14 and 15", title, "no reranker gives its number of negatives (a_train).")
    title += f"; a_pred is {results.tuned[names[0], base, dataset].tops[0]}"
    rows = [
        make_row(
            results, base, dataset, name, 0,
            f"{plan.rerankers[name].variant_of or name}, a_train = {plan.rerankers[name].negatives}",
            line_above=k > 0 and name == plan.family(name)[0],
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    return make_grid(results, "table-14", "Tables 14 and 15", title, base, dataset, names, rows)


def candidates_grid(results: Results, dataset: str) -> Table | NotComputed:
    """Make Tables 16 and 17 on the validation set; Tables 24 and 25 on other tuning sets, by a_train and a_pred."""
    plan, base = results.plan, results.plan.base
    if dataset == plan.validation:
        number, title, stem = "Tables 16 and 17", f"Tuning a_pred on {dataset}", "table-16"
        names = with_threshold(results, base)
    else:
        number = {"errant": "Table 24", "gleu": "Table 25"}.get(plan.sets[dataset].metric, "Like Table 24")
        title = f"Tuning a_train and a_pred on {dataset}"
        stem = f"table-{number[-2:]}-{file_stem(dataset)}"
        main = plan.main_reranker
        names = plan.family(main) if main and plan.rerankers[main].threshold else []
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
            if top not in grid.tops:
                cells.append(EMPTY)
                continue
            k = grid.tops.index(top)
            signature = results.signature(base, dataset, name, grid.cell_settings(k, 0.0))
            cells.append(score_cell(grid.grid[k][0], signature))
        rows.append(Row(str(top), cells))
    signatures = {name: results.signature(base, dataset, name) for name in names}
    heading = f"{title} ({score_name(results, base, dataset)})."
    groups = [ColumnGroup(None, names)]
    marked = embolden(rows, range(len(names)))
    return Table("table-18", "Table 18", heading, "a_pred", groups, marked, (), signatures)


def transfer_table(results: Results, main: str) -> Table | NotComputed:
    """Make Table 26: the a_train, a_pred and λ that are best on each tuning set, and their scores on other sets."""
    plan, base = results.plan, results.plan.base
    title = f"{main} with the a_train, a_pred and λ that are best on each tuning set, with candidates from {base}"
    if plan.rerankers[main].gives("threshold"):
        return NotComputed("Table 26", title, f"the settings of {main} were given, not tuned.")
    if len(results.best_on) < 2:
        return NotComputed("Table 26", title, "no set names another that it is tuned on (key tuned_on).")
    sets = [dataset for dataset in results.sets_of(base) if (main, base, dataset) in results.reranked]
    rows = []
    for tuned_on, best in results.best_on.items():
        settings, negatives = best.tuned.settings, plan.rerankers[best.reranker].negatives
        cells = [
            EMPTY if negatives is None else Cell(f"{negatives}", negatives),
            Cell(f"{settings.top or 'all'}", settings.top),
            Cell(f"{settings.threshold:g}", settings.threshold),
            *(transfer_cell(results, main, tuned_on, dataset) for dataset in sets),
        ]
        rows.append(Row(tuned_on, cells))
    notes = [
        "Where a set's best a_pred and λ are used on the set itself, the score is cross-validated; its a_train is the "
        "best on all of the set.",
        f"The study's main tables have the settings that are best on {plan.validation}.",
    ]
    columns = ["a_train", "a_pred", "λ", *(f"{dataset} ({score_name(results, base, dataset)})" for dataset in sets)]
    signatures = {dataset: results.signature(base, dataset, main) for dataset in sets}
    marked = embolden(rows, range(3, 3 + len(sets)))
    groups = [ColumnGroup(None, columns)]
    return Table("table-26", "Table 26", f"{title}.", "Tuned on", groups, marked, notes, signatures)


def transfer_cell(results: Results, main: str, tuned_on: str, dataset: str) -> Cell:
    """Return the score on a set with the settings of a tuning set: the validation set, or the one it is tuned on."""
    plan, base, best = results.plan, results.plan.base, results.best_on[tuned_on]
    if dataset == tuned_on:
        crossed = best.tuned.crossed
        signature = results.signature(base, dataset, best.reranker, best.tuned.settings)
        return score_cell(crossed.score, f"{signature}|folds:{crossed.folds}")
    result = results.transferred.get(dataset) if plan.tuned_on(dataset) == tuned_on else None
    if tuned_on == plan.validation:
        result = results.reranked[main, base, dataset]
    if not isinstance(result, RerankerResult):
        return EMPTY
    return score_cell(result.measures.tuned.value, results.signature(base, dataset, best.reranker, best.tuned.settings))


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
    cells = [tuned.cell_settings(k, threshold) for threshold in tuned.thresholds]
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
