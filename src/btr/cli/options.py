"""What commands share: the application, options that several of them have, and how results are shown."""

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypeVar

import typer

from btr.errors import InputError
from btr.records import to_json

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def parse_fraction(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise typer.BadParameter(f"must be a number from 0 to 1, not {text}.")
    return number


Metric = Annotated[str, typer.Option(help="m2, errant, gleu, or a metric that another package has registered.")]
ReportMetric = Annotated[
    str | None,
    typer.Option(
        help="m2, errant, cleme (hit, wrong, under- and over-correction), gleu, unchanged (for clean text), one that "
        "another package has registered, or all: a report by every metric that the files allow.",
        show_default="the set's, or m2",
    ),
]
TestSet = Annotated[
    str | None,
    typer.Option("--set", metavar="NAME", help="A named test set instead of files; btr evaluate --list-sets has all."),
]
Clean = Annotated[Path | None, typer.Option(help="With --metric all: a text without errors, one sentence per line.")]
CleanOutput = Annotated[
    list[str] | None, typer.Option(help="With --clean: what the system made of that text; one for each system.")
]
Gold = Annotated[list[Path] | None, typer.Option(help="Gold M2 file; several form one corpus, one group per file.")]
Source = Annotated[Path | None, typer.Option(help="Sources, one per line (for gleu).")]
Reference = Annotated[list[Path] | None, typer.Option(help="References: text, or JSON lines; may be repeated.")]
Rank = Annotated[int | None, typer.Option(min=1, help="Rank of the candidates to score, from 1.")]
Mode = Annotated[str | None, typer.Option(help="For errant: correction (the default), detection or token-detection.")]
Beta = Annotated[float | None, typer.Option(help="Weight of recall in F, for m2 and errant (default: 0.5).")]
Resamples = Annotated[int, typer.Option(min=0, help="Bootstrap resamples for intervals; 0 for none.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Processes to count with; all cores by default.")]
Average = Annotated[str | None, typer.Option(help="How models of a kind are averaged: log, probability or f.")]
AtLeast = Annotated[
    bool | None, typer.Option("--at-least/--more-than", help="Accept a rise equal to the threshold, or only above it.")
]
DropRunaways = Annotated[
    bool | None,
    typer.Option(
        "--drop-runaways/--keep-runaways", help="Leave out candidates far longer than the source, or unfinished."
    ),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")]
Profile = Annotated[
    str,
    typer.Option(
        help="Settings by name: cautious (only what is sure), minimal (only what is wrong), fluency, or paper (the "
        "paper's method)."
    ),
]
OptionalProfile = Annotated[
    str | None, typer.Option(help="The settings by this name that stand beside the model, e.g. paper.")
]
Threshold = Annotated[
    float | None,
    typer.Option(
        parser=parse_fraction,
        metavar="FLOAT",
        help="How much f must rise above the base candidate's (default: the profile's, or 0).",
    ),
]
Written = Annotated[int | None, typer.Option(min=1, help="How many candidates are written (default: the profile's).")]
Top = Annotated[int | None, typer.Option(min=1, help="How many candidates are reranked (default: the profile's).")]
ScoredTop = Annotated[int | None, typer.Option(min=1, help="How many candidates are scored (default: all).")]
Gap = Annotated[
    float | None,
    typer.Option(min=0, help="Leave out candidates this much less log-probable than the base candidate."),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND=WEIGHT", help="What a kind of reranker counts, e.g. contrast=2; repeat for others."),
]
Base = Annotated[str, typer.Option(help="The base model: a folder, a shipped model or a hub id.")]
Reranker = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RERANKER",
        help="none, or as in btr score. Repeat the option to combine several rerankers.",
        show_default="the profile's, of btr-small",
    ),
]
ScoringReranker = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RERANKER",
        help="btr:MODEL, edit-btr:, contrast:, l2r:, r2l:, roberta:, bert:, lm:; base, mbr, vote. Repeat to combine.",
        show_default="the profile's, of btr-small",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


T = TypeVar("T")


def show(result: T, as_json: bool, table: "Callable[[T, Console], None]", file: TextIO | None = None) -> None:
    """Print a result: one JSON object for programs, or a table for people."""
    if is_first_process():  # of several, only the first prints
        if as_json:
            print(json.dumps(to_json(result), ensure_ascii=False, allow_nan=False), file=file)
        else:
            from rich.console import Console

            table(result, Console(file=file))


def say(line: str | None) -> None:
    """Print a line on standard error, if there is one."""
    if line is not None and is_first_process():
        print(line, file=sys.stderr)


def is_first_process() -> bool:
    """Return whether this process is the first of those that a launcher started, or the only one."""
    from btr.resume import Share  # here, since --help is printed without it

    return not Share.current().rank


Cutoff = Annotated[
    float | None,
    typer.Option(
        parser=parse_fraction,
        metavar="FLOAT",
        help="Decide edit by edit: make edits of at least this confidence, from 0 to 1.",
    ),
]
Judge = Annotated[
    str | None, typer.Option(metavar="JUDGE.json", help="The judge that decides edit by edit; tune adapts it.")
]
BaseEditsOnly = Annotated[
    bool | None, typer.Option("--base-edits-only", help="Edit by edit: only edits of the base candidate are made.")
]

Spelling = Annotated[
    bool | None,
    typer.Option("--spelling/--no-spelling", help="Edit by edit: offer similar words for unknown ones (the default)."),
]
Dictionary = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Words that are never changed, one per line; by default ~/.config/btr/words.txt."
    ),
]


def refuse_options(context: typer.Context, names: Sequence[str], why: str) -> None:
    """Refuse the first of some options that was given though it does not apply; `why` ends the sentence."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            raise InputError(f"{'/'.join((*option.opts, *option.secondary_opts))} {why}")


def parse_weights(pairs: Sequence[str] | None) -> dict[str, float] | None:
    """Return weights by kind from KIND=WEIGHT; None if there are none."""
    if not pairs:
        return None
    weights = {}
    for pair in pairs:
        kind, sign, value = pair.partition("=")
        try:
            weights[kind] = float(value)
        except ValueError:
            sign = ""
        if not sign or not kind:
            raise InputError(f"--weight takes KIND=WEIGHT, e.g. --weight contrast=2, not {pair!r}.")
    return weights
