"""The paper's own values beside the study's, in the rows that can be compared: `btr study PLAN --beside paper`.

A value can be compared if it is of the same set by the same metric, and of the same kind of row: candidates of the
paper's base model, and a reranker of the same name and a_train. Names are those of studies/paper.yaml. Times are not:
the machines differ.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from btr.studies.plan import Plan
from btr.studies.report import Section
from btr.studies.results import Results
from btr.studies.table import Cell, Row, Table

VALUES = "paper_values.json"
BASE, LARGE = "T5GEC", "T5GEC (large)"
A_TRAIN = {"BTR": 20, "RoBERTa": 0}  # of the paper's rerankers, where a row does not name it
SIZE = 5  # of the paper's lists of candidates, but for tables by a_pred
ON_VALIDATION = "table-02", "table-14", "table-16", "table-18", "table-19"  # tables whose set no column names
OF_DATA = "table-04", "table-13", "table-21"  # whatever the base model
NOTE = "In brackets: the paper’s value, where set, metric and kind of row are the same."


@dataclass(frozen=True)
class PaperValues:
    """The numbers of the paper's tables by file name, row and column, and the metric of each set."""

    sets: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Mapping[str, float]]]


@cache
def read_values() -> PaperValues:
    """Read the paper's values."""
    content = json.loads(files("btr.studies").joinpath(VALUES).read_text(encoding="utf-8"))
    return PaperValues(content["sets"], content["tables"])


def put_beside(results: Results, sections: Sequence[Section]) -> list[Section]:
    """Return the sections with the paper's values in their tables."""
    return [
        replace(
            section,
            items=[with_values(results, item) if isinstance(item, Table) else item for item in section.items],
        )
        for section in sections
    ]


def with_values(results: Results, table: Table) -> Table:
    """Return a table with the paper's values after those that can be compared."""
    values, plan = read_values(), results.plan
    stem = "table-07" if table.file_stem == "table-07-t5gec-large" else table.file_stem
    stem = "table-19" if stem == "table-19-t5gec-large" else stem
    known = values.tables.get(stem)
    if known is None or not is_comparable_table(results, stem):
        return table
    columns = [column if is_comparable_column(plan, stem, column) else None for column in table.full_columns]
    rows = [add_values(row, known.get(paper_row(plan, stem, row) or "", {}), columns) for row in table.rows]
    is_changed = any(cell.paper is not None for row in rows for cell in row.cells)
    return replace(table, rows=rows, notes=[*table.notes, NOTE]) if is_changed else table


def add_values(row: Row, known: Mapping[str, float], columns: Sequence[str | None]) -> Row:
    """Return a row with the paper's values in the columns that have one."""
    cells = []
    for column, cell in zip(columns, row.cells, strict=True):
        value = known.get(column) if column is not None and cell.value is not None else None
        cells.append(
            cell if value is None else replace(cell, text=f"{cell.text} ({format_like(cell, value)})", paper=value)
        )
    return replace(row, cells=cells)


def format_like(cell: Cell, value: float) -> str:
    """Return a value of the paper with as many digits as the study's."""
    if re.search(r"\d\.\d\d", cell.text):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def is_comparable_table(results: Results, stem: str) -> bool:
    """Return whether a table is of the paper's base model, and of the paper's set if no column names one."""
    plan, sets = results.plan, read_values().sets
    if stem in OF_DATA:
        return True
    generator = LARGE if stem in ("table-07", "table-19") else BASE
    if plan.base != BASE or generator not in plan.candidates:
        return False
    base = results.bases.get((generator, plan.validation))
    if stem in ("table-02", "table-05", "table-07") and (base is None or base.measures.candidates != SIZE):
        return False
    if stem in ON_VALIDATION:
        return sets.get(plan.validation) == plan.sets[plan.validation].metric
    main = plan.main_reranker
    if stem in ("table-06", "table-26"):
        return main == "BTR" and plan.rerankers[main].negatives == A_TRAIN[main]
    return True


def is_comparable_column(plan: Plan, stem: str, column: str) -> bool:
    """Return whether the set that a column or table names is scored as in the paper."""
    named = [
        name for name in plan.sets if column.startswith(name) or stem.endswith(f"-{name.lower().replace(' ', '-')}")
    ]
    longest = max(named, key=len, default=None)  # of CoNLL-14 and CoNLL-14 (cleaned)
    return longest is None or read_values().sets.get(longest) == plan.sets[longest].metric


def paper_row(plan: Plan, stem: str, row: Row) -> str | None:
    """Return the name that the paper's values have for a row; None if the row is of another kind."""
    label = re.sub(r" \(λ = [\d.]+\)", "", row.full_label or row.label)
    found = re.fullmatch(r"(.*), a_(train|pred) = (\d+)", label)
    if found:
        name, kind, number = found.groups()
        head, negatives = plan.rerankers[name].variant_of or name, plan.rerankers[name].negatives
        if kind == "train":
            return f"{head}, a_train = {number}"
        if stem.startswith(("table-24", "table-25")):
            return f"{head}, a_train = {negatives}, a_pred = {number}"
        return label if negatives == A_TRAIN.get(head) else None
    name = next((name for name in plan.heads if re.match(rf"{re.escape(name)}(,| w/o|$)", label)), None)
    if name in A_TRAIN and plan.rerankers[name].negatives != A_TRAIN[name]:
        return None
    if stem == "table-04" and label in plan.sets:
        return label if read_values().sets.get(label) == plan.sets[label].metric else None
    return label
