"""The paper's tables by level of the writers, operation and type of error."""

from typing import Any

from btr.studies.measures import frequent_types
from btr.studies.plan import slug
from btr.studies.results import Found, Results, figure, known_by
from btr.studies.sheets import EMPTY, Cell, Gap, Row, Sheet, embolden
from btr.studies.tables import DELTA, difference

GAIN = f"{DELTA}: by a paired bootstrap over sentences; † where the difference is significant (p < 0.05)."


def level_table(results: Results, own: str) -> Sheet:
    """Table 22: F0.5 by CEFR level and operation, for the base model and the chief reranker."""
    writer, chief = results.plan.base, results.plan.chief
    operations = "Missing", "Replacement", "Unnecessary"
    rows: list[Row] = []
    sides = {writer: results.bases[writer, own]["by"], chief: results.reranked[chief, writer, own]["by"]}
    compared = results.reranked[chief, writer, own]["compared"]
    for name, by in sides.items():
        signature = side_signature(results, name, own)
        levels = [
            *by.get("group", {}).items(),
            ("all", {"operation": by["operation"], **side_scores(results, name, own)}),
        ]
        for k, (level, told) in enumerate(levels):
            found = [told["operation"].get(operation) for operation in operations]
            values = [figure(known_by(cell["scores"]), signature) if cell else EMPTY for cell in found]
            delta = EMPTY if name == writer else gain(compared["level"][level], signature)
            cells = [*values, figure(known_by(told["scores"]), signature), delta]
            rows.append(Row(f"{name}, {level}", cells, rule=k == 0 and bool(rows)))
    half = len(rows) // 2
    for k in range(half):
        rows[k], rows[half + k] = better(rows[k], rows[half + k])
    title = f"F0.5 on {own} by level and operation, with candidates from {writer}. Bold: the higher of the two."
    signatures = {name: side_signature(results, name, own) for name in sides}
    groups = [("", [*operations, "All", DELTA])]
    return Sheet(f"table-22-{slug(own)}", "Table 22", title, "Model, level", groups, rows, [GAIN], signatures)


def type_table(results: Results, own: str) -> Sheet | Gap:
    """Table 23: F0.5 by the most frequent types of errors."""
    writer, chief = results.plan.base, results.plan.chief
    title = f"F0.5 on {own} by type of error, with candidates from {writer}"
    sides = {writer: results.bases[writer, own]["by"], chief: results.reranked[chief, writer, own]["by"]}
    if "type" not in sides[writer]:
        return Gap("Table 23", title, "the gold's edits have no types of ERRANT.")
    types = frequent_types(sides[writer]["type"])
    rows = []
    for name, by in sides.items():
        signature = side_signature(results, name, own)
        found = [by["type"].get(kind) for kind in types]
        rows.append(Row(name, [figure(known_by(cell["scores"]), signature) if cell else EMPTY for cell in found]))
    compared = results.reranked[chief, writer, own]["compared"]["type"]
    delta = Row(DELTA, [gain(compared[kind], signature) if kind in compared else EMPTY for kind in types], rule=True)
    signatures = {name: side_signature(results, name, own) for name in sides}
    notes = [f"The {len(types)} most frequent types but OTHER.", GAIN]
    listed = [*embolden(rows, range(len(types))), delta]
    head = f"{title}. Bold: the higher."
    return Sheet(f"table-23-{slug(own)}", "Table 23", head, "Model", [("", types)], listed, notes, signatures)


def gain(case: Found, signature: str) -> Cell:
    """How far the chief reranker is from the base model in one case."""
    return difference(case["suggested"] - case["base"], case["interval"], case["p_bootstrap"], signature)


def better(first: Row, second: Row) -> tuple[Row, Row]:
    """Two rows, with the higher of each pair of cells in bold."""
    pairs = [embolden([Row("", [a]), Row("", [b])], [0]) for a, b in zip(first.cells, second.cells)]
    return (
        Row(first.label, [pair[0].cells[0] for pair in pairs], first.rule),
        Row(second.label, [pair[1].cells[0] for pair in pairs], second.rule),
    )


def side_scores(results: Results, name: str, own: str) -> dict[str, Any]:
    """The scores of the base model, or of the chief reranker, over a whole set."""
    writer = results.plan.base
    found = results.bases[writer, own]["base"] if name == writer else results.reranked[name, writer, own]["tuned"]
    return {"scores": found["scores"]}


def side_signature(results: Results, name: str, own: str) -> str:
    """The signature of the base model, or of the chief reranker with its setting."""
    writer = results.plan.base
    if name == writer:
        return results.signature(writer, own)
    return results.signature(writer, own, name, **results.reranked[name, writer, own]["setting"])
