"""The command tune: settings and judges are fitted to a validation set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from btr.cli.options import (
    AtLeast,
    Average,
    BaseEditsOnly,
    DropRunaways,
    Gap,
    Gold,
    Json,
    Judge,
    Metric,
    Reference,
    Source,
    app,
    refuse_options,
    show,
)
from btr.errors import InputError
from btr.resume import check_output

SENTENCE_OPTIONS = "metric", "top", "step", "mix", "gap", "at_least", "drop_runaways", "average"


@app.command()
def tune(
    context: typer.Context,
    scores: Annotated[list[Path], typer.Argument(metavar="SCORES", help="Scores files, one per model.")],
    metric: Metric = "m2",
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    top: Annotated[list[int] | None, typer.Option(min=1, help="Candidates; 5, 10, 15, 20 by default.")] = None,
    step: Annotated[float, typer.Option(help="The step between the thresholds, from 0 to 1.")] = 0.1,
    mix: Annotated[bool, typer.Option("--mix", help="Also tune the weights of all files as one reranker.")] = False,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of the cross-validation: 10; with --edits 5.")] = None,
    gap: Gap = None,
    at_least: AtLeast = None,
    drop_runaways: DropRunaways = None,
    average: Average = None,
    edits: Annotated[
        bool, typer.Option("--edits", help="Fit a judge of edits: SCORES are edit tables, each with its own --gold.")
    ] = False,
    judge: Judge = None,
    base_edits_only: BaseEditsOnly = None,
    settled: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="With --edits: the last reranker is asked only where a judge without it has a confidence in between.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="JUDGE.json", help="With --edits: where the judge goes.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FIGURE", help="Draw the grids: .png, .svg or .pdf.")] = None,
    as_json: Json = False,
) -> None:
    """Find the best number of candidates and threshold on a validation set.

    Prints the whole grid, the best cell, and the cross-validated score: each fold is decided with the settings that are
    best on the others, so that the gain does not come from the tuning itself.

    \b
    btr tune scores.jsonl --gold dev.m2
    btr tune a5.jsonl a10.jsonl a20.jsonl --gold dev.m2 --plot grids.png
    btr tune contrast.jsonl base.jsonl --mix --gold dev.m2 --step 0.05
    btr tune --edits wi.jsonl fce.jsonl --gold wi.m2 --gold fce.m2 -o judge.json
    btr tune --edits mine.jsonl --gold mine.m2 --judge judge.json -o adapted.json
    """
    import btr
    from btr.cli.tables import print_tuned
    from btr.decisions.tune import TOPS

    if edits:
        refuse_options(context, SENTENCE_OPTIONS, "is for choosing among whole candidates; leave it out with --edits.")
        tune_judge(scores, output, gold, source, reference, judge, base_edits_only, folds, settled, plot, as_json)
        return
    refuse_options(
        context, ("output", "judge", "base_edits_only", "settled"), "is for edits; add --edits, or leave it out."
    )
    if plot is not None:
        check_output(plot, [*scores, *(gold or ()), *(reference or ())])
    result = btr.tune(
        scores,
        metric=metric,
        gold=gold or (),
        source=source,
        reference=reference or (),
        top=top or TOPS,
        step=step,
        mix=mix,
        folds=folds or 10,
        gap=gap,
        at_least=bool(at_least),
        drop_runaways=bool(drop_runaways),
        average=average or "log",
    )
    if plot is not None:
        try:
            from btr.studies.plots import draw_grids, save
        except ModuleNotFoundError as error:
            raise InputError(f"drawing needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
        save(draw_grids(result), plot)
    show(result, as_json, print_tuned)


def tune_judge(
    tables: Sequence[Path],
    output: Path | None,
    gold: Sequence[Path] | None,
    source: Path | None,
    reference: Sequence[Path] | None,
    judge: str | None,
    base_edits_only: bool | None,
    folds: int | None,
    settled: tuple[float, float] | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Do what `tune --edits` does."""
    import btr
    from btr.cli.judges import print_tuned_judge

    if plot is not None:
        check_output(plot, [*tables, *(gold or ()), *(reference or ()), *([output] if output else ())])
    result = btr.tune_edits(
        tables,
        output,
        gold=gold or (),
        source=source,
        reference=reference or (),
        judge=judge,
        base_edits_only=bool(base_edits_only),
        folds=folds or 5,
        settled=settled or (0.0, 1.0),
    )
    if plot is not None:
        try:
            from btr.studies.plots import draw_reliability, save
        except ModuleNotFoundError as error:
            raise InputError(f"drawing needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
        save(draw_reliability(result), plot)
    show(result, as_json, print_tuned_judge)
