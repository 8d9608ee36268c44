"""The paper's tables of results: main results, decoding, seeds, time and examples."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from btr.metrics.results import Interval
from btr.studies.examples import MAX_WORDS, mark_corrections
from btr.studies.records import ComparedScores, Example, SystemScores
from btr.studies.results import Results, score_cell
from btr.studies.table import EMPTY, Cell, ColumnGroup, NotComputed, Row, Table, embolden

SIGNIFICANT = 0.05
DELTA = "Δ base [95 %]"
CROSSED_COLUMNS = ["cross-validated", f"its {DELTA}"]  # of the validation set
MINUS = str.maketrans("-", "−")
SHORT_COLUMNS = {"precision": "P", "recall": "R"}


def main_results(results: Results, generator: str, number: str, file_stem: str) -> Table:
    """Make Table 5, or Tables 7 and 27 for a larger base model: oracle, base, every reranker with and without λ."""
    plan, sets = results.plan, results.sets_of(generator)
    validation, rerankers = plan.validation, results.rerankers_of(generator)
    groups, signatures = [], {}
    for dataset in sets:
        scores = results.bases[generator, dataset].measures.columns
        heads = [*(SHORT_COLUMNS.get(name, title) for name, title in scores.items()), DELTA]
        groups.append(ColumnGroup(dataset, heads + (CROSSED_COLUMNS if dataset == validation else [])))
        signatures[dataset] = results.base_signature(generator, dataset)
    count = max(results.bases[generator, dataset].measures.candidates for dataset in sets)
    rows = [
        Row(f"Oracle ({count} candidates)", base_cells(results, generator, sets, oracle=True)),
        Row(generator, base_cells(results, generator, sets), line_above=True),
    ]
    for reranker in rerankers:
        settings = results.reranked[reranker, generator, validation].settings
        signature = results.reranker_signature(reranker, generator, validation)
        signatures[reranker] = f"{signature}|{settings.signature()}"
        plain = reranked_cells(results, reranker, generator, sets, tuned=False)
        if plan.rerankers[reranker].threshold:
            label = f"{reranker} (λ = {settings.threshold:g})"
            rows.append(Row(label, reranked_cells(results, reranker, generator, sets, tuned=True)))
            rows.append(Row("w/o λ", plain, indent=True, full_label=f"{reranker} w/o λ"))
            rows += gold_only_rows(results, reranker, generator, sets)
        else:
            rows.append(Row(reranker, plain))
    columns = [name for group in groups for name in group.columns]
    compared = [k for k, name in enumerate(columns) if name not in (DELTA, CROSSED_COLUMNS[1])]
    title = f"Results on each set with candidates from {generator}. Bold: the highest, apart from the oracle."
    notes = main_notes(results, generator)
    return Table(file_stem, number, title, "Model", groups, embolden(rows, compared, 1), notes, signatures)


def gold_only_rows(results: Results, reranker: str, generator: str, sets: Sequence[str]) -> list[Row]:
    """Return the row of a reranker's variant that was trained without negatives, without λ; none if there is none."""
    plan = results.plan
    for name in plan.family(reranker):
        if name != reranker and plan.rerankers[name].negatives == 0 and (name, generator, sets[0]) in results.reranked:
            cells = reranked_cells(results, name, generator, sets, tuned=False)
            return [Row("w/o a_train, λ", cells, indent=True, full_label=f"{reranker} w/o a_train, λ")]
    return []


def main_notes(results: Results, generator: str) -> list[str]:
    """Say how settings were tuned, how many candidates compete, and which rerankers are missing or change nothing."""
    plan, rerankers = results.plan, results.rerankers_of(generator)
    notes = []
    if rerankers:
        notes = [
            f"λ and the number of candidates were tuned on {plan.validation} only. There the tuned score is somewhat "
            "too high; the cross-validated score is over sentences that had no part in the tuning.",
            "Δ base: the difference to the base model, with its 95 % interval by a paired bootstrap over sentences; "
            "† where the difference is significant (p < 0.05).",
        ]
        tops = {name: results.reranked[name, generator, plan.validation].settings.top for name in rerankers}
        notes.append(f"Rerankers choose among {describe_tops(tops)}; the oracle chooses among all candidates.")
        if sizes := plan.sizes(generator, plan.validation):
            others = [name for name, top in tops.items() if top != sizes[0]]
            first = f"{generator} and the oracle have {sizes[0]} candidates, of a beam of as many. "
            lists = (
                f"{', '.join(others)}: the difference is to the first candidate of the longer beam." if others else ""
            )
            notes.append(f"{first}{lists}".strip())
    for name in rerankers:
        if plan.rerankers[name].gives("threshold"):
            settings = results.reranked[name, generator, plan.validation].settings
            notes.append(f"{name}: the settings were given, not tuned ({settings.signature()}).")
    careful = [name for name in rerankers if accepts_nothing(results, name, generator)]
    if careful:
        notes.append(
            f"{', '.join(careful)}: no λ is better on {plan.validation} than the base model’s choice, so that it stays."
        )
    for absent in (name for name in plan.heads if name not in rerankers):
        reason = "it has no scores" if plan.rerankers[absent].scores else "they come without log-probabilities"
        notes.append(f"{absent} does not rerank these candidates: {reason}.")
    return notes


