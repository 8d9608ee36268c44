"""Figures of a study, in colours that colour-blind people can tell apart, legible at 360 pixels and on paper."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from btr.corpus.files import PathLike, writing
from btr.decisions.tune import Tuned, TunedModel
from btr.decisions.tune_edits import TunedJudge
from btr.errors import InputError
from btr.studies.records import ThresholdPoint
from btr.training.plot import BLUE, GREY, HEIGHT, ORANGE, STYLE, WIDTH, loss_label, smooth
from btr.training.records import History

Curve = tuple[Sequence[float], Sequence[float]]

KINDS = "png", "svg", "pdf"
DIVERGING = "PuOr"  # orange is worse than the base model, purple better
MAX_LABELLED_COLUMNS = 11  # up to so many, each cell shows its value
COLOURS = BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"  # of Okabe and Ito
DASHES = "-", "--", "-.", ":"
MARKERS = "osD^vPX"


def save(figure: Figure, path: PathLike) -> None:
    """Write a figure in the format that the file's name ends in."""
    kind = Path(path).suffix[1:].lower()
    if kind not in KINDS:
        raise InputError(f"{path}: a figure's name ends in one of {', '.join('.' + known for known in KINDS)}.")
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same data, the same file
    with matplotlib.rc_context(STYLE), writing(path) as file:
        figure.savefig(file.buffer, format=kind, dpi=200, metadata=dated.get(kind))  # type: ignore[attr-defined]


