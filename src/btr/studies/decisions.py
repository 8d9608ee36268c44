"""The paper's Table 6: what became of suggestions, and how good they are."""

from btr.studies.results import Results, figure
from btr.studies.sheets import EMPTY, Cell, Gap, Row, Sheet
from btr.studies.tables import DELTA, SIGNIFICANT, difference


def decision_table(results: Results) -> Sheet | Gap:
    """Table 6: what became of the suggestions, and how good they are where they were accepted, rejected and equal."""
    plan, chief, writer = results.plan, results.plan.chief, results.plan.base
    sets = [own for own in results.sets_of(writer) if (chief, writer, own) in results.reranked]
    title = f"Suggestions of {chief} that were accepted, rejected and equal, and the score within each"
    if not plan.rerankers[chief].threshold:
        return Gap("Table 6", title, f"{chief} has no threshold, so that it rejects nothing.")
    rows: dict[str, list[Cell]] = {
        label: [] for label in ("Proportion (%)", "base", chief, DELTA, "p, bootstrap", "p, t-test")
    }
    groups = []
    for own in sets:
        found = results.reranked[chief, writer, own]
        signature = results.signature(writer, own, chief, **found["setting"])
        groups.append((own, [case.capitalize() for case in found["decisions"]]))
        for case in found["decisions"].values():
            rows["Proportion (%)"].append(figure(case["percent"], signature))
            if "base" not in case:
                for label in list(rows)[1:]:
                    rows[label].append(EMPTY)
                continue
            sure = "†" if case["p_bootstrap"] < SIGNIFICANT else ""
            before, after = case["base"], case["suggested"]
            rows["base"].append(versus(before, after, sure, signature))
            rows[chief].append(versus(after, before, sure, signature))
            rows[DELTA].append(difference(after - before, case["interval"], case["p_bootstrap"], signature))
            for label, key in (("p, bootstrap", "p_bootstrap"), ("p, t-test", "p_t_test")):
                rows[label].append(Cell(told_p(case[key]), case[key], None, signature))
    notes = [
        f"{DELTA}: by a paired bootstrap over the sentences of the case; † where the difference is significant "
        "(p < 0.05) by it. The paper's test is the t-test."
    ]
    signatures = {
        own: results.signature(writer, own, chief, **results.reranked[chief, writer, own]["setting"]) for own in sets
    }
    listed = [Row(label, own, rule=label in ("base", DELTA)) for label, own in rows.items()]
    return Sheet("table-06", "Table 6", f"{title}.", "Candidate", groups, listed, notes, signatures)


def told_p(p: float) -> str:
    """A p-value with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def versus(value: float, other: float, sure: str, signature: str) -> Cell:
    """One of two scores: bold if it is the higher, with a dagger if that is significant."""
    higher = round(value, 2) > round(other, 2)
    return Cell(f"{value:.2f}{sure if higher else ''}", value, None, signature, "best" if higher else "")