def describe_tops(tops: Mapping[str, int | None]) -> str:
    """Say how many candidates compete for each reranker; None means all."""
    by_top: dict[int | None, list[str]] = {}
    for name, top in sorted(tops.items(), key=lambda pair: (pair[1] is None, pair[1] or 0)):
        by_top.setdefault(top, []).append(name)
    counts = {top: "all candidates" if top is None else f"the top {top} candidates" for top in by_top}
    if len(by_top) == 1:
        return next(iter(counts.values()))
    return ", ".join(f"{counts[top]} ({', '.join(names)})" for top, names in by_top.items())


def accepts_nothing(results: Results, reranker: str, generator: str) -> bool:
    """Return whether the best settings on the validation set accept no suggestion."""
    verdicts = results.reranked[reranker, generator, results.plan.validation].measures.verdicts
    plan = results.plan.rerankers[reranker]
    return plan.threshold and not plan.gives("threshold") and verdicts["accept"].percent == 0


def base_cells(results: Results, generator: str, sets: Sequence[str], oracle: bool = False) -> list[Cell]:
    """Return the row of the base model, or of the oracle."""
    row = []
    for dataset in sets:
        measures = results.bases[generator, dataset].measures
        system = measures.oracle if oracle else measures.base
        signature = results.base_signature(generator, dataset) + (" · oracle" if oracle else "")
        row += [*score_cells(system, signature), EMPTY]
        if dataset == results.plan.validation:
            row += [EMPTY if oracle else score_cell(system.value, signature), EMPTY]
    return row


def score_cells(system: SystemScores, signature: str) -> list[Cell]:
    """Return all scores of an output."""
    return [score_cell(value, signature, system.intervals[name]) for name, value in system.scores.items()]


def reranked_cells(results: Results, reranker: str, generator: str, sets: Sequence[str], tuned: bool) -> list[Cell]:
    """Return a reranker's row, with its threshold or without."""
    row: list[Cell] = []
    for dataset in sets:
        base = results.bases[generator, dataset].measures.base
        is_validation = dataset == results.plan.validation
        result = results.reranked.get((reranker, generator, dataset))
        if result is None:
            row += [EMPTY] * (len(base.scores) + 1 + (len(CROSSED_COLUMNS) if is_validation else 0))
            continue
        settings = result.settings if tuned else replace(result.settings, threshold=0.0)
        signature = results.signature(generator, dataset, reranker, settings)
        system = result.measures.tuned if tuned else result.measures.without_threshold
        row += [*score_cells(system, signature), gain_cell(system, signature)]
        if is_validation and (tuned or not results.plan.rerankers[reranker].threshold):
            crossed = results.tuned[reranker, generator, dataset].crossed
            signature = f"{signature}|folds:{crossed.folds}"
            row.append(score_cell(crossed.score, signature))
            row.append(difference_cell(crossed.difference, crossed.interval, crossed.p, signature))
        elif is_validation:
            row += [EMPTY] * len(CROSSED_COLUMNS)
    return row


def gain_cell(system: ComparedScores, signature: str) -> Cell:
    """Return the difference of a reranker's main score to that of the first of its candidates."""
    return difference_cell(system.value - system.base, system.difference, system.p, signature)


def difference_cell(value: float, interval: Interval, p: float, signature: str) -> Cell:
    """Return a difference with its interval, and a dagger if it is significant."""
    low, high = interval
    dagger = "†" if p < SIGNIFICANT else ""
    text = f"{value:+.2f}{dagger} [{low:+.2f}, {high:+.2f}]".translate(MINUS)
    return Cell(text, value, (low, high), f"{signature}|p:{p:.4f}")


