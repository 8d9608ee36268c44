"""Commands that need no model: evaluate, compare, clean."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from btr.cli.options import (
    Beta,
    Clean,
    CleanOutput,
    Gold,
    Json,
    Mode,
    Processes,
    Rank,
    Reference,
    ReportMetric,
    Resamples,
    Source,
    TestSet,
    app,
    refuse_options,
    say,
    show,
)
from btr.errors import InputError
from btr.wording import count_of

ALL = "all"  # for --metric: a report
ONLY_IN_REPORTS = "is for a report; add --metric all, or score the output of a clean text with --metric unchanged."


@app.command()
def evaluate(
    context: typer.Context,
    hypotheses: Annotated[
        list[str] | None,
        typer.Argument(metavar="HYP", help="Text, a candidates file, or one text file per rank; - is stdin."),
    ] = None,
    metric: ReportMetric = None,
    test_set: TestSet = None,
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    rank: Rank = None,
    oracle: Annotated[bool, typer.Option("--oracle", help="Score the best choice among the candidates.")] = False,
    by: Annotated[list[str] | None, typer.Option(help="Break down by group, operation or type; repeatable.")] = None,
    groups: Annotated[Path | None, typer.Option(help="File with the group of each sentence, one per line.")] = None,
    clean: Clean = None,
    clean_output: CleanOutput = None,
    mode: Mode = None,
    beta: Beta = None,
    resamples: Resamples = 1000,
    processes: Processes = None,
    list_sets: Annotated[bool, typer.Option("--list-sets", help="Print the named test sets, and end.")] = False,
    as_json: Json = False,
) -> None:
    """Score hypotheses with M2, ERRANT, GLEU or a registered metric.

    \b
    btr evaluate out.txt --metric m2 --gold test.m2
    btr evaluate out.txt --set bea19-dev
    btr evaluate out.txt --metric errant --gold A.m2 --gold B.m2 --by operation --by group
    btr evaluate out.txt --metric gleu --source in.txt --reference r0.txt --reference r1.txt
    btr evaluate out.txt --metric all --gold test.m2 --clean clean.txt --clean-output clean-out.txt
    btr evaluate candidates.jsonl --rank 2 --gold test.m2
    btr evaluate candidates.jsonl --oracle --reference ref.txt --gold test.m2 --json
    """
    import btr
    from btr.cli.reports import print_set_list
    from btr.cli.tables import print_evaluation

    if list_sets:
        show(btr.list_sets(), as_json, print_set_list)
        return
    if not hypotheses:
        raise InputError("Missing argument 'HYP'; see 'btr evaluate --help'.")
    check_metric(metric)
    if metric == ALL:
        refuse_options(context, ("oracle", "by", "groups"), "is for a single metric; leave it out with --metric all.")
        if len(hypotheses) > 1:
            raise InputError("--metric all takes one output here; 'btr compare' takes those of several systems.")
        report(hypotheses, test_set, gold, source, reference, clean, clean_output, rank, mode, beta, resamples,
               processes, as_json)  # fmt: skip
        return
    refuse_options(context, ("clean", "clean_output"), ONLY_IN_REPORTS)
    result = btr.evaluate(
        hypotheses,
        metric=metric,
        test_set=test_set,
        gold=gold,
        source=source,
        reference=reference,
        rank=rank,
        oracle=oracle,
        by=by or (),
        groups=groups,
        mode=mode,
        beta=beta,
        resamples=resamples,
        processes=processes,
    )
    show(result, as_json, print_evaluation)


@app.command()
def compare(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="HYP_A", help="One system's output: text or candidates.")],
    others: Annotated[list[str], typer.Argument(metavar="HYP_B", help="Other systems' outputs, for the same sources.")],
    metric: ReportMetric = None,
    test_set: TestSet = None,
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    rank: Rank = None,
    clean: Clean = None,
    clean_output: CleanOutput = None,
    mode: Mode = None,
    beta: Beta = None,
    resamples: Annotated[int, typer.Option(min=1, help="Resamples of the bootstrap and the randomisation.")] = 1000,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Compare the scores of two or more outputs with the first, and test whether the differences are significant.

    \b
    btr compare base.txt reranked.txt --metric m2 --gold test.m2
    btr compare base.txt a.txt b.txt c.txt --set conll14
    btr compare base.txt a.txt b.txt --metric all --gold test.m2
    btr compare a.txt b.txt --metric gleu --source in.txt --reference r0.txt --reference r1.txt
    """
    import btr
    from btr.cli.reports import print_systems
    from btr.cli.tables import print_comparison

    check_metric(metric)
    if metric == ALL:
        report([first, *others], test_set, gold, source, reference, clean, clean_output, rank, mode, beta, resamples,
               processes, as_json)  # fmt: skip
        return
    refuse_options(context, ("clean", "clean_output"), ONLY_IN_REPORTS)
    result = btr.compare(
        first,
        *others,
        metric=metric,
        test_set=test_set,
        gold=gold,
        source=source,
        reference=reference,
        rank=rank,
        mode=mode,
        beta=beta,
        resamples=resamples,
        processes=processes,
    )
    show(result, as_json, print_comparison if len(others) == 1 else print_systems)


def check_metric(metric: str | None) -> None:
    """Refuse an unknown metric before any file is read."""
    from btr.metrics import METRICS
    from btr.registry import unknown_name

    if metric is not None and metric != ALL and metric not in METRICS:
        raise unknown_name("--metric", metric, [*METRICS.names(), ALL])


def report(
    systems: Sequence[str],
    test_set: str | None,
    gold: Sequence[Path] | None,
    source: Path | None,
    reference: Sequence[Path] | None,
    clean: Path | None,
    clean_output: Sequence[str] | None,
    rank: int | None,
    mode: str | None,
    beta: float | None,
    resamples: int,
    processes: int | None,
    as_json: bool,
) -> None:
    """Do what `--metric all` does."""
    import btr
    from btr.cli.reports import print_report

    result = btr.report(
        systems,
        test_set=test_set,
        gold=gold,
        source=source,
        reference=reference,
        clean=clean,
        clean_output=clean_output,
        rank=rank,
        mode=mode,
        beta=beta,
        resamples=resamples,
        processes=processes,
    )
    show(result, as_json, print_report)


@app.command()
def clean(
    path: Annotated[str, typer.Argument(metavar="IN.m2", help="An M2 file; - is stdin.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT.m2", help="The cleaned file; - is stdout.")],
) -> None:
    """Clean a CoNLL M2 file as the paper does.

    Puts spaces around punctuation, splits lines at full stops, and moves the edits along.

    \b
    btr clean official-2014.combined.m2 -o cleaned.m2
    """
    import btr

    written = btr.clean(path, output)
    say(f"{count_of(written, 'sentence')} written to {output}")
