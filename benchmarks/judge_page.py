"""The page of the judge's figures, in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edit_sets import FITTED_ON, NAMES, PAPER, SETTLED, SHIPPED

Figures = Mapping[str, Any]

HEAD = """\
# Decisions edit by edit: the figures

Made by `BTR_DATA=… python benchmarks/judge.py --output results/judge.md --figure docs/images/reliability.svg`, which
writes t5gec-small's candidates as `btr correct` does (five, int8, and more for misspelt words), scores their edits with
{model} (int8), and fits judges with what `btr tune --edits` calls. "Cross-validated"
means that the judge of a fifth of the sentences and its cut-off come from the other four fifths. The judge of all three
sets is the shipped one: to save time it asks the last reranker only about edits that it gives {settled} without it. The
others, and those under "What each model adds", ask about all edits. int8 results differ slightly between processors.
"""


def value(score: Figures) -> float:
    """Return the score that a metric is known by."""
    return float(list(score["scores"].values())[-1])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def crossed_row(label: str, fitted_on: str, each: Figures, cutoffs: Sequence[float]) -> list[str]:
    low, high = each["interval"]
    calibration = each["calibration"]
    return [
        label,
        fitted_on,
        f"{value(each['base']):.2f}",
        f"**{value(each['cross_validated']):.2f}**",
        f"{each['gain']:+.2f} ({low:+.2f} to {high:+.2f})",
        list_of(cutoffs),
        f"{calibration['auc']:.3f}" if calibration["auc"] is not None else "–",
        f"{calibration['error']:.3f}",
    ]


def list_of(cutoffs: Sequence[float]) -> str:
    """Return the cut-offs of the folds, each once."""
    return ", ".join(f"{cutoff:g}" for cutoff in sorted(set(cutoffs)))


def at(cutoff: float, curve: Figures) -> float:
    """Return the score at a cut-off."""
    return value(curve["curve"][list(curve["cutoffs"]).index(cutoff)])


def main_table(figures: Mapping[str, Figures]) -> str:
    """Return what to expect of judges: F0.5, or GLEU for JFLEG."""
    head = ["set", "judge fitted on", "base", "judged", "gain (95 %)", "cut-off", "AUC", "calibration error"]
    together = figures["together"]
    rows = [
        crossed_row(NAMES[each["name"]], "all three, cross-validated", each, together["fold_cutoffs"])
        for each in together["sets"]
    ]
    for name in (*FITTED_ON, PAPER):
        alone = figures[f"alone {name}"]
        rows.append(crossed_row(NAMES[name], "itself, cross-validated", alone["sets"][0], alone["fold_cutoffs"]))
    transfer, jfleg = figures["transfer"], figures["jfleg"]
    base, judged = value(transfer["base"]), at(transfer["cutoff"], transfer)
    rows.append(
        [NAMES["conll13"], "W&I dev and FCE dev, cut-off too", f"{base:.2f}", f"**{judged:.2f}**",
         f"{judged - base:+.2f}", f"{transfer['cutoff']:g}", "", ""]
    )  # fmt: skip
    base, judged = value(jfleg["base"]), value(jfleg["cross_validated"])
    rows.append(
        [f"{NAMES['jfleg']} (GLEU)", "all three; only the cut-off cross-validated", f"{base:.2f}", f"**{judged:.2f}**",
         f"{judged - base:+.2f}", list_of(jfleg["fold_cutoffs"]), "", ""]
    )  # fmt: skip
    return table(head, rows)


def cutoff_table(figures: Mapping[str, Figures]) -> str:
    """Return precision, recall and F0.5 by cut-off, cross-validated; GLEU and the transfer beside them."""
    together, transfer, jfleg = figures["together"], figures["transfer"], figures["jfleg"]
    sets = together["sets"]
    head = ["cut-off", *(f"{NAMES[each['name']]} P / R / F0.5" for each in sets)]
    head += ["W&I + FCE → CoNLL-13, F0.5", "JFLEG dev, GLEU"]
    rows = [["base", *(parts(each["base"]) for each in sets), f"{value(transfer['base']):.2f}",
             f"{value(jfleg['base']):.2f}"]]  # fmt: skip
    for k, cutoff in enumerate(together["cutoffs"]):
        shown = [parts(each["curve"][k]) for each in sets]
        rows.append([f"{cutoff:.2f}", *shown, f"{at(cutoff, transfer):.2f}", f"{at(cutoff, jfleg):.2f}"])
    return table(head, rows)


def parts(score: Figures) -> str:
    return " / ".join(f"{number:.2f}" for number in score["scores"].values())


def models_table(figures: Mapping[str, Figures], labels: Sequence[str]) -> str:
    """Return what each model adds to the judge of all three sets, and what it costs."""
    sets = [each["name"] for each in figures["together"]["sets"]]
    head = ["models", *(f"{NAMES[name]}: AUC, F0.5, calibration error" for name in sets)]
    head += ["W&I + FCE → CoNLL-13, F0.5", "CPU seconds per 1,000"]
    rows = []
    for label in labels:
        shown = []
        for each in figures[f"fitted with {label}"]["sets"]:
            calibration = each["calibration"]
            numbers = f"{value(each['cross_validated']):.2f}, {calibration['error']:.3f}"
            shown.append(f"{calibration['auc'] or 0:.3f}, {numbers}")
        across = figures[f"transfer with {label}"]
        shown.append(f"{at(across['cutoff'], across):.2f}")
        rows.append([label, *shown, f"{figures[f'cost of {label}']['cpu_seconds_per_1000']:.0f}"])
    return table(head, rows)


def make_page(figures: Mapping[str, Figures], labels: Sequence[str]) -> str:
    """Return the page."""
    unscored = figures["unscored"]
    note = ""
    if unscored["unscored"]:
        note = (
            f"Edits that the judge settles without the language model (confidence below .06) were not scored: "
            f"{unscored['unscored']:,} of {unscored['edits']:,} edits of the three sets. The judge without the "
            f"language model gives them at most {unscored['highest']:.3f}.\n\n"
        )
    return (
        HEAD.format(model=" and ".join(SHIPPED), settled="{:g} to {:g}".format(*SETTLED))
        + "\n## What to expect of a judge\n\nF0.5 (M2 for CoNLL-13, ERRANT for W&I and FCE), GLEU for JFLEG. FCE dev "
        + "is `fce/fce.dev.m2`, 2,255 sentences made anew\nfrom the release's JSON, not the named set `fce-dev`.\n\n"
        + main_table(figures)
        + "\nThe paper's BTR has 50.22 among its candidates, which come without log-probabilities.\n"
        + "\n## By cut-off\n\nThe judge of all three sets, its confidences cross-validated. "
        + f"The best cut-off for all sentences is {figures['together']['cutoff']:g}.\n\n"
        + cutoff_table(figures)
        + "\n## What each model adds\n\nThe judge of all three sets, cross-validated. The time is that of judging "
        + "alone (aligning candidates, and asking the model about unsettled edits, as the shipped judge does).\n\n"
        + models_table(figures, labels)
        + f"\n## Reliability\n\n{note}![reliability](../docs/images/reliability.svg)\n"
    )
