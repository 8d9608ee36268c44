"""The paper's Table 29: how long generating and scoring take."""

from btr.studies.result_tables import describe_tops
from btr.studies.results import Results
from btr.studies.table import EMPTY, Cell, ColumnGroup, Row, Table


def time_table(results: Results) -> Table:
    """Make Table 29: the seconds that generating and scoring took, without loading the models."""
    plan, base = results.plan, results.plan.base
    sets = [name for name in plan.sets if (base, name) in results.bases or (base, name) in results.base_seconds]
    rows, signatures = [], {}
    for name in plan.candidates:
        cells = []
        for dataset in sets:
            if (name, dataset) in results.bases:
                base_signature = results.base_signature(name, dataset)
                cells.append(time_cell(results.bases[name, dataset].seconds, base_signature))
            else:
                cells.append(time_cell(results.base_seconds.get((name, dataset)), name))
        rows.append(Row(name, cells))
        signatures[name] = results.base_signature(name, results.sets_of(name)[0])
    rerankers = results.rerankers_of(base)
    for k, name in enumerate(rerankers):
        cells = []
        for dataset in sets:
            if reranked := results.reranked.get((name, base, dataset)):
                cells.append(time_cell(reranked.seconds, results.signature(base, dataset, name)))
            elif ungraded := results.ungraded.get((name, base, dataset)):
                signature = f"{ungraded.signature} · {ungraded.measures.reranker_signature}"
                cells.append(time_cell(ungraded.seconds, signature))
            else:
                cells.append(EMPTY)
        rows.append(Row(name, cells, line_above=k == 0))
        signatures[name] = results.reranker_signature(name, base, plan.validation)
    notes = [
        "Wall-clock seconds of the stage's run, without loading models; other work on the machine counts. Several "
        "models (seeds, directions) are added up.",
        "–: the file existed, or the stage was interrupted and resumed.",
    ]
    if plan.sizes(base, plan.validation):
        tops = {name: results.reranked[name, base, plan.validation].settings.top for name in rerankers}
        written, scored = f"{plan.top[0]} candidates", describe_tops(tops)
    else:
        count = max(results.bases[base, dataset].measures.candidates for dataset in results.sets_of(base))
        written, scored = "candidates", f"up to {min(max(plan.top), count)} per sentence"
    title = f"Time (seconds) to write {written}{f', and to score {scored} of {base}' if rerankers else ''}."
    return Table("table-29", "Table 29", title, "Model", [ColumnGroup(None, sets)], rows, notes, signatures)


def time_cell(seconds: float | None, signature: str) -> Cell:
    """Return how long a stage took, if it is known."""
    if seconds is None:
        return EMPTY
    return Cell(f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.1f}", seconds, None, signature)
