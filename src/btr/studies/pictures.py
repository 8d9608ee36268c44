"""The paper's figures: cross-entropy by position, probability by rank, what λ does, and training curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from btr.corpus.files import file_signature
from btr.studies import figures
from btr.studies.measures import LENGTHS
from btr.studies.plan import slug
from btr.studies.results import Results
from btr.studies.sheets import Gap
from btr.studies.tables import told_sizes
from btr.training.history import LOG, History
from btr.training.recipe import expand

BY_RANK = {"m2": "4", "errant": "12", "gleu": "15"}  # the paper's numbers, by metric
BY_THRESHOLD = {"m2": "8 and 9", "errant": "10 and 11", "gleu": "13 and 14"}
SCORES = {"precision": "precision", "recall": "recall", "gleu": "GLEU"}


@dataclass(frozen=True)
class Picture:
    """A figure of the report, under the number that it has in the paper."""

    name: str  # of its files
    number: str
    title: str
    drawn: Figure
    told: str  # the same in words, for whom the figure can't be seen
    signatures: dict[str, str]

    @property
    def caption(self) -> str:
        """Number and title."""
        return f"{self.number}. {self.title}"


def losses_figure(results: Results) -> Picture | Gap:
    """Figure 3."""
    plan = results.plan
    between = f"{LENGTHS.start} to {LENGTHS.stop - 1} tokens"
    title = (
        f"Cross-entropy of the token y_j by its place j, mean over the gold targets of {plan.validation} with {between}"
    )
    if not results.losses:
        return Gap("Figure 3", title, "no reranker of this study says what each token is worth, or no target fits.")
    values = {name: found["curve"] for name, found in results.losses.items()}
    curves = {name: (range(1, len(curve) + 1), curve) for name, curve in values.items()}
    told = "; ".join(
        f"{name}: {curve[0]:.2f} at the first, {curve[-1]:.2f} at the last" for name, curve in values.items()
    )
    gold = results.bases[plan.base, plan.validation]["signature"]
    signatures = {name: f"{gold} · {found['signature']}" for name, found in results.losses.items()}
    drawn = figures.draw_lines(curves, "place j", "cross-entropy", markers=False)
    title += ". Masked models are asked about every token, also where they score by contrast."
    if absent := [name for name in plan.rerankers if name not in results.losses]:
        title += f" Without a curve, since their scores are of whole sentences: {', '.join(absent)}."
    return Picture("figure-03", "Figure 3", title, drawn, told, signatures)


def ranks_figure(results: Results, own: str) -> Picture:
    """Figures 4, 12 and 15."""
    plan, writer = results.plan, results.plan.base
    found = {
        name: results.reranked[name, writer, own] for name in plan.rerankers if (name, writer, own) in results.reranked
    }
    curves = {name: (range(1, len(told["ranks"]) + 1), told["ranks"]) for name, told in found.items()}
    number = f"Figure {BY_RANK[plan.sets[own].metric]}"
    sizes = {name: len(told["ranks"]) for name, told in found.items()}
    title = f"Mean probability f(y|x) of each rank on {own}, over {told_sizes(sizes)} of {writer}."
    told = "; ".join(f"{name}: " + ", ".join(f"{value:.2f}" for value in one["ranks"]) for name, one in found.items())
    signatures = {name: results.signature(writer, own, name, top=size) for name, size in sizes.items()}
    drawn = figures.draw_lines(curves, "rank", "mean probability")
    return Picture(
        f"figure-{BY_RANK[plan.sets[own].metric].zfill(2)}-{slug(own)}", number, title, drawn, told, signatures
    )


def threshold_figure(results: Results, own: str) -> Picture:
    """Figures 8 to 11, 13 and 14."""
    plan, writer, chief = results.plan, results.plan.base, results.plan.chief
    found = results.reranked[chief, writer, own]
    points = found["curve"]
    names = {score: name for score, name in SCORES.items() if score in points[0]["whole"]}
    numbers = BY_THRESHOLD[plan.sets[own].metric]
    top = found["setting"]["top"]
    title = (
        f"What λ does on {own}: {chief} with {top} candidates of {writer}. Suggestions accepted, their scores beside "
        "the base model’s on the same sentences, and the scores of the whole set."
    )
    told = "; ".join(
        f"λ = {point['threshold']:g}: {point['accepted']:.1f} % accepted, "
        + ", ".join(f"{name} {point['whole'][score]:.2f}" for score, name in names.items())
        for point in points
    )
    signatures = {chief: results.signature(writer, own, chief, top=top)}
    name = f"figure-{numbers.split()[0].zfill(2)}-{slug(own)}"
    return Picture(name, f"Figures {numbers}", title, figures.draw_thresholds(points, names), told, signatures)


def training_figure(results: Results, number: str) -> Picture | Gap:
    """Figure 6 (pre-training) or 7 (fine-tuning)."""
    pretraining, plan = number == "6", results.plan
    histories = results.pretraining if pretraining else results.finetuning
    what, key = ("pre-training", "pretraining") if pretraining else ("fine-tuning", "finetuning")
    runs = plan.pretraining if pretraining else plan.finetuning
    title = f"Training loss during {what}"
    if not histories:
        return Gap(f"Figure {number}", title, f"the study names no runs (key {key}).")
    gold, scores = ("", {}) if pretraining else plain_scores(histories)
    if scores:
        title += f"; and F0.5 without λ, of the runs that were validated on {gold}"
    told = "; ".join(
        f"{name}: loss {history.updates[0]['loss']:.3f} at step {history.updates[0]['step']:,}, "
        f"{history.updates[-1]['loss']:.3f} at step {history.updates[-1]['step']:,}"
        for name, history in histories.items()
        if history.updates
    )
    drawn = figures.draw_training(histories, scores)
    signatures = {
        name: f"run:{Path(run).name}|{file_signature(Path(expand(run)) / LOG, 'log')}" for name, run in runs.items()
    }
    return Picture(f"figure-{number.zfill(2)}", f"Figure {number}", f"{title}.", drawn, told, signatures)


def plain_scores(histories: Mapping[str, History]) -> tuple[str, dict[str, figures.Curve]]:
    """F0.5 without a threshold by epochs; only of runs that were validated with the same gold, the most common one.

    A single run with a single value is nothing to draw.
    """
    by_gold: dict[str, dict[str, figures.Curve]] = {}
    for name, history in histories.items():
        rows = [(row["epoch"], row["validation"]) for row in history.validations]
        values = [found.get("grid", {}).get("0.0") for _, found in rows]
        if values and None not in values:
            signed = rows[0][1].get("signature", "")
            gold = next((part.removeprefix("gold:") for part in signed.split("|") if part.startswith("gold:")), "a set")
            by_gold.setdefault(gold, {})[name] = [epoch for epoch, _ in rows], values
    gold, scores = max(by_gold.items(), key=lambda pair: len(pair[1]), default=("", {}))
    return (gold, scores) if sum(len(values) for _, values in scores.values()) > 1 else ("", {})
