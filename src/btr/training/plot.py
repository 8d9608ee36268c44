"""Curves of a run: loss by step, and F0.5 on the validation set by epoch (the paper's figures 6 and 7)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from btr.corpus.files import PathLike, writing
from btr.training.records import WITHOUT_THRESHOLD, History, read_history

BLUE, ORANGE, GREY = (
    "#0072b2",
    "#d55e00",
    "#999999",
)  # Okabe and Ito's, for colour-blind readers too
WIDTH, HEIGHT = 3.6, 2.3  # inches, of each panel; at 360 pixels the text is 12 pixels high
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "btr",  # the same log, the same file
}
MAX_POINTS = 60  # of a line; more are averaged


def plot(run: PathLike) -> list[Path]:
    """Draw a run's curves into `curves.svg` and `curves.png` in its folder; return their paths."""
    history = read_history(run)
    panels = [draw for draw, rows in ((draw_loss, history.updates), (draw_scores, history.validations)) if rows]
    paths = [Path(run) / f"curves.{kind}" for kind in ("svg", "png")]
    with matplotlib.rc_context(STYLE):
        figure = Figure((WIDTH, HEIGHT * len(panels)), layout="constrained")
        for draw, axes in zip(panels, figure.subplots(len(panels), squeeze=False)[:, 0]):
            draw(axes, history)
        for path, dated in zip(paths, ({"Date": None}, None)):
            with writing(path) as file:
                figure.savefig(file.buffer, format=path.suffix[1:], dpi=200, metadata=dated)  # type: ignore[attr-defined]
    return paths


def draw_loss(axes: Axes, history: History) -> None:
    """Draw loss by step: of each update in grey, and means of neighbours if there are many."""
    steps = np.array([update.step for update in history.updates], float)
    losses = np.array([update.loss for update in history.updates], float)
    many = len(steps) > MAX_POINTS
    axes.plot(steps, losses, color=GREY if many else BLUE, linewidth=0.6 if many else 1.5, alpha=0.6 if many else 1)
    if many:
        axes.plot(*smooth(history), color=BLUE, linewidth=1.8)
    axes.set(xlabel="step", ylabel=loss_label([history]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def loss_label(histories: Iterable[History]) -> str:
    """Return the label of the axis of losses, with the units of all runs, each once."""
    units = dict.fromkeys(history.loss_per for history in histories if history.loss_per)
    return f"training loss\n(nats per {' or '.join(units)})" if units else "training loss"


def smooth(history: History) -> tuple[list[float], list[float]]:
    """Return a run's steps and losses; means of neighbours if there are many."""
    values = [(update.step, update.loss) for update in history.updates]
    means = [np.mean(part, 0) for part in np.array_split(np.array(values, float), min(MAX_POINTS, len(values)))]
    return [float(step) for step, _ in means], [float(loss) for _, loss in means]


def draw_scores(axes: Axes, history: History) -> None:
    """Draw F0.5 by epoch, with the best marked; for a reranker with the best threshold, and without one."""
    epochs = [validation.epoch for validation in history.validations]
    scores = [validation.measures.value for validation in history.validations]
    grids = [validation.measures.grid for validation in history.validations]
    axes.plot(epochs, scores, "o-", color=BLUE, linewidth=1.5, markersize=4, label="best λ")
    plain = [grid[WITHOUT_THRESHOLD] for grid in grids if WITHOUT_THRESHOLD in grid]
    if len(plain) == len(grids) and plain != scores:
        axes.plot(epochs, plain, "s--", color=ORANGE, linewidth=1.2, markersize=3.5, label="λ = 0")
        axes.legend(loc="best", ncols=2)
    if best := history.best:
        score, threshold = best.measures.value, best.measures.threshold
        axes.plot(best.epoch, score, "o", color=BLUE, markersize=9, fillstyle="none")
        note = "" if threshold is None else f", λ = {threshold:g}"
        axes.set_title(f"best: {score:.2f} at epoch {best.epoch:g}{note}", fontsize=9, loc="left")
    axes.set(xlabel="epoch", ylabel="F0.5 (%)")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=len(epochs) > 1))
    axes.margins(y=0.15)
