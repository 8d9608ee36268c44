"""Commands for publishing results: study, export."""

from pathlib import Path
from typing import Annotated

import typer

from btr.cli.options import Json, app, show
from btr.errors import InputError
from btr.studies.export import BEA_SENTENCES


@app.command()
def study(
    plan: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The plan: sets, candidates and rerankers.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the report.")],
    as_json: Json = False,
) -> None:
    """Make every table and figure of the paper, as one report.

    Candidates, scores and measures are computed once and stored in the folder. After an interruption, the same
    command continues where it stopped.

    \b
    btr study examples/study.yaml -o report
    """
    import btr
    from btr.cli.tables import print_study

    show(btr.study(plan, output), as_json, print_study)


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
