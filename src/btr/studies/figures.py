"""The paper's figures: cross-entropy by position, probability by rank, what λ does, and training curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from btr.corpus.files import file_signature
from btr.studies import plots
from btr.studies.losses import LENGTHS
from btr.studies.plan import file_stem
from btr.studies.result_tables import describe_tops
from btr.studies.results import Results
from btr.studies.table import NotComputed
from btr.training.recipe import expand
from btr.training.records import LOG, WITHOUT_THRESHOLD, History

RANK_FIGURES = {"m2": "4", "errant": "12", "gleu": "15"}  # the paper's numbers, by metric; M2's for others
THRESHOLD_FIGURES = {"m2": "8 and 9", "errant": "10 and 11", "gleu": "13 and 14"}


@dataclass(frozen=True)
class ReportFigure:
    """A figure of the report, with the number that it has in the paper."""

    file_stem: str
    number: str
    title: str
    drawing: Figure
    description: str  # the same in words, for readers who cannot see the figure
    signatures: Mapping[str, str]


def losses_figure(results: Results) -> ReportFigure | NotComputed:
    """Draw figure 3."""
    plan = results.plan
    title = (
        f"Cross-entropy of the token y_j by its position j, mean over the gold targets of {plan.validation} with "
        f"{LENGTHS.start} to {LENGTHS.stop - 1} tokens"
    )
    if not results.losses:
        return NotComputed("Figure 3", title, "no reranker of this study gives each token a score, or no target fits.")
    curves = {name: (range(1, len(curve.values) + 1), curve.values) for name, curve in results.losses.items()}
    description = "; ".join(
        f"{name}: {curve.values[0]:.2f} at the first, {curve.values[-1]:.2f} at the last"
        for name, curve in results.losses.items()
    )
    gold = results.bases[plan.base, plan.validation].measures.signature
    signatures = {name: f"{gold} · {curve.signature}" for name, curve in results.losses.items()}
    drawing = plots.draw_lines(curves, "position j", "cross-entropy\n(nats per token)", markers=False)
    title += ". Masked models predict every token here, also those that score by contrast."
    if absent := [name for name in plan.rerankers if name not in results.losses]:
        title += f" Without a curve, since they score whole sentences: {', '.join(absent)}."
    return ReportFigure("figure-03", "Figure 3", title, drawing, description, signatures)


def ranks_figure(results: Results, dataset: str) -> ReportFigure:
    """Draw figure 4, 12 or 15."""
    plan, base = results.plan, results.plan.base
    probabilities = {
        name: results.reranked[name, base, dataset].measures.mean_probabilities
        for name in plan.rerankers
        if (name, base, dataset) in results.reranked
    }
    curves = {name: (range(1, len(values) + 1), values) for name, values in probabilities.items()}
    number = RANK_FIGURES.get(plan.sets[dataset].metric, RANK_FIGURES["m2"])
    tops = {name: len(values) for name, values in probabilities.items()}
    title = f"Mean probability f(y|x) of each rank on {dataset}, over {describe_tops(tops)} of {base}."
    description = "; ".join(
        f"{name}: " + ", ".join(f"{value:.2f}" for value in values) for name, values in probabilities.items()
    )
    signatures = {name: results.tuned_signature(base, dataset, name) for name in tops}
    drawing = plots.draw_lines(curves, "rank", "mean probability")
    stem = f"figure-{number.zfill(2)}-{file_stem(dataset)}"
    return ReportFigure(stem, f"Figure {number}", title, drawing, description, signatures)


def threshold_figure(results: Results, dataset: str, main: str) -> ReportFigure:
    """Draw figures 8 and 9, 10 and 11, or 13 and 14."""
    base = results.plan.base
    result = results.reranked[main, base, dataset]
    points, measures = result.measures.by_threshold, results.bases[base, dataset].measures
    others = {score: title for score, title in measures.columns.items() if score != measures.base.main}
    names = others or measures.columns  # e.g. precision and recall, of which F0.5 is made
    numbers = THRESHOLD_FIGURES.get(results.plan.sets[dataset].metric, THRESHOLD_FIGURES["m2"])
    title = (
        f"What λ does on {dataset}: {main} with {describe_tops({main: result.settings.top})} of {base}. Suggestions "
        "accepted, their scores beside the base model’s on the same sentences, and the scores of the whole set."
    )
    description = "; ".join(
        f"λ = {point.threshold:g}: {point.accepted_percent:.1f} % accepted, "
        + ", ".join(f"{name} {point.whole[score]:.2f}" for score, name in names.items())
        for point in points
    )
    signatures = {main: results.signature(base, dataset, main, result.settings)}
    stem = f"figure-{numbers.split()[0].zfill(2)}-{file_stem(dataset)}"
    drawing = plots.draw_thresholds(points, names)
    return ReportFigure(stem, f"Figures {numbers}", title, drawing, description, signatures)


def training_figure(results: Results, number: str) -> ReportFigure | NotComputed:
    """Draw figure 6 (pre-training) or 7 (fine-tuning)."""
    is_pretraining, plan = number == "6", results.plan
    histories = results.pretraining if is_pretraining else results.finetuning
    phase, key = ("pre-training", "pretraining") if is_pretraining else ("fine-tuning", "finetuning")
    runs = plan.pretraining if is_pretraining else plan.finetuning
    title = f"Training loss during {phase}"
    if not histories:
        return NotComputed(f"Figure {number}", title, f"the study names no runs (key {key}).")
    validated = None if is_pretraining else scores_without_threshold(histories)
    if validated:
        title += f"; and F0.5 without λ, of the runs that were validated on {validated.gold}"
    description = "; ".join(
        f"{name}: loss {history.updates[0].loss:.3f} at step {history.updates[0].step:,}, "
        f"{history.updates[-1].loss:.3f} at step {history.updates[-1].step:,}"
        for name, history in histories.items()
        if history.updates
    )
    drawing = plots.draw_training(histories, validated.curves if validated else {})
    signatures = {
        name: f"run:{Path(run).name}|{file_signature(Path(expand(run)) / LOG, 'log')}" for name, run in runs.items()
    }
    stem = f"figure-{number.zfill(2)}"
    return ReportFigure(stem, f"Figure {number}", f"{title}.", drawing, description, signatures)


@dataclass(frozen=True)
class ValidationCurves:
    """F0.5 by epoch of runs that were validated with the same gold."""

    gold: str
    curves: Mapping[str, plots.Curve]


def scores_without_threshold(histories: Mapping[str, History]) -> ValidationCurves | None:
    """Return F0.5 without a threshold by epoch, of the runs that were validated with the most common gold.

    A single run with a single value is nothing to draw.
    """
    by_gold: dict[str, dict[str, plots.Curve]] = {}
    for name, history in histories.items():
        rows = history.validations
        values = [row.measures.grid[WITHOUT_THRESHOLD] for row in rows if WITHOUT_THRESHOLD in row.measures.grid]
        if rows and len(values) == len(rows):
            parts = (rows[0].measures.signature or "").split("|")
            gold = next((part.removeprefix("gold:") for part in parts if part.startswith("gold:")), "a set")
            by_gold.setdefault(gold, {})[name] = [row.epoch for row in rows], values
    if not by_gold:
        return None
    gold, curves = max(by_gold.items(), key=lambda pair: len(pair[1]))
    is_drawable = sum(len(values) for _, values in curves.values()) > 1
    return ValidationCurves(gold, curves) if is_drawable else None
