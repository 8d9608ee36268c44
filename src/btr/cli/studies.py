"""Commands for those who publish: study, export."""

from pathlib import Path
from typing import Annotated

import typer

from btr.cli.options import Json, app, show
from btr.errors import InputError
from btr.studies.export import BEA_SENTENCES


@app.command()
def study(
    plan: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="Sets, candidates and rerankers.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the report goes.")],
    as_json: Json = False,
) -> None:
    """Make every table and figure of the paper, as one report.

    Candidates, scores and measures that are missing are made, those that are there are used again. After an
    interruption the same command goes on where it was.

    \b
    btr study examples/study.yaml -o report
    """
    import btr
    from btr.tables import print_study

    show(btr.study(plan, output), as_json, print_study)


@app.command()
def export(
    hypotheses: Annotated[list[Path], typer.Argument(metavar="HYP", help="Text, a sentence a line; in order.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.zip", help="Where to.")],
    bea: Annotated[bool, typer.Option("--bea", help="For the BEA-19 competition on CodaLab.")] = False,
    sentences: Annotated[int, typer.Option(min=1, help="How many the set has.")] = BEA_SENTENCES,
    as_json: Json = False,
) -> None:
    """Pack an output for a competition.

    \b
    btr export --bea corrected.txt -o submission.zip
    """
    if not bea:
        raise InputError("say for which competition, e.g. btr export --bea corrected.txt -o submission.zip")
    import btr
    from btr.tables import print_exported

    show(btr.export(hypotheses, output, sentences=sentences), as_json, print_exported)
