"""The paper's grids: scores by a_train, a_pred and λ on the validation set, on other sets, and for a larger model."""

from collections.abc import Mapping, Sequence
from typing import Any

from btr.rerankers.table import THRESHOLDS
from btr.studies.plan import slug
from btr.studies.results import Results, figure, known_by
from btr.studies.sheets import EMPTY, Cell, Gap, Row, Sheet, Style, embolden
from btr.studies.tables import score_name

GREY = (
    "Grey: no suggestion is accepted, so that the score is the base model’s. Bold: the best of the others in the row."
)


def negatives_grid(results: Results) -> Sheet | Gap:
    """Tables 14 and 15: by a_train, at the smallest a_pred."""
    plan, writer, own = results.plan, results.plan.base, results.plan.validation
    names = [name for name in with_threshold(results, writer) if plan.rerankers[name].negatives is not None]
    title = f"Tuning a_train on {own}"
    if not names:
        return Gap("Tables 14 and 15", title, "no reranker says its number of negatives (a_train).")
    top = results.tuned[names[0], writer, own]["tops"][0]
    labels = [f"{name}, a_train = {plan.rerankers[name].negatives}" for name in names]
    return grid(results, "Tables 14 and 15", f"{title}; a_pred is {top}", "table-14", writer, own, names, labels, 1)


def candidates_grid(results: Results, own: str) -> Sheet | Gap:
    """Tables 16 and 17 on the validation set, Tables 24 and 25 on others: by a_pred."""
    writer = results.plan.base
    if own == results.plan.validation:
        number, title, name = "Tables 16 and 17", f"Tuning a_pred on {own}", "table-16"
    else:
        number = {"errant": "Table 24", "gleu": "Table 25"}.get(results.plan.sets[own].metric, "Like Table 24")
        title, name = f"What tuning on {own} would choose", f"table-{number[-2:]}-{slug(own)}"
    names = with_threshold(results, writer)
    if not names:
        return Gap(number, title, "no reranker of this study has a threshold.")
    return grid(results, number, title, name, writer, own, names)


def larger_grid(results: Results, writer: str) -> Sheet | Gap:
    """Table 19: by λ, for the candidates of a larger model."""
    own = results.plan.validation
    title = f"Rerankers on {own} with candidates from {writer}"
    names = with_threshold(results, writer)
    if not names:
        return Gap("Table 19", title, "no reranker with a threshold has scored these candidates.")
    return grid(results, "Table 19", title, f"table-19-{slug(writer)}", writer, own, names)


def plain_grid(results: Results) -> Sheet | Gap:
    """Table 18: by a_pred, for rerankers without a threshold."""
    plan, writer, own = results.plan, results.plan.base, results.plan.validation
    names = [name for name in results.rerankers_of(writer) if not plan.rerankers[name].threshold]
    title = f"Tuning a_pred on {own} for rerankers without λ"
    if not names:
        return Gap("Table 18", title, "all rerankers of this study have a threshold.")
    tuned = {name: results.tuned[name, writer, own] for name in names}
    tops = sorted({top for found in tuned.values() for top in found["tops"]})
    rows = []
    for top in tops:
        cells = []
        for name, found in tuned.items():
            signature = results.signature(writer, own, name, top=top, threshold=0.0)
            known = top in found["tops"]
            cells.append(figure(found["grid"][found["tops"].index(top)][0], signature) if known else EMPTY)
        rows.append(Row(str(top), cells))
    signatures = {name: results.signature(writer, own, name) for name in names}
    head = f"{title} ({score_name(results, writer, own)})."
    marked = embolden(rows, range(len(names)))
    return Sheet("table-18", "Table 18", head, "a_pred", [("", names)], marked, (), signatures)


