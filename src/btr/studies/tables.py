"""The paper's tables of results: main results, decoding, seeds, time and examples."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from btr.rerankers.free import Base
from btr.studies.measures import marked
from btr.studies.results import COLUMNS, Results, figure, known_by
from btr.studies.sheets import EMPTY, Cell, Gap, Row, Sheet, embolden

SIGNIFICANT = 0.05
DELTA = "Δ base [95 %]"
CROSSED = ["cross-validated", f"its {DELTA}"]  # columns of the validation set
MINUS = str.maketrans("-", "−")


def main_results(results: Results, writer: str, number: str, name: str) -> Sheet:
    """Table 5, and Tables 7 and 27 for a larger base model: oracle, base, and every reranker with and without λ."""
    plan, sets = results.plan, results.sets_of(writer)
    validation = plan.validation
    groups, signatures = [], {}
    for own in sets:
        base = results.bases[writer, own]
        heads = [COLUMNS[score] for score in base["base"]["scores"]] + [DELTA]
        groups.append((own, heads + (CROSSED if own == validation else [])))
        signatures[own] = results.signature(writer, own)
    most = max(results.bases[writer, own]["candidates"] for own in sets)
    rows = [
        Row(f"Oracle ({most} candidates)", cells(results, writer, sets, "oracle")),
        Row(writer, cells(results, writer, sets, "base"), rule=True),
    ]
    for reranker in results.rerankers_of(writer):
        setting = results.reranked[reranker, writer, validation]["setting"]
        top, threshold = setting["top"], setting["threshold"]
        signatures[reranker] = f"{results.reranked[reranker, writer, validation]['reranker']}|top:{top}"
        if plan.rerankers[reranker].threshold:
            label = f"{reranker} (λ = {threshold:g})"
            rows.append(Row(label, reranked_cells(results, reranker, writer, sets, "tuned")))
            plain = reranked_cells(results, reranker, writer, sets, "plain")
            rows.append(Row("  w/o λ", plain, name=f"{reranker} w/o λ"))
        else:
            rows.append(Row(reranker, reranked_cells(results, reranker, writer, sets, "plain")))
    scores = [k for k, column in enumerate(flat(groups)) if column in COLUMNS.values()]
    crossed = [k for k, column in enumerate(flat(groups)) if column == CROSSED[0]]
    notes = [
        f"λ and the number of candidates were tuned on {validation} only. There the tuned figure is somewhat too high; "
        "the cross-validated one is of sentences that had no part in the tuning.",
        "Δ base: the difference to the base model, with its 95 % interval by a paired bootstrap over sentences; "
        "† where the difference is significant (p < 0.05).",
    ]
    tops = {name: results.reranked[name, writer, validation]["setting"]["top"] for name in results.rerankers_of(writer)}
    if tops:
        notes.append(f"Rerankers choose among {told_sizes(tops)}; the oracle among all that there are.")
    careful = [name for name in results.rerankers_of(writer) if accepts_nothing(results, name, writer)]
    if careful:
        notes.append(
            f"{', '.join(careful)}: no λ is better on {validation} than the base model’s own choice, which stays."
        )
    for absent in (own for own in plan.rerankers if own not in results.rerankers_of(writer)):
        needs = Base.kind in plan.rerankers[absent].models
        why = "they come without the log-probabilities that base is" if needs else "there are no scores of them"
        notes.append(f"{absent} has no part in these candidates: {why}.")
    title = f"Results on each set with candidates from {writer}. Bold: the highest but for the oracle."
    return Sheet(name, number, title, "Model", groups, embolden(rows, [*scores, *crossed], 1), notes, signatures)


def told_sizes(sizes: Mapping[str, int]) -> str:
    """How many candidates take part for each reranker, in words."""
    by_size = {size: [name for name, own in sizes.items() if own == size] for size in sorted(set(sizes.values()))}
    if len(by_size) == 1:
        return f"the top {next(iter(by_size))} candidates"
    return ", ".join(f"the top {size} candidates ({', '.join(names)})" for size, names in by_size.items())


def accepts_nothing(results: Results, reranker: str, writer: str) -> bool:
    """Whether the setting that is best on the validation set keeps all of the base model's choices."""
    decisions = results.reranked[reranker, writer, results.plan.validation]["decisions"]
    return results.plan.rerankers[reranker].threshold and decisions["accept"]["percent"] == 0


