"""The paper's Table 6: the verdicts on suggestions, and the scores within each verdict."""

from btr.studies.records import VerdictMeasures
from btr.studies.result_tables import DELTA, SIGNIFICANT, difference_cell
from btr.studies.results import Results, score_cell
from btr.studies.table import EMPTY, Cell, ColumnGroup, NotComputed, Row, Table

P_BOOTSTRAP, P_T_TEST = "p, bootstrap", "p, t-test"


def decision_table(results: Results) -> Table | NotComputed:
    """Make Table 6: how many suggestions were accepted, rejected and equal, and both scores within each."""
    generator, rerankers = results.plan.base, results.plan.rerankers
    mains = {dataset: results.main_of(dataset) for dataset in results.sets_of_main()}
    names = ", ".join(dict.fromkeys(mains.values()))
    title = f"Suggestions of {names} that were accepted, rejected and equal, and the scores within each"
    if not any(rerankers[main].threshold for main in mains.values()):
        return NotComputed("Table 6", title, f"{names} has no threshold, so that it rejects nothing.")
    labels = "Proportion (%)", "base", "suggestion", DELTA, P_BOOTSTRAP, P_T_TEST
    groups, signatures, columns = [], {}, list[list[Cell]]()
    for dataset, main in mains.items():
        if not rerankers[main].threshold:
            continue
        verdicts = results.reranked[main, generator, dataset].measures.verdicts
        signatures[dataset] = results.tuned_signature(generator, dataset, main)
        heading = dataset if len(set(mains.values())) == 1 else f"{dataset} ({main})"
        groups.append(ColumnGroup(heading, [verdict.capitalize() for verdict in verdicts]))
        columns += [verdict_cells(measures, signatures[dataset]) for measures in verdicts.values()]
    notes = [
        f"{DELTA}: by a paired bootstrap over the sentences with the verdict; † where the difference is significant "
        "(p < 0.05) by it. The paper's test is the t-test."
    ]
    rows = [Row(label, cells, label in ("base", DELTA)) for label, *cells in zip(labels, *columns)]
    return Table("table-06", "Table 6", f"{title}.", "Candidate", groups, rows, notes, signatures)


def verdict_cells(measures: VerdictMeasures, signature: str) -> list[Cell]:
    """Return a column: the share of a verdict, both scores, their difference and p-values."""
    share, compared = score_cell(measures.percent, signature), measures.comparison
    if compared is None:
        return [share, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY]
    dagger = "†" if compared.p_bootstrap < SIGNIFICANT else ""
    difference = compared.suggested - compared.base
    return [
        share,
        versus(compared.base, compared.suggested, dagger, signature),
        versus(compared.suggested, compared.base, dagger, signature),
        difference_cell(difference, compared.interval, compared.p_bootstrap, signature),
        *(Cell(format_p(p), p, None, signature) for p in (compared.p_bootstrap, compared.p_t_test)),
    ]


def format_p(p: float) -> str:
    """Return a p-value with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def versus(value: float, other: float, dagger: str, signature: str) -> Cell:
    """Return one of two scores: bold if it is the higher, with a dagger if that is significant."""
    is_higher = round(value, 2) > round(other, 2)
    return Cell(f"{value:.2f}{dagger if is_higher else ''}", value, None, signature, "best" if is_higher else None)
