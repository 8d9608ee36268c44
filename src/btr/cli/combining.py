"""The command that combines the outputs of several systems: combine."""

import sys
from typing import Annotated

import typer

from btr.cli.options import Json, Judge, Processes, app, parse_fraction, say, show
from btr.errors import InputError


@app.command()
def combine(
    systems: Annotated[
        list[str],
        typer.Argument(metavar="SYSTEM…", help="One file per system: one tokenised sentence per line."),
    ],
    source: Annotated[str, typer.Option(metavar="SOURCE", help="The sources: text, .m2 or .tsv file; - is stdin.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The combined text; - is stdout.")],
    votes: Annotated[
        int | None, typer.Option(help="How many systems must make an edit (default: more than half).")
    ] = None,
    judge: Judge = None,
    cutoff: Annotated[
        float | None,
        typer.Option(
            parser=parse_fraction,
            metavar="FLOAT",
            help="For --judge: make edits of at least this confidence (default: 0.4).",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(metavar="FILE.jsonl", help="Also write the outputs as candidates, to fit a judge on."),
    ] = None,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Combine the outputs of several systems edit by edit.

    An edit is made if enough systems make it, or if a judge is sure enough of it. Needs no model.

    \b
    btr combine a.txt b.txt c.txt --source source.txt -o combined.txt
    btr combine a.txt b.txt c.txt --source test.m2 --votes 3 -o combined.txt
    btr combine a.txt b.txt c.txt --source source.txt --judge judge.json --cutoff 0.5 -o combined.txt
    btr combine a.txt b.txt c.txt --source dev.m2 --candidates dev.jsonl -o combined.txt
    """
    import btr
    from btr.cli.judges import print_combined

    if as_json and output == "-":
        raise InputError("--json and -o - would both write to standard output; name a file.")
    result = btr.combine(
        systems,
        source,
        output,
        votes=votes,
        judge=judge,
        cutoff=cutoff,
        candidates=candidates,
        processes=processes,
    )
    say(result.note)
    show(result, as_json, print_combined, None if as_json else sys.stderr)