def draw_grids(tuned: Tuned) -> Figure:
    """Draw the score by number of candidates and threshold, one map per model; grey where it equals the base score."""
    base = tuned.base.value
    largest = max(1e-9, *(abs(value - base) for model in tuned.models for row in model.grid for value in row))
    heights = [len(model.tops) for model in tuned.models]
    scale, colours = TwoSlopeNorm(0, -largest, largest), matplotlib.colormaps[DIVERGING]
    with matplotlib.rc_context(STYLE):
        figure = Figure((WIDTH, sum(0.28 * count + 0.75 for count in heights)), layout="constrained")
        panels = figure.subplots(len(heights), squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for axes, model in zip(panels, tuned.models):
            draw_grid(axes, model, tuned.thresholds, base, scale, colours)
    return figure


def draw_grid(
    axes: Axes, model: TunedModel, thresholds: Sequence[float], base: float, scale: TwoSlopeNorm, colours: Colormap
) -> None:
    """Draw one model's map."""
    values = np.array(model.grid)
    shown = np.ma.masked_where(~np.array(model.changed), values - base)
    axes.set_facecolor("#e5e5e5")
    axes.imshow(shown, cmap=colours, norm=scale, aspect="auto")
    if len(thresholds) <= MAX_LABELLED_COLUMNS:
        for (k, n), value in np.ndenumerate(values):
            ink = "k" if np.ma.is_masked(shown[k, n]) else ink_on(colours(scale(value - base)))
            axes.text(n, k, f"{value:.1f}", ha="center", va="center", fontsize=6.5, color=ink)
    best = thresholds.index(model.best.threshold), model.tops.index(model.best.top or 0)
    axes.plot(*best, "s", markersize=16, fillstyle="none", color="k", markeredgewidth=1.2)
    ticks = range(0, len(thresholds), max(1, round(len(thresholds) / 11)))
    axes.set_xticks(ticks, [f"{thresholds[k]:g}" for k in ticks])
    axes.set_yticks(range(len(model.tops)), [str(top) for top in model.tops])
    axes.set(xlabel="λ", ylabel="candidates")
    title = f"{model.scores}: base {base:.2f}, best {model.best_score.value:.2f}"
    axes.set_title(title, fontsize=8, loc="left")


def ink_on(colour: Sequence[float]) -> str:
    """Return black or white, whichever has more contrast."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "k" if luminance > 0.179 else "w"


def draw_lines(curves: Mapping[str, Curve], x: str, y: str, markers: bool = True) -> Figure:
    """Draw one line per name, which differ in colour, dashes and markers; the legend stands below."""
    rows = (len(curves) + 1) // 2
    with matplotlib.rc_context(STYLE):
        figure = Figure((WIDTH, HEIGHT + 0.2 * rows + 0.1), layout="constrained")
        axes = figure.subplots()
        plot_lines(axes, curves, markers)
        axes.set(xlabel=x, ylabel=y)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def plot_lines(axes: Axes, curves: Mapping[str, Curve], markers: bool = True) -> None:
    """Add lines to the axes."""
    for (name, (xs, ys)), colour, dash, marker in zip(curves.items(), cycle(COLOURS), cycle(DASHES), cycle(MARKERS)):
        axes.plot(xs, ys, dash, marker=marker if markers else "", color=colour, linewidth=1.5, markersize=4, label=name)


def draw_thresholds(points: Sequence[ThresholdPoint], names: Mapping[str, str]) -> Figure:
    """Draw figures 8 to 14: by λ, the accepted share, the scores of the accepted before and after, and of the set.

    `names` are the scores to draw, each with its name in the legend; without gold there are none.
    """
    thresholds = [point.threshold for point in points]
    accepting = [point for point in points if point.after]
    at = [point.threshold for point in accepting]
    with matplotlib.rc_context(STYLE):
        figure = Figure((WIDTH, 1.2 * (3 + len(names)) + 0.6), layout="constrained")
        if not names:  # there is no gold
            share = figure.subplots()
            share.bar(thresholds, [point.accepted_percent for point in points], width=0.07, color=GREY)
            share.set(xlabel="λ", ylabel="accepted (%)", xticks=thresholds[::2])
            return figure
        share, accepted, *whole = figure.subplots(2 + len(names), sharex=True, height_ratios=[1, 2, *[1] * len(names)])
        share.bar(thresholds, [point.accepted_percent for point in points], width=0.07, color=GREY)
        share.set(ylabel="accepted (%)")
        for axes, (score, name), colour, marker in zip(whole, names.items(), COLOURS, MARKERS):
            style: Any = {"color": colour, "marker": marker, "linewidth": 1.5, "markersize": 4}
            suggested, base = (
                [scores[score] for scores in sides if scores]
                for sides in ([point.after for point in accepting], [point.before for point in accepting])
            )
            accepted.plot(at, suggested, "-", fillstyle="full", label=f"{name}, suggested", **style)
            accepted.plot(at, base, "--", fillstyle="none", label=f"{name}, base", **style)
            axes.plot(thresholds, [point.whole[score] for point in points], **style)
            axes.set(ylabel=f"{name},\nwhole set (%)")
            axes.margins(y=0.2)
        accepted.set(ylabel="of the accepted (%)")
        accepted.margins(y=0.25)
        low, high = accepted.get_ylim()
        accepted.set_ylim(max(low, -5), min(high, 105))
        whole[-1].set(xlabel="λ", xticks=thresholds[::2])
        if accepting:
            figure.legend(*accepted.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    return figure


def draw_training(histories: Mapping[str, History], scores: Mapping[str, Curve]) -> Figure:
    """Draw figures 6 and 7: training loss by steps; and scores by epochs, where there are any."""
    losses: dict[str, Curve] = {name: smooth(history) for name, history in histories.items() if history.updates}
    panels: list[tuple[str, str, Mapping[str, Curve]]] = [("step", loss_label(histories.values()), losses)]
    if scores:
        panels.append(("epoch", "F0.5 without λ (%)", scores))
    with matplotlib.rc_context(STYLE):
        height = HEIGHT * len(panels) + 0.2 * ((len(histories) + 1) // 2) + 0.1
        figure = Figure((WIDTH, height), layout="constrained")
        for axes, (x, y, curves) in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels):
            plot_lines(axes, {name: curves.get(name, ([], [])) for name in histories}, markers=x == "epoch")
            axes.set(xlabel=x, ylabel=y)
            axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
            if x == "step":
                axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


def draw_reliability(tuned: TunedJudge) -> Figure:
    """Draw the reliability diagram of a judge: the share of right edits by confidence, a panel per set."""
    with matplotlib.rc_context(STYLE):
        figure = Figure((WIDTH, HEIGHT * len(tuned.sets)), layout="constrained")
        for axes, each in zip(figure.subplots(len(tuned.sets), sharex=True, squeeze=False)[:, 0], tuned.sets):
            bins = each.calibration.bins
            largest = max((row.edits for row in bins), default=1)  # a set may have no edits
            axes.bar(
                [(row.low + row.high) / 2 for row in bins], [row.edits / largest for row in bins], width=0.09,
                color=GREY, alpha=0.5, label="edits (share of the fullest tenth)",
            )  # fmt: skip
            axes.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1, label="as sure as it is right")
            style: Any = {"color": COLOURS[0], "marker": MARKERS[0], "linewidth": 1.5, "markersize": 4}
            axes.plot([row.confidence for row in bins], [row.right for row in bins], label="the judge", **style)
            axes.set(ylabel="right", title=f"{each.name}: expected calibration error {each.calibration.error:.3f}")
        axes.set(xlabel="confidence")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=1, fontsize=8)
    return figure
