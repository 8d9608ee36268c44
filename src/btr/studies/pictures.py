"""The paper's figures: cross-entropy by position, probability by rank, what λ does, and training curves."""

from dataclasses import dataclass

from matplotlib.figure import Figure

from btr.studies import figures
from btr.studies.results import Results
from btr.studies.sheets import Gap
from btr.studies.tables import slug
from btr.studies.work import LENGTHS

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
        return Gap("Figure 3", title, "no model of this study has losses by token: scores files have means only.")
    curves = {name: (range(1, len(curve) + 1), curve) for name, curve in results.losses.items()}
    told = "; ".join(
        f"{name}: {curve[0]:.2f} at the first, {curve[-1]:.2f} at the last" for name, curve in results.losses.items()
    )
    signatures = {
        name: results.signature(plan.base, plan.validation, name) for name in results.losses if name in plan.rerankers
    }
    drawn = figures.draw_lines(curves, "place j", "cross-entropy", markers=False)
    return Picture("figure-03", "Figure 3", f"{title}.", drawn, told, signatures)


def ranks_figure(results: Results, own: str) -> Picture:
    """Figures 4, 12 and 15."""
    plan, writer = results.plan, results.plan.base
    found = {
        name: results.reranked[name, writer, own] for name in plan.rerankers if (name, writer, own) in results.reranked
    }
    curves = {name: (range(1, len(told["ranks"]) + 1), told["ranks"]) for name, told in found.items()}
    number = f"Figure {BY_RANK[plan.sets[own].metric]}"
    size = max(len(told["ranks"]) for told in found.values())
    title = f"Mean probability f(y|x) of each rank on {own}, over the top {size} candidates of {writer}."
    told = "; ".join(f"{name}: " + ", ".join(f"{value:.2f}" for value in one["ranks"]) for name, one in found.items())
    signatures = {name: results.signature(writer, own, name, top=size) for name in found}
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
    pretraining = number == "6"
    histories = results.pretraining if pretraining else results.finetuning
    what, key = ("pre-training", "pretraining") if pretraining else ("fine-tuning", "finetuning")
    title = f"Training loss during {what}" if pretraining else f"Training loss and F0.5 without λ during {what}"
    if not histories:
        return Gap(f"Figure {number}", title, f"the study names no runs (key {key}).")
    told = "; ".join(
        f"{name}: loss {history.updates[0]['loss']:.3f} at step {history.updates[0]['step']:,}, "
        f"{history.updates[-1]['loss']:.3f} at step {history.updates[-1]['step']:,}"
        for name, history in histories.items()
        if history.updates
    )
    drawn = figures.draw_training(histories, not pretraining)
    return Picture(f"figure-{number.zfill(2)}", f"Figure {number}", f"{title}.", drawn, told, {})