def decoding_table(results: Results) -> Table | NotComputed:
    """Make Table 2: how often the candidates of a decoding method include a reference, and how good they could be."""
    title = f"Decoding methods on {results.plan.validation}"
    if not results.decoding:
        return NotComputed("Table 2", title, "the study names no methods to compare (key decoding).")
    rows, signatures = [], {}
    for method, result in results.decoding.items():
        measures = result.measures
        signature = f"{measures.signature} · candidates:{result.candidates_signature}"
        signatures[method] = signature
        oracle = score_cell(measures.oracle.value, signature, measures.oracle.intervals[measures.oracle.main])
        shares = [score_cell(value, signature) for value in (measures.gold_percent, measures.unique_percent)]
        rows.append(Row(method, [*shares, oracle]))
    groups = [ColumnGroup(None, ["Gold (%)", "Unique (%)", f"Oracle ({measures.main_column})"])]
    return Table("table-02", "Table 2", f"{title}.", "Method", groups, embolden(rows, range(3)), (), signatures)


def seed_table(results: Results, number: str) -> Table | NotComputed:
    """Make Table 20, also Table 9 with the cleaned CoNLL-14: mean and standard deviation over seeds."""
    generator, title = results.plan.base, "Mean ± standard deviation over seeds"
    sets = results.sets_of(generator)
    rows, signatures = [], {}
    for name in results.rerankers_of(generator):
        if len(results.reranked[name, generator, results.plan.validation].measures.seeds) < 2:
            continue
        row = []
        for dataset in sets:
            result = results.reranked.get((name, generator, dataset))
            if result is None:
                row.append(EMPTY)
                continue
            values = result.measures.seeds
            mean, deviation = statistics.mean(values), statistics.stdev(values)
            signature = results.tuned_signature(generator, dataset, name)
            signature += f"|seeds:{len(values)}|deviation:{deviation:.4f}"
            row.append(Cell(f"{mean:.2f} ± {deviation:.2f}", mean, None, signature))
        rows.append(Row(name, row))
        signatures[name] = results.reranker_signature(name, generator, results.plan.validation)
    if not rows:
        reason = "no reranker of this study has several models of one kind (seeds)."
        return NotComputed(number, title, reason)
    notes = ["Sample standard deviation. Every seed is reranked with the settings of all seeds together."]
    groups = [ColumnGroup(None, [f"{dataset} ({score_name(results, generator, dataset)})" for dataset in sets])]
    marked = embolden(rows, range(len(sets)))
    return Table("table-20", number, f"{title}.", "Model", groups, marked, notes, signatures)


def score_name(results: Results, generator: str, dataset: str) -> str:
    """Return the name of a set's main score as tables print it."""
    return results.bases[generator, dataset].measures.main_column


def example_table(results: Results, main: str) -> Table | NotComputed:
    """Make Tables 1 and 28: sentences that the main reranker changed, for better and for worse, with edits marked."""
    generator = results.plan.base
    title = f"Sentences that {main} changed, for better and for worse"
    rows: list[Row] = []
    for dataset, examples in results.examples.items():
        signature = results.base_signature(generator, dataset)
        for number, example in enumerate(examples, 1):
            for k, (label, text) in enumerate(example_lines(example, generator)):
                cell = Cell(text, None, None, signature, None, mark_corrections(example.source, text))
                gained = "gained" if example.gain > 0 else "lost"
                shown = f"{dataset}, {gained}: {label}" if k == 0 else label
                rows.append(Row(shown, [cell], k == 0 and bool(rows), full_label=f"{dataset} {number}: {label}"))
    if not rows:
        return NotComputed("Tables 1 and 28", title, f"{main} changed no sentence of {MAX_WORDS} words or fewer.")
    notes = ["Marked: what differs from the source. In brackets: the models that choose the candidate."]
    with_examples = [dataset for dataset, examples in results.examples.items() if examples]
    signatures = {dataset: results.signature(generator, dataset, results.main_of(dataset)) for dataset in with_examples}
    groups = [ColumnGroup(None, ["Sentence"])]
    return Table("table-28", "Tables 1 and 28", f"{title}.", "", groups, rows, notes, signatures)


def example_lines(example: Example, generator: str) -> list[tuple[str, str]]:
    """Return the lines of an example, each with its label: source, reference, candidates."""
    lines = [("source", example.source)]
    if example.reference is not None:
        lines.append(("gold", example.reference))
    for number, candidate in enumerate(example.candidates, 1):
        names = ([generator] if number == 1 else []) + candidate.chosen_by
        lines.append((f"candidate {number}" + (f" ({', '.join(names)})" if names else ""), candidate.text))
    return lines
