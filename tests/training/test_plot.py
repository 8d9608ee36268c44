"""A run's log, and the curves that are drawn from it."""

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from btr.errors import InputError
from btr.studies.plots import draw_training
from btr.training import OBJECTIVES
from btr.training.plot import draw_loss, draw_scores, plot
from btr.training.records import History, Update, read_history

PNG = b"\x89PNG\r\n\x1a\n"
UPDATES: list[dict[str, Any]] = [
    {"step": 10, "epoch": 0.5, "loss": 2.0, "tokens_per_second": 950.0, "learning_rate": 0.0005},
    {"step": 20, "epoch": 1.0, "loss": 1.5, "tokens_per_second": 950.0, "learning_rate": 0.0005},
]
FIRST: dict[str, Any] = {"step": 20, "epoch": 1, "validation": {"f0.5": 38.0, "threshold": 0.4, "grid": {"0.0": 36.0}}}
SECOND: dict[str, Any] = {"step": 40, "epoch": 2, "validation": {"f0.5": 39.5, "threshold": 0.2, "grid": {"0.0": 39.0}}}


def logged(run: Path, *rows: dict[str, Any], end: str = "") -> Path:
    (run / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + end)
    return run


def logged_again(row: dict[str, Any]) -> dict[str, Any]:
    """A validation as the log of a run has it, with the score that chooses the best."""
    return {**row, "validation": {"value": row["validation"]["f0.5"], **row["validation"]}}


@pytest.mark.parametrize(
    ("rows", "panels"),
    [(UPDATES, 1), ([FIRST], 1), ([*UPDATES, FIRST, SECOND], 2)],
    ids=["updates", "validations", "both"],
)
def test_files(tmp_path: Path, rows: list[dict[str, Any]], panels: int) -> None:
    svg, png = plot(logged(tmp_path, *rows))
    assert (svg, png) == (tmp_path / "curves.svg", tmp_path / "curves.png")
    content = png.read_bytes()
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    assert content.startswith(PNG)
    assert (width, height) == (720, 460 * panels)  # twice what it is made for
    text = svg.read_text()
    assert ("training loss" in text) == (rows[0] is UPDATES[0])
    assert ("F0.5 (%)" in text) == (rows[-1] in (FIRST, SECOND))


def test_the_same_log_gives_the_same_files(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in plot(logged(tmp_path, *UPDATES, FIRST))]
    assert [path.read_bytes() for path in plot(tmp_path)] == before


def test_what_is_drawn(tmp_path: Path) -> None:
    history = read_history(logged(tmp_path, *UPDATES, FIRST, SECOND))
    loss, scores = Figure().subplots(2)
    draw_loss(loss, history)
    draw_scores(scores, history)
    (line,) = loss.lines
    assert line.get_xydata().tolist() == [[10, 2.0], [20, 1.5]]
    best, plain, mark = scores.lines
    assert best.get_xydata().tolist() == [[1, 38.0], [2, 39.5]]
    assert plain.get_xydata().tolist() == [[1, 36.0], [2, 39.0]]
    assert mark.get_xydata().tolist() == [[2, 39.5]]
    assert scores.get_title("left") == "best: 39.50 at epoch 2, λ = 0.2"


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("seq2seq", "token"),
        ("r2l", "token"),
        ("btr", "masked token"),
        ("roberta", "masked token"),
        ("listwise", "source"),
        ("bert", "sentence"),
    ],
)
def test_losses_have_their_unit(tmp_path: Path, kind: str, unit: str) -> None:
    """It is what the loop divides by: the count of a batch, in the tests of objectives."""
    (tmp_path / "recipe.yaml").write_text(f"kind: {kind}\n")
    svg, _ = plot(logged(tmp_path, *UPDATES))
    assert f"(nats per {unit})" in svg.read_text()
    assert OBJECTIVES[kind].loss_per == read_history(tmp_path).loss_per == unit


def test_the_unit_of_a_run_that_has_none_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("kind: of-a-package-that-is-gone\n")
    assert read_history(logged(tmp_path, *UPDATES)).loss_per is None


