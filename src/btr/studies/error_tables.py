"""The paper's tables by level of the writers, operation and type of error."""

from btr.decisions.rerank import BaseVersusSuggested
from btr.studies.measures import ALL_LEVELS, frequent_types
from btr.studies.plan import file_stem
from btr.studies.records import ErrorScores, LevelScores
from btr.studies.result_tables import DELTA, difference_cell, score_name
from btr.studies.results import Results, score_cell
from btr.studies.table import EMPTY, Cell, ColumnGroup, NotComputed, Row, Table, embolden

OPERATIONS = "Missing", "Replacement", "Unnecessary"
DELTA_NOTE = f"{DELTA}: by a paired bootstrap over sentences; † where the difference is significant (p < 0.05)."


def level_table(results: Results, dataset: str) -> Table:
    """Make Table 22: the main score by CEFR level and operation, for the base model and the main reranker."""
    base, main = results.plan.base, results.main_of(dataset)
    comparisons = results.reranked[main, base, dataset].measures.error_comparisons
    assert comparisons is not None
    sides = list[list[Row]]()
    signatures = side_signatures(results, dataset, main)
    for name, errors in error_scores(results, dataset, main).items():
        levels = {**errors.by_level, ALL_LEVELS: LevelScores(set_score(results, name, dataset), errors.by_operation)}
        rows = list[Row]()
        for level, scores in levels.items():
            values = [error_cell(scores.by_operation.get(operation), signatures[name]) for operation in OPERATIONS]
            delta = EMPTY if name == base else comparison_cell(comparisons.by_level[level], signatures[name])
            line_above = name != base and not rows
            rows.append(
                Row(f"{name}, {level}", [*values, error_cell(scores.score, signatures[name]), delta], line_above)
            )
        sides.append(rows)
    pairs = [embolden_pair(*pair) for pair in zip(*sides)]
    rows = [row for side in zip(*pairs) for row in side]
    score = score_name(results, base, dataset)
    title = f"{score} on {dataset} by level and operation, with candidates from {base}. Bold: the higher of the two."
    groups = [ColumnGroup(None, [*OPERATIONS, "All", DELTA])]
    stem = f"table-22-{file_stem(dataset)}"
    return Table(stem, "Table 22", title, "Model, level", groups, rows, [DELTA_NOTE], signatures)


def type_table(results: Results, dataset: str) -> Table | NotComputed:
    """Make Table 23: the main score by the most frequent types of errors."""
    base, main = results.plan.base, results.main_of(dataset)
    title = f"{score_name(results, base, dataset)} on {dataset} by type of error, with candidates from {base}"
    by_types = {name: errors.by_type for name, errors in error_scores(results, dataset, main).items()}
    base_types = by_types[base]
    if base_types is None:
        return NotComputed("Table 23", title, "the gold's edits have no types of ERRANT.")
    types, signatures = frequent_types(base_types), side_signatures(results, dataset, main)
    rows = [
        Row(name, [error_cell((by_type or {}).get(kind), signatures[name]) for kind in types])
        for name, by_type in by_types.items()
    ]
    comparisons = results.reranked[main, base, dataset].measures.error_comparisons
    assert comparisons is not None
    gains = [
        comparison_cell(comparisons.by_type[kind], signatures[main]) if kind in comparisons.by_type else EMPTY
        for kind in types
    ]
    notes = [f"The {len(types)} most frequent types but OTHER.", DELTA_NOTE]
    listed = [*embolden(rows, range(len(types))), Row(DELTA, gains, line_above=True)]
    heading, groups = f"{title}. Bold: the higher.", [ColumnGroup(None, types)]
    return Table(f"table-23-{file_stem(dataset)}", "Table 23", heading, "Model", groups, listed, notes, signatures)


def error_scores(results: Results, dataset: str, main: str) -> dict[str, ErrorScores]:
    """Return the scores by error of the base model and the main reranker, by name."""
    base = results.plan.base
    scores = {
        base: results.bases[base, dataset].measures.errors,
        main: results.reranked[main, base, dataset].measures.errors,
    }
    return {name: errors for name, errors in scores.items() if errors is not None}


def set_score(results: Results, name: str, dataset: str) -> float:
    """Return the score of the base model, or of the main reranker, over a whole set."""
    base = results.plan.base
    if name == base:
        return results.bases[base, dataset].measures.base.value
    return results.reranked[name, base, dataset].measures.tuned.value


def side_signatures(results: Results, dataset: str, main: str) -> dict[str, str]:
    """Return the signatures of the base model, and of the main reranker with its settings."""
    base = results.plan.base
    return {base: results.base_signature(base, dataset), main: results.tuned_signature(base, dataset, main)}


def error_cell(score: float | None, signature: str) -> Cell:
    """Return the score over some errors, if there are any."""
    return EMPTY if score is None else score_cell(score, signature)


def comparison_cell(comparison: BaseVersusSuggested, signature: str) -> Cell:
    """Return the difference of the main reranker to the base model."""
    difference = comparison.suggested - comparison.base
    return difference_cell(difference, comparison.interval, comparison.p_bootstrap, signature)


def embolden_pair(first: Row, second: Row) -> tuple[Row, Row]:
    """Return two rows with the higher of each two cells in bold."""
    marked_first, marked_second = embolden([first, second], range(len(first.cells) - 1))
    return marked_first, marked_second
