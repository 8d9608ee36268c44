"""What training costs, as a table for people."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from btr.cli.tables import make_table
from btr.wording import count_of

if TYPE_CHECKING:  # needs torch
    from btr.studies.study_cost import StudyCost
    from btr.training.cost import StageCost, TrainingCost

ROWS: "dict[str, Callable[[StageCost], str]]" = {
    "parameters": lambda stage: f"{stage.parameters:,}",
    "of them trained": lambda stage: f"{stage.trained:,}",
    "pairs per epoch": lambda stage: f"{stage.pairs:,}",
    "targets per epoch": lambda stage: f"{stage.targets:,}",
    "epochs": lambda stage: f"{stage.epochs:.4g}",
    "updates": lambda stage: f"{stage.updates:,}",
    "tokens": lambda stage: f"{stage.tokens:,}",
    "FLOPs": lambda stage: f"{stage.flops.total:.3g}",
    "GB per device": lambda stage: gigabytes(stage.memory.total),
    "  weights": lambda stage: gigabytes(stage.memory.weights),
    "  gradients": lambda stage: gigabytes(stage.memory.gradients),
    "  optimizer": lambda stage: gigabytes(stage.memory.optimizer),
    "  activations (about)": lambda stage: gigabytes(stage.memory.activations),
    "hours": lambda stage: hours(stage.hours),
}


def print_cost(cost: "TrainingCost", console: Console) -> None:
    """Print one column per stage, and what the hours were worked out with."""
    table = make_table("", [escape(stage.recipe) for stage in cost.stages])
    for label, cell in ROWS.items():
        table.add_row(label, *map(cell, cost.stages))
    console.print(table)
    devices = count_of(cost.devices, "device")
    total = f", {hours(cost.hours)} in all" if len(cost.stages) > 1 else ""
    console.print(f"Hours on {devices} of {cost.flops_per_second:.2g} FLOP/s each{total}.", soft_wrap=True)
    if expected := [stage.recipe for stage in cost.stages if stage.data == "expected"]:
        names = ", ".join(expected)
        console.print(f"Not read but counted by 'expected' in the recipe, without padding: {names}.", soft_wrap=True)
    console.print("Validation and the generation of candidates are not included.", soft_wrap=True)


def print_study_cost(cost: "StudyCost", console: Console) -> None:
    """Print one line per stage, the sum of each kind, and what the hours were worked out with."""
    table = make_table("", ["sentences", "tokens", "FLOPs", "hours"])
    for stage in cost.stages:
        done = " (done)" if stage.is_done else ""
        numbers = [f"{stage.sentences:,}", f"{stage.tokens:,}", f"{stage.flops:.3g}", hours(stage.hours)]
        table.add_row(f"{stage.stage}: {escape(stage.what)}{done}", *(numbers if stage.sentences else ["–"] * 4))
    console.print(table)
    left = [stage for stage in cost.stages if not stage.is_done]
    for kind in dict.fromkeys(stage.stage for stage in left if stage.sentences):
        own = [stage for stage in left if stage.stage == kind]
        total = hours(sum(stage.hours for stage in own))
        console.print(f"{kind}: {count_of(len(own), 'stage')}, hours: {total}", highlight=False)
    devices = count_of(cost.devices, "device")
    rate = f"{cost.flops_per_second:.2g} FLOP/s"
    console.print(f"Hours on {devices} of {rate} each: {hours(cost.hours)} in all.", soft_wrap=True)
    console.print(
        "Where the number of candidates is still to be tuned, the first is counted. Validation is not included; beam "
        "search runs at a lower rate than training.",
        soft_wrap=True,
    )


def gigabytes(number: int) -> str:
    """Return bytes as gigabytes."""
    return f"{number / 1e9:.1f}" if number >= 1e8 else f"{number / 1e9:.3f}"


def hours(number: float) -> str:
    """Return hours, and days where there are many."""
    if number < 1:
        return f"{number:.2g}"
    return f"{number:,.1f}" if number < 72 else f"{number:,.1f} ({number / 24:.1f} days)"