def test_runs_of_several_kinds_name_each_unit_once() -> None:
    """The study's figures 6 and 7."""
    updates = [Update(1, 2.0), Update(2, 1.0)]
    units = "token", "masked token", "masked token", None
    histories = {str(k): History(updates, [], unit) for k, unit in enumerate(units)}
    (axes,) = draw_training(histories, {}).axes
    assert axes.get_ylabel() == "training loss\n(nats per token or masked token)"


def test_a_reranker_without_a_threshold_has_one_line(tmp_path: Path) -> None:
    row = {"step": 5, "epoch": 1, "validation": {"f0.5": 38.28, "threshold": 0.0, "grid": {"0.0": 38.28, "0.5": 40}}}
    axes = Figure().subplots()
    draw_scores(axes, read_history(logged(tmp_path, row)))
    assert len(axes.lines) == 2  # the score, and the mark of the best
    assert axes.get_title("left") == "best: 38.28 at epoch 1, λ = 0"


def test_many_updates_get_a_smooth_line(tmp_path: Path) -> None:
    """The mean of each two neighbours, of 120."""
    rows = [{"step": step, "loss": step % 2} for step in range(1, 121)]
    axes = Figure().subplots()
    draw_loss(axes, read_history(logged(tmp_path, *rows)))
    single, smooth = axes.lines
    assert len(single.get_xydata()) == 120
    assert smooth.get_xydata().tolist() == [[step + 0.5, 0.5] for step in range(1, 120, 2)]


def test_a_seq2seq_model_has_no_thresholds(tmp_path: Path) -> None:
    axes = Figure().subplots()
    draw_scores(axes, read_history(logged(tmp_path, {"step": 5, "epoch": 1, "validation": {"f0.5": 38.28}})))
    assert len(axes.lines) == 2
    assert axes.get_legend() is None
    assert axes.get_title("left") == "best: 38.28 at epoch 1"


def test_the_best_is_the_first_of_equals(tmp_path: Path) -> None:
    again = {"step": 60, "epoch": 3, "validation": {"f0.5": 39.5}}
    assert read_history(logged(tmp_path, FIRST, SECOND, again)).best.to_dict() == logged_again(SECOND)
    assert read_history(logged(tmp_path, *UPDATES)).best is None


def test_a_resumed_run_has_steps_twice(tmp_path: Path) -> None:
    later = {**UPDATES[1], "loss": 1.25}
    other = {"event": "resumed", "step": 10}
    history = read_history(logged(tmp_path, *UPDATES, FIRST, other, later, FIRST, SECOND))
    assert history.updates == [Update(**UPDATES[0]), Update(**later)]
    assert [row.to_dict() for row in history.validations] == [logged_again(FIRST), logged_again(SECOND)]


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    assert read_history(logged(tmp_path, *UPDATES, end='{"step": 30, "lo')).updates == [
        Update(**row) for row in UPDATES
    ]


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (None, r": has no log\.jsonl; name the folder that btr train wrote\.$"),
        ("", r"log\.jsonl: has no update yet; wait for the run's first\.$"),
        ('{"event": "start"}\n', r"log\.jsonl: has no update yet; wait for the run's first\.$"),
        ('{"step": 1, "loss"\n{"step": 2, "loss": 1}\n', r"log\.jsonl, line 1: not JSON \(.*\)\.$"),
        ('[1]\n{"step": 2, "loss": 1}\n', r"log\.jsonl, line 1: expected a JSON object, found list\.$"),
        ('{"step": 2, "validation": {"f0.5": 1}}\n', r", line 1: a validation needs step, epoch and f0\.5\.$"),
        ('{"step": 2, "epoch": 1, "validation": {}}\n', r", line 1: a validation needs step, epoch and f0\.5\.$"),
    ],
)
def test_what_cant_be_drawn(tmp_path: Path, log: str | None, message: str) -> None:
    if log is not None:
        (tmp_path / "log.jsonl").write_text(log)
    with pytest.raises(InputError, match=message):
        plot(tmp_path)
    assert not list(tmp_path.glob("curves.*"))
