"""What commands share: the application, options that several of them have, and how results are shown."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from btr.correction import RERANKER
from btr.resume import Share

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Metric = Annotated[str, typer.Option(help="m2, errant or gleu.")]
Gold = Annotated[list[Path] | None, typer.Option(help="Gold M2 file; several are one corpus, each a group.")]
Source = Annotated[Path | None, typer.Option(help="Sources, one a line (for gleu).")]
Reference = Annotated[list[Path] | None, typer.Option(help="References: text, or JSON lines; may be repeated.")]
Rank = Annotated[int | None, typer.Option(min=1, help="Which of the candidates, from 1.")]
Mode = Annotated[str, typer.Option(help="For errant: correction, detection or token-detection.")]
Beta = Annotated[float, typer.Option(help="Weight of recall in F.")]
Resamples = Annotated[int, typer.Option(min=0, help="Bootstrap resamples for intervals; 0 for none.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Processes to count with; all cores by default.")]
Average = Annotated[str, typer.Option(help="Space in which models of a kind are averaged: log, probability or f.")]
AtLeast = Annotated[bool, typer.Option("--at-least", help="Accept at the threshold, not only above it.")]
DropRunaways = Annotated[
    bool,
    typer.Option(
        "--drop-runaways", help="Leave out candidates, but not the first, of over twice the source's words plus ten."
    ),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")]
Profile = Annotated[str, typer.Option(help="minimal (only what is wrong) or fluency.")]
Threshold = Annotated[float | None, typer.Option(help="How much f must rise; the profile's by default.")]
Written = Annotated[int | None, typer.Option(min=1, help="Candidates written; the profile's by default.")]
Top = Annotated[int | None, typer.Option(min=1, help="Of them, those that take part; also the profile's.")]
Base = Annotated[str, typer.Option(help="The base model: a folder, a shipped model or a hub id.")]
Reranker = Annotated[
    list[str] | None,
    typer.Option(metavar="RERANKER", help="none, or as in btr score; repeatable.", show_default=" and ".join(RERANKER)),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def show(
    result: Mapping[str, Any],
    as_json: bool,
    table: Callable[[Mapping[str, Any], Console], None],
    file: TextIO | None = None,
) -> None:
    """Print a result: one JSON object for programs, or a table for people."""
    if not Share.current().rank:  # of several processes, one speaks
        if as_json:
            print(json.dumps(result, ensure_ascii=False, allow_nan=False), file=file)
        else:
            table(result, Console(file=file))
