"""The command line: each verb is a function of the same name.

Results go to standard output (a table, or one JSON object with --json), everything else to standard error. Bad input
ends with one sentence and exit code 2.
"""

import io
import json
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from typer.exceptions import TyperException

from btr import __version__
from btr.errors import InputError, Interrupted
from btr.resume import Share

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
Average = Annotated[str, typer.Option(help="Space in which models of a kind are averaged: log, probability or f.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")]
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
        reference=reference or (),
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
        reference=reference or (),
        rank=rank,
        mode=mode,
        beta=beta,
        resamples=resamples,
        processes=processes,
    )
    show(result, as_json, print_comparison)


@app.command()
def generate(
    sources: Annotated[str, typer.Argument(metavar="SOURCES", help="Text, .m2 or .tsv; - is stdin.")],
    model: Annotated[str, typer.Option(help="A folder, a shipped model's name or a hub id.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to; - is stdout.")],
    method: Annotated[str | None, typer.Option(help="beam (default), diverse, top-k or nucleus.")] = None,
    size: Annotated[int, typer.Option(min=1, help="Candidates of each source, and beams.")] = 5,
    max_length: Annotated[int, typer.Option(min=1, help="Tokens; longer sources are passed through.")] = 200,
    groups: Annotated[int, typer.Option(min=1, help="Groups of diverse beam search.")] = 5,
    penalty: Annotated[float, typer.Option(help="Of a token that an earlier group has chosen.")] = 0.4,
    top_k: Annotated[int, typer.Option(min=1, help="Tokens to draw among, in top-k sampling.")] = 50,
    top_p: Annotated[float, typer.Option(help="Probability to draw within, in nucleus sampling.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of sampling: the same seed, the same candidates.")] = 0,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop at the first SIZE candidates, as ctranslate2 always does.")
    ] = False,
    engine: Annotated[str, typer.Option(help="transformers, or ctranslate2 (T5, beam: much faster on a CPU).")] = (
        "transformers"
    ),
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 (transformers) or int8 (ctranslate2).")] = "float32",
    device: Device = None,
    budget: Annotated[int, typer.Option(min=1, help="Tokens in a batch: more is faster, and takes memory.")] = 8192,
    compare: Annotated[
        str | None, typer.Option(metavar="METHODS", help="Compare methods, e.g. beam,diverse; OUT is a folder.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="For --compare: m2, errant or gleu.")] = None,
    gold: Gold = None,
    reference: Reference = None,
    as_json: Json = False,
) -> None:
    """Write candidates with a seq2seq model.

    After an interruption the same command goes on where it was. With --compare, makes the paper's Table 2.

    \b
    btr generate sources.txt --model MODEL -o candidates.jsonl
    btr generate sources.txt --model MODEL --engine ctranslate2 --dtype int8 --size 10 -o candidates.jsonl
    btr generate sources.txt --model MODEL --compare beam,diverse,top-k,nucleus --gold test.m2 -o FOLDER
    torchrun --nproc-per-node 4 -m btr.cli generate sources.txt --model MODEL -o candidates.jsonl
    """
    from btr.tables import print_generated, print_methods

    options: dict[str, Any] = {
        "size": size,
        "max_length": max_length,
        "groups": groups,
        "penalty": penalty,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "early_stopping": early_stopping,
        "engine": engine,
        "dtype": dtype,
        "device": device,
        "budget": budget,
    }
    if compare is None:
        if gold or reference or metric:
            raise InputError("--metric, --gold and --reference are for --compare; score candidates with btr evaluate.")
        if as_json and output == "-":
            raise InputError("--json and -o - would both write to standard output; name a file.")
        import btr

        made = btr.generate(sources, model, output, method=method or "beam", **options)
        show(made, as_json, print_generated, None if as_json else sys.stderr)
        return
    if method:
        raise InputError("--method and --compare exclude each other.")
    from btr.candidates.decoding import compare_methods

    result = compare_methods(
        sources, model, output, compare.split(","), metric=metric, gold=gold or (), reference=reference or (), **options
    )
    show(result, as_json, print_methods)


@app.command()
def score(
    candidates: Annotated[str, typer.Argument(metavar="CANDIDATES", help="Candidates, JSON lines; - is stdin.")],
    reranker: Annotated[
        list[str], typer.Option(help="btr:MODEL, l2r:, r2l:, roberta:, bert:, or base, mbr, vote; repeatable.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="SCORES", help="Where to; - is stdout.")],
    average: Average = "log",
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    device: Device = None,
    int8: Annotated[bool, typer.Option("--int8", help="Linear layers in int8: faster on a CPU, not exact.")] = False,
    budget: Annotated[int, typer.Option(min=1, help="Tokens in a batch: more is faster, and takes memory.")] = 4096,
) -> None:
    """Score candidates with any rerankers.

    A model is a folder, a shipped model's name or a hub id. Several models of one kind are averaged (seeds), different
    kinds are added (R2L and L2R). After an interruption the same command goes on where it was.

    \b
    btr score candidates.jsonl --reranker btr:MODEL -o scores.jsonl
    btr score candidates.jsonl --reranker r2l:MODEL --reranker l2r:BASE -o scores.jsonl
    btr score candidates.jsonl --reranker mbr -o scores.jsonl
    torchrun --nproc-per-node 4 -m btr.cli score candidates.jsonl --reranker btr:MODEL -o scores.jsonl
    """
    import btr

    signature = btr.score(
        candidates, reranker, output, average=average, dtype=dtype, device=device, int8=int8, budget=budget
    )
    print(signature, file=sys.stderr)


@app.command()
def rerank(
    scores: Annotated[list[str], typer.Argument(metavar="SCORES", help="Scores files; several are an ensemble.")],
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="OUT", help="The chosen candidates.")] = None,
    threshold: Annotated[float, typer.Option(help="How much f must rise above the base model's choice.")] = 0.0,
    top: Annotated[int | None, typer.Option(min=1, help="How many candidates take part; all by default.")] = None,
    average: Average = "log",
    at_least: Annotated[bool, typer.Option("--at-least", help="Accept at the threshold, not only above it.")] = False,
    drop_runaways: Annotated[
        bool,
        typer.Option(
            "--drop-runaways", help="Leave out candidates of over twice the source's words plus ten, but not the first."
        ),
    ] = False,
    metric: Metric = "m2",
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    as_json: Json = False,
) -> None:
    """Choose candidates by their scores.

    Prints how many suggestions were accepted, rejected, or equal to the base model's choice; with gold, how good both
    are in each case.

    \b
    btr rerank scores.jsonl --threshold 0.4 --top 5 -o out.txt
    btr rerank seed1.jsonl seed2.jsonl --threshold 0.4 -o out.txt --gold test.m2
    btr rerank scores.jsonl --json
    """
    import btr
    from btr.tables import print_reranked

    if as_json and output == "-":
        raise InputError("--json has the chosen texts already; leave out -o -, or name a file.")
    result = btr.rerank(
        scores,
        output,
        threshold=threshold,
        top=top,
        average=average,
        at_least=at_least,
        drop_runaways=drop_runaways,
        metric=metric,
        gold=gold or (),
        source=source,
        reference=reference or (),
    )
    if output == "-":  # standard output has the texts
        print_reranked(result, Console(stderr=True))
    else:
        show(result, as_json, print_reranked)


@app.command()
def train(
    recipe: Annotated[Path | None, typer.Argument(metavar="RECIPE.yaml", help="What to train, and how.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="RUN", help="The run's folder.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="In place of what the recipe says; repeatable."),
    ] = None,
    max_steps: Annotated[int | None, typer.Option(min=1, help="Stop after so many updates; go on later.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="RUN", help="Draw a run's curves instead.")] = None,
    as_json: Json = False,
) -> None:
    """Train a base model or a reranker by a recipe.

    After an interruption the same command goes on where it was. The model is in RUN/model, with its card.

    \b
    btr train recipes/small/t5gec.yaml --output runs/small/t5gec
    btr train recipes/paper/btr-finetune-a20.yaml --set seed=2 --output runs/btr-a20-2
    btr train --plot runs/small/t5gec
    torchrun --nproc-per-node 2 -m btr.cli train recipes/small/t5gec.yaml --output runs/small/t5gec
    """
    try:
        import yaml

        from btr.training.plot import plot as draw
    except ImportError as error:
        raise InputError(f"training needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    if plot is not None:
        if recipe or output:
            raise InputError("--plot draws a run that is there; it takes no recipe.")
        print(*draw(plot), sep="\n")
        return
    if recipe is None or output is None:
        raise InputError("name a recipe, and the run's folder with --output; or a run with --plot.")
    changes: dict[str, Any] = {}
    for pair in change or ():
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise InputError(f"--set takes KEY=VALUE, e.g. --set seed=2, not {pair!r}.")
        changes[key] = yaml.safe_load(value)
    import btr
    from btr.tables import print_trained

    show(btr.train(recipe, output, changes=changes, max_steps=max_steps), as_json, print_trained)


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


def main() -> None:
    """Run a verb, and turn what went wrong into one sentence and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that nothing is left half-written
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    try:
        if app(standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
    except InputError as error:
        fail(str(error), 2)
    except TyperException as error:
        fail(f"{error.format_message().rstrip('.')}; see 'btr --help'.", 2)
    except Interrupted as interruption:
        fail(str(interruption), INTERRUPTED)
    except KeyboardInterrupt:
        fail("interrupted.", INTERRUPTED)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        fail(f"{name}{error.strerror or error}.", 1)


def fail(message: str, code: int) -> None:
    """Say what is wrong, on standard error."""
    print(f"btr: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