def flat(groups: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The columns of all groups, without their heads."""
    return [name for _, names in groups for name in names]


def cells(results: Results, writer: str, sets: Sequence[str], kind: str) -> list[Cell]:
    """The row of the base model, or of the oracle."""
    row = []
    for own in sets:
        found = results.bases[writer, own]
        signature = results.signature(writer, own) + (" · oracle" if kind == "oracle" else "")
        scores = found[kind]["scores"]
        row += [figure(value, signature, found[kind]["interval"][score]) for score, value in scores.items()]
        row.append(EMPTY)
        if own == results.plan.validation:
            row += [figure(known_by(scores), signature) if kind == "base" else EMPTY, EMPTY]
    return row


def reranked_cells(results: Results, reranker: str, writer: str, sets: Sequence[str], kind: str) -> list[Cell]:
    """A reranker's row, with its threshold (tuned) or without (plain)."""
    row: list[Cell] = []
    for own in sets:
        found = results.reranked.get((reranker, writer, own))
        base = results.bases[writer, own]["base"]["scores"]
        width = len(base) + 1 + (len(CROSSED) if own == results.plan.validation else 0)
        if found is None:
            row += [EMPTY] * width
            continue
        setting = {**found["setting"], **({"threshold": 0.0} if kind == "plain" else {})}
        signature = results.signature(writer, own, reranker, top=setting["top"], threshold=setting["threshold"])
        told = found[kind]
        row += [figure(value, signature, told["interval"][score]) for score, value in told["scores"].items()]
        last = list(base)[-1]
        row.append(difference(told["scores"][last] - base[last], told["difference"][last], told["p"][last], signature))
        if own == results.plan.validation:
            threshold = results.plan.rerankers[reranker].threshold
            if kind == "tuned" or not threshold:
                crossed = results.tuned[reranker, writer, own]["crossed"]
                signature = f"{signature}|folds:{crossed['folds']}"
                row.append(figure(known_by(crossed["scores"]), signature))
                row.append(difference(crossed["difference"], crossed["interval"], crossed["p"], signature))
            else:
                row += [EMPTY] * len(CROSSED)
    return row


def difference(value: float, interval: Sequence[float], p: float, signature: str) -> Cell:
    """How far a score is from the base model's, with its interval."""
    low, high = interval
    sign = "†" if p < SIGNIFICANT else ""
    text = f"{value:+.2f}{sign} [{low:+.2f}, {high:+.2f}]".translate(MINUS)
    return Cell(text, value, (low, high), f"{signature}|p:{p:.4f}")


def decoding_table(results: Results) -> Sheet | Gap:
    """Table 2: how often candidates of each decoding method hold the gold, and how good they could be."""
    title = f"Decoding methods on {results.plan.validation}"
    if not results.decoding:
        return Gap("Table 2", title, "the study names no methods to compare (key decoding).")
    rows, signatures = [], {}
    for name, found in results.decoding.items():
        signature = f"{found['signature']} · candidates:{found['source']}"
        signatures[name] = signature
        score = list(found["oracle"]["scores"])[-1]
        values = found["gold_percent"], found["unique_percent"], found["oracle"]["scores"][score]
        intervals = None, None, found["oracle"]["interval"][score]
        rows.append(Row(name, [figure(value, signature, own) for value, own in zip(values, intervals)]))
    groups = [("", ["Gold (%)", "Unique (%)", f"Oracle ({COLUMNS[score]})"])]
    return Sheet("table-02", "Table 2", f"{title}.", "Method", groups, embolden(rows, range(3)), (), signatures)


def seed_table(results: Results, number: str) -> Sheet | Gap:
    """Table 20, and Table 9 for the cleaned CoNLL-14: mean and standard deviation over seeds."""
    writer, title = results.plan.base, "Mean ± standard deviation over seeds"
    sets = results.sets_of(writer)
    rows, signatures = [], {}
    for name in results.rerankers_of(writer):
        if len(results.reranked[name, writer, results.plan.validation]["seeds"]) < 2:
            continue
        row = []
        for own in sets:
            found = results.reranked.get((name, writer, own))
            if found is None:
                row.append(EMPTY)
                continue
            values = [known_by(scores) for scores in found["seeds"]]
            mean, deviation = statistics.mean(values), statistics.stdev(values)
            signature = (
                results.signature(writer, own, name, **found["setting"])
                + f"|seeds:{len(values)}|deviation:{deviation:.4f}"
            )
            row.append(Cell(f"{mean:.2f} ± {deviation:.2f}", mean, None, signature))
        rows.append(Row(name, row))
        signatures[name] = results.reranked[name, writer, results.plan.validation]["reranker"]
    if not rows:
        why = "no reranker of this study has several models of one kind (seeds)."
        return Gap(number, title, why)
    notes = ["Sample standard deviation. Every seed is reranked with the setting of all seeds together."]
    groups = [("", [f"{own} ({score_name(results, writer, own)})" for own in sets])]
    marked_rows = embolden(rows, range(len(sets)))
    return Sheet("table-20", number, f"{title}.", "Model", groups, marked_rows, notes, signatures)


def score_name(results: Results, writer: str, own: str) -> str:
    """What the metric of a set is known by, as tables call it."""
    return COLUMNS[list(results.bases[writer, own]["base"]["scores"])[-1]]


def time_table(results: Results) -> Sheet:
    """Table 29: seconds that generating and scoring took."""
    plan, writer = results.plan, results.plan.base
    sets = results.sets_of(writer)
    rows = [
        Row(
            name,
            [
                seconds(
                    results.bases.get((name, own)), results.signature(name, own) if (name, own) in results.bases else ""
                )
                for own in sets
            ],
        )
        for name in plan.candidates
    ]
    for k, name in enumerate(results.rerankers_of(writer)):
        found = [results.reranked.get((name, writer, own)) for own in sets]
        signed = [results.signature(writer, own, name) if told else "" for own, told in zip(sets, found)]
        rows.append(Row(name, [seconds(*pair) for pair in zip(found, signed)], rule=k == 0))
    notes = [
        "Seconds by the clock, loading the model included, when the stage was run; other work on the machine counts.",
        "–: files that were there already, or a stage that was interrupted and went on.",
    ]
    most = min(max(plan.top), max(results.bases[writer, own]["candidates"] for own in sets))
    title = f"Time (seconds) to write candidates, and to score up to {most} a sentence of {writer}."
    signatures = {name: results.signature(name, own) for name in plan.candidates for own in results.sets_of(name)[:1]}
    signatures |= {
        name: results.reranked[name, writer, plan.validation]["reranker"] for name in results.rerankers_of(writer)
    }
    return Sheet("table-29", "Table 29", title, "Model", [("", sets)], rows, notes, signatures)


def seconds(found: Any, signature: str) -> Cell:
    """How long a stage took, if it is known."""
    if found is None or found.get("seconds") is None:
        return EMPTY
    return Cell(
        f"{found['seconds']:,.0f}" if found["seconds"] >= 10 else f"{found['seconds']:.1f}",
        found["seconds"],
        None,
        signature,
    )


def example_table(results: Results) -> Sheet | Gap:
    """Tables 1 and 28: sentences that the chief reranker changed, for better and for worse, with edits marked."""
    chief, writer = results.plan.chief, results.plan.base
    title = f"Sentences that {chief} changed, for better and for worse"
    rows: list[Row] = []
    for own, examples in results.examples.items():
        signature = results.signature(writer, own)
        for number, example in enumerate(examples, 1):
            source = example["source"]
            kind = "gained" if example["gain"] > 0 else "lost"
            lines = [(f"{own}, {kind}: source", source)]
            lines += [("gold", text) for text in example["gold"]]
            for k, candidate in enumerate(example["candidates"], 1):
                names = ([writer] if k == 1 else []) + candidate["chosen_by"]
                lines.append((f"candidate {k}" + (f" ({', '.join(names)})" if names else ""), candidate["text"]))
            for k, (label, text) in enumerate(lines):
                cell = Cell(text, None, None, signature, "", tuple(marked(source, text)))
                rows.append(Row(label, [cell], k == 0 and bool(rows), f"{own} {number}: {label.rpartition(': ')[2]}"))
    if not rows:
        return Gap("Tables 1 and 28", title, f"{chief} changed no sentence of 30 words or fewer.")
    notes = ["Marked: what differs from the source. In brackets: who chooses the candidate."]
    signatures = {own: results.signature(writer, own, chief) for own, examples in results.examples.items() if examples}
    return Sheet("table-28", "Tables 1 and 28", f"{title}.", "", [("", ["Sentence"])], rows, notes, signatures)
