"""The command line: each verb is a function of the same name.

Results go to standard output (a table, or one JSON object with --json), everything else to standard error. Bad input
ends with one sentence and exit code 2.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.exceptions import TyperException

from btr import __version__
from btr.errors import InputError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = 128 + signal.SIGINT

Metric = Annotated[str, typer.Option(help="m2, errant or gleu.")]
Gold = Annotated[list[Path] | None, typer.Option(help="Gold M2 file; several are one corpus, each a group.")]
Source = Annotated[Path | None, typer.Option(help="Sources, one a line (for gleu).")]
Reference = Annotated[list[Path] | None, typer.Option(help="References: text, or JSON lines; may be repeated.")]
Rank = Annotated[int | None, typer.Option(min=1, help="Which of the candidates, from 1.")]
Mode = Annotated[str, typer.Option(help="For errant: correction, detection or token-detection.")]
Beta = Annotated[float, typer.Option(help="Weight of recall in F.")]
Resamples = Annotated[int, typer.Option(min=0, help="Bootstrap resamples for intervals; 0 for none.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Processes to count with; all cores by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Grammatical error correction: rerank candidates, and score them exactly."""
    if version:
        print(f"btr {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def evaluate(
    hypotheses: Annotated[
        list[str], typer.Argument(metavar="HYP", help="Text, a candidates file, or one text file a rank; - is stdin.")
    ],
    metric: Metric = "m2",
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    rank: Rank = None,
    oracle: Annotated[bool, typer.Option("--oracle", help="Score the best that the candidates allow.")] = False,
    by: Annotated[list[str] | None, typer.Option(help="Break down by group, operation or type; repeatable.")] = None,
    groups: Annotated[Path | None, typer.Option(help="A group's label for each sentence, one a line.")] = None,
    mode: Mode = "correction",
    beta: Beta = 0.5,
    resamples: Resamples = 1000,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Score hypotheses with M2, ERRANT or GLEU.

    \b
    btr evaluate out.txt --metric m2 --gold test.m2
    btr evaluate out.txt --metric errant --gold A.m2 --gold B.m2 --by operation --by group
    btr evaluate out.txt --metric gleu --source in.txt --reference r0.txt --reference r1.txt
    btr evaluate candidates.jsonl --rank 2 --gold test.m2
    btr evaluate candidates.jsonl --oracle --reference ref.txt --gold test.m2 --json
    """
    import btr
    from btr.tables import print_score

    score = btr.evaluate(
        hypotheses,
        metric=metric,
        gold=gold or (),
        source=source,
        references=reference or (),
        rank=rank,
        oracle=oracle,
        by=by or (),
        groups=groups,
        mode=mode,
        beta=beta,
        resamples=resamples,
        processes=processes,
    )
    show(score.to_dict(), as_json, print_score)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="HYP_A", help="One system's output: text or candidates.")],
    second: Annotated[str, typer.Argument(metavar="HYP_B", help="Another's, on the same sources.")],
    metric: Metric = "m2",
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    rank: Rank = None,
    mode: Mode = "correction",
    beta: Beta = 0.5,
    resamples: Annotated[int, typer.Option(min=1, help="Resamples of the bootstrap and the randomisation.")] = 1000,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Compare two outputs, with significance.

    \b
    btr compare base.txt reranked.txt --metric m2 --gold test.m2
    btr compare a.txt b.txt --metric gleu --source in.txt --reference r0.txt --reference r1.txt
    """
    import btr
    from btr.tables import print_comparison

    result = btr.compare(
        first,
        second,
        metric=metric,
        gold=gold or (),
        source=source,
        references=reference or (),
        rank=rank,
        mode=mode,
        beta=beta,
        resamples=resamples,
        processes=processes,
    )
    show(result, as_json, print_comparison)


@app.command()
def clean(
    path: Annotated[str, typer.Argument(metavar="IN.m2", help="An M2 file; - is stdin.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT.m2", help="Where to; - is stdout.")],
) -> None:
    """Clean a CoNLL M2 file as the paper does.

    Puts spaces around punctuation, splits paragraphs at full stops, and carries the edits along.

    \b
    btr clean official-2014.combined.m2 -o cleaned.m2
    """
    import btr

    written = btr.clean(path, output)
    print(f"{written:,} sentences written to {output}", file=sys.stderr)


def show(result: Mapping[str, Any], as_json: bool, table: Callable[[Mapping[str, Any], Console], None]) -> None:
    """Print a result: one JSON object for programs, or a table for people."""
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        table(result, Console())


def main() -> None:
    """Run a verb, and turn what went wrong into one sentence and an exit code."""
    try:
        if app(standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
        sys.stdout.flush()
    except InputError as error:
        fail(str(error), 2)
    except TyperException as error:
        fail(f"{error.format_message().rstrip('.')}; see 'btr --help'.", 2)
    except KeyboardInterrupt:
        fail("interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def fail(message: str, code: int) -> None:
    """Say what is wrong, on standard error."""
    print(f"btr: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
