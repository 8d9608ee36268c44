"""What `tune --edits`, `rerank --judge` and `combine` print."""

import re

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from btr.decisions.combine import Combined
from btr.decisions.judge import Judge
from btr.decisions.rerank_edits import RerankedEdits
from btr.decisions.tune_edits import TunedJudge, TunedSet
from btr.wording import count_of

FEATURES_IN_WORDS = {
    "posterior": "the base model finds the edit probable (log-odds)",
    "log_ratio": "the best candidate with it beats the best without it",
    "rank_posterior": "well-ranked candidates make it (log-odds)",
    "base": "the base candidate makes it",
    "length": "the sentence is long (logarithm)",
}
SYSTEM_FEATURE = re.compile(r"system_(\d+)_of_(\d+)")
OPERATIONS_IN_WORDS = {"M": "words are inserted", "R": "words are replaced", "U": "words are deleted"}
SHOWN_TYPES = 5  # the most and the least trusted


def print_tuned_judge(result: TunedJudge, console: Console) -> None:
    """Print what to expect of a judge, set by set, and its weights in words."""
    for each in result.sets:
        print_set(result, each, console)
    console.print(f"Cut-off for all sentences: [bold]{result.cutoff:g}[/bold] (folds: ", end="")
    console.print(", ".join(f"{value:g}" for value in result.fold_cutoffs) + f"); use it as --cutoff {result.cutoff:g}")
    print_weights(result.judges[0], console)


def print_set(result: TunedJudge, each: TunedSet, console: Console) -> None:
    low, high = each.interval
    console.print(
        f"[bold]{each.name}[/bold]: {count_of(each.sentences, 'sentence')}, {count_of(each.edits, 'edit')}",
        highlight=False,
    )
    console.print(
        f"  {each.base.title} {each.base.value:.2f} → [bold]{each.cross_validated.value:.2f}[/bold] cross-validated "
        f"({each.gain:+.2f}; 95 %: {low:+.2f} to {high:+.2f}, p = {each.p:.3f})",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("cut-off")
    for name in each.base.columns.values():
        table.add_column(name, justify="right")
    for cutoff, score in zip(result.cutoffs, each.curve):
        table.add_row(f"{cutoff:.2f}", *(f"{score.scores[name]:.2f}" for name in each.base.columns))
    console.print(table)
    auc = f", AUC {each.calibration.auc:.3f}" if each.calibration.auc is not None else ""
    console.print(f"  expected calibration error {each.calibration.error:.3f}{auc}", highlight=False)
    reliability = Table(box=None, pad_edge=False)
    for name in ("confidence", "edits", "mean", "right"):
        reliability.add_column(name, justify="right")
    for row in each.calibration.bins:
        reliability.add_row(
            f"{row.low:.1f}–{row.high:.1f}", f"{row.edits:,}", f"{row.confidence:.2f}", f"{row.right:.2f}"
        )
    console.print(reliability)


def print_weights(judge: Judge, console: Console) -> None:
    """Print the weights in words: how much each feature adds to the log-odds that an edit is right."""
    console.print("An edit is more likely right (+) or wrong (-), in log-odds per unit:")
    for name, weight in judge.features.items():
        words = FEATURES_IN_WORDS.get(name, f"{name} prefers the sentence with the edit (log-odds)")
        if match := SYSTEM_FEATURE.fullmatch(name):
            words = f"system {match[1]} of {match[2]} makes it"
        console.print(f"  {weight:+.2f}  if {words}", highlight=False)
    for name, weight in judge.operations.items():
        console.print(f"  {weight:+.2f}  if {OPERATIONS_IN_WORDS.get(name, name)}", highlight=False)
    ordered = sorted(judge.types.items(), key=lambda item: -item[1])
    shown = ordered if len(ordered) <= 2 * SHOWN_TYPES else [*ordered[:SHOWN_TYPES], *ordered[-SHOWN_TYPES:]]
    for name, weight in shown:
        console.print(f"  {weight:+.2f}  if its type is {name}", highlight=False)


def print_reranked_edits(result: RerankedEdits, console: Console) -> None:
    """Print how many edits were made, and the scores."""
    edits = [edit for sentence in result.sentences for edit in sentence.edits]
    made = sum(edit.made for edit in edits)
    console.print(
        f"{made:,} of {count_of(len(edits), 'edit')} made in {count_of(len(result.sentences), 'sentence')}",
        highlight=False,
    )
    if result.features:
        console.print(f"Features of the judge: {', '.join(result.features)}", highlight=False)
    if result.base is not None and result.reranked is not None:
        console.print(f"{result.base.title}: {result.base.value:.2f} → [bold]{result.reranked.value:.2f}[/bold]")
        console.print(result.reranked.signature, soft_wrap=True, highlight=False)
    console.print(result.signature, soft_wrap=True, highlight=False)


def print_combined(result: Combined, console: Console) -> None:
    """Print how many edits each system proposed, and how many of them were made."""
    table = Table(box=None, pad_edge=False)
    table.add_column(count_of(result.sentences, "sentence"))
    for name in ("edits", "made"):
        table.add_column(name, justify="right")
    for system in result.systems:
        unread = f" ({count_of(system.unread, 'sentence')} not read)" if system.unread else ""
        table.add_row(escape(system.file) + unread, f"{system.edits:,}", f"{system.made:,}")
    table.add_row("together", f"{result.edits:,}", f"{result.made:,}", style="bold")
    console.print(table)
    console.print(result.signature, soft_wrap=True, highlight=False)