def transfer_table(results: Results) -> Sheet:
    """Table 26: what the chief reranker gives on each set, with the setting that is best on each set."""
    plan, writer, chief = results.plan, results.plan.base, results.plan.chief
    sets = [own for own in results.sets_of(writer) if (chief, writer, own) in results.tuned]
    rows = []
    for tuned_on in sets:
        best = results.tuned[chief, writer, tuned_on]["best"]
        cells = [Cell(f"{best['top']}", best["top"]), Cell(f"{best['threshold']:g}", best["threshold"])]
        for own in sets:
            signature = results.signature(writer, own, chief, top=best["top"], threshold=best["threshold"])
            found = results.tuned[chief, writer, own]
            if own == tuned_on:
                crossed = found["crossed"]
                cells.append(figure(known_by(crossed["scores"]), f"{signature}|folds:{crossed['folds']}"))
            else:
                cells.append(figure(cell_at(found, best, thresholds_of(results, chief)), signature))
        rows.append(Row(tuned_on, cells))
    notes = [
        "Where a set's own setting is used on itself, the score is the cross-validated one.",
        f"The study's other tables use what {plan.validation} chose.",
    ]
    columns = ["a_pred", "λ", *(f"{own} ({score_name(results, writer, own)})" for own in sets)]
    signatures = {own: results.signature(writer, own, chief) for own in sets}
    title = f"{chief} with the setting that is best on each set, with candidates from {writer}."
    marked = embolden(rows, range(2, 2 + len(sets)))
    return Sheet("table-26", "Table 26", title, "Tuned on", [("", columns)], marked, notes, signatures)


def cell_at(found: Mapping[str, Any], best: Mapping[str, Any], thresholds: Sequence[float]) -> float:
    """The score of a setting in another set's grid, whose candidates may be fewer."""
    top = min(range(len(found["tops"])), key=lambda k: (abs(found["tops"][k] - best["top"]), k))
    return float(found["grid"][top][list(thresholds).index(best["threshold"])])


def thresholds_of(results: Results, name: str) -> Sequence[float]:
    """The thresholds that a reranker's grid has."""
    return THRESHOLDS if results.plan.rerankers[name].threshold else (0.0,)


def with_threshold(results: Results, writer: str) -> list[str]:
    """The rerankers that have a threshold and scores of these candidates."""
    return [name for name in results.rerankers_of(writer) if results.plan.rerankers[name].threshold]


def grid(
    results: Results,
    number: str,
    title: str,
    name: str,
    writer: str,
    own: str,
    rerankers: Sequence[str],
    labels: Sequence[str] = (),
    tops: int | None = None,
) -> Sheet:
    """A row for each reranker and number of candidates (the first `tops` of them), a column for each threshold."""
    rows, signatures = list[Row](), dict[str, str]()
    for k, reranker in enumerate(rerankers):
        found = results.tuned.get((reranker, writer, own))
        if found is None:
            continue
        signatures[reranker] = results.signature(writer, own, reranker)
        for place, top in enumerate(found["tops"][:tops]):
            label = labels[k] if labels else f"{reranker}, a_pred = {top}"
            signed = [results.signature(writer, own, reranker, top=top, threshold=value) for value in THRESHOLDS]
            cells = shade(found["grid"][place], found["changed"][place], signed)
            rows.append(Row(label, cells, rule=bool(rows) and place == 0 and len(found["tops"][:tops]) > 1))
    columns = [f"{threshold:g}" for threshold in THRESHOLDS]
    head = f"{title} ({score_name(results, writer, own)} by λ)."
    return Sheet(name, number, head, "λ", [("", columns)], rows, [GREY], signatures)


def shade(values: Sequence[float], changed: Sequence[bool], signatures: Sequence[str]) -> list[Cell]:
    """A row of a grid: the best bold, and what is the base model's grey."""
    best = max((round(value, 2) for value, accepts in zip(values, changed) if accepts), default=None)
    cells = []
    for value, accepts, signature in zip(values, changed, signatures):
        style: Style = "base" if not accepts else "best" if round(value, 2) == best else ""
        cells.append(Cell(f"{value:.2f}", value, None, signature, style))
    return cells
