"""Commands for publishing results: study, export."""

from pathlib import Path
from typing import Annotated

import typer

from btr.cli.options import Json, app, show
from btr.errors import InputError
from btr.studies import BEA_SENTENCES


@app.command()
def study(
    plan: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The plan: sets, candidates and rerankers.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the report.")
    ] = None,
    beside: Annotated[
        str | None, typer.Option(metavar="paper", help="Put the paper's own values beside those that are comparable.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print every stage and what it would cost, and run nothing.")
    ] = False,
    devices: Annotated[int | None, typer.Option(min=1, help="For --dry-run: how many GPUs (default: 1).")] = None,
    flops_per_second: Annotated[
        float | None,
        typer.Option(help="For --dry-run: what a device does in practice (default: 2.4e13, the paper's A100s)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make every table and figure of the paper, as one report.

    Models that the plan trains are trained first. Candidates, scores and measures are computed once and stored in the
    folder. After an interruption, the same command continues where it stopped.

    \b
    btr study examples/study.yaml -o report
    btr study studies/paper.yaml --dry-run --devices 2
    btr study studies/paper.yaml -o paper-report --beside paper
    """
    import btr

    if dry_run:
        from btr.cli.costs import print_study_cost

        if output is not None or beside is not None:
            raise InputError("--dry-run writes no report; leave out --output and --beside.")
        show(btr.study_cost(plan, devices=devices or 1, flops_per_second=flops_per_second), as_json, print_study_cost)
        return
    if devices is not None or flops_per_second is not None:
        raise InputError("--devices and --flops-per-second are for --dry-run; the plan's launch starts several.")
    if output is None:
        raise InputError("name the folder for the report with --output, or say --dry-run.")
    from btr.cli.tables import print_study

    show(btr.study(plan, output, beside=beside), as_json, print_study)


@app.command()
def export(
    hypotheses: Annotated[
        list[Path], typer.Argument(metavar="HYP", help="Text, one sentence per line; several are joined.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.zip", help="The archive to write.")],
    bea: Annotated[bool, typer.Option("--bea", help="For the BEA-19 competition on CodaLab.")] = False,
    sentences: Annotated[int, typer.Option(min=1, help="How many sentences the test set has.")] = BEA_SENTENCES,
    as_json: Json = False,
) -> None:
    """Pack an output for a competition.

    \b
    btr export --bea corrected.txt -o submission.zip
    """
    if not bea:
        raise InputError("name the competition, e.g. btr export --bea corrected.txt -o submission.zip")
    import btr
    from btr.cli.tables import print_exported

    show(btr.export(hypotheses, output, sentences=sentences), as_json, print_exported)
