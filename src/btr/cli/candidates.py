"""Commands from sources to choices: generate, score, rerank, and all in one: correct."""

import os
import sys
from typing import Annotated, Any

import typer

from btr.cli.options import (
    AtLeast,
    Average,
    Base,
    Device,
    DropRunaways,
    Gold,
    Json,
    Metric,
    Profile,
    Reference,
    Reranker,
    Source,
    Threshold,
    Top,
    Written,
    app,
    show,
)
from btr.correction import MODEL, RERANKER
from btr.errors import InputError
from btr.resume import Share


@app.command()
def generate(
    sources: Annotated[str, typer.Argument(metavar="SOURCES", help="Text, .m2 or .tsv; - is stdin.")],
    model: Annotated[str, typer.Option(help="A folder, a shipped model's name or a hub id.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to; - is stdout.")],
    method: Annotated[str, typer.Option(help="beam, diverse, top-k or nucleus.")] = "beam",
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
    length_penalty: Annotated[
        float, typer.Option(help="Candidates are ranked by log-probability over length to this power; 0: by itself.")
    ] = 1.0,
    engine: Annotated[str, typer.Option(help="transformers, or ctranslate2 (T5, beam: much faster on a CPU).")] = (
        "transformers"
    ),
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 (transformers) or int8 (ctranslate2).")] = "float32",
    device: Device = None,
    budget: Annotated[int, typer.Option(min=1, help="Tokens in a batch: more is faster, and takes memory.")] = 8192,
    as_json: Json = False,
) -> None:
    """Write candidates with a seq2seq model.

    After an interruption the same command continues.

    \b
    btr generate sources.txt --model MODEL -o candidates.jsonl
    btr generate sources.txt --model MODEL --engine ctranslate2 --dtype int8 --size 10 -o candidates.jsonl
    torchrun --nproc-per-node 4 -m btr.cli generate sources.txt --model MODEL -o candidates.jsonl
    """
    import btr
    from btr.tables import print_generated

    if as_json and output == "-":
        raise InputError("--json and -o - would both write to standard output; name a file.")
    result = btr.generate(
        sources,
        model,
        output,
        method=method,
        size=size,
        max_length=max_length,
        groups=groups,
        penalty=penalty,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        early_stopping=early_stopping,
        length_penalty=length_penalty,
        engine=engine,
        dtype=dtype,
        device=device,
        budget=budget,
    )
    show(result, as_json, print_generated, None if as_json else sys.stderr)


@app.command()
def score(
    candidates: Annotated[str, typer.Argument(metavar="CANDIDATES", help="Candidates, JSON lines; - is stdin.")],
    reranker: Annotated[
        list[str],
        typer.Option(help="btr:MODEL, contrast:, l2r:, r2l:, roberta:, bert:; base, mbr, vote; repeatable."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="SCORES", help="Where to; - is stdout.")],
    top: Annotated[int | None, typer.Option(min=1, help="How many candidates are scored; all by default.")] = None,
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
        candidates, reranker, output, top=top, average=average, dtype=dtype, device=device, int8=int8, budget=budget
    )
    print(signature, file=sys.stderr)


@app.command()
def rerank(
    scores: Annotated[list[str], typer.Argument(metavar="SCORES", help="Scores files; several are an ensemble.")],
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="OUT", help="The chosen candidates.")] = None,
    threshold: Annotated[float, typer.Option(help="How much f must rise above the base model's choice.")] = 0.0,
    top: Annotated[int | None, typer.Option(min=1, help="How many candidates take part; all by default.")] = None,
    average: Average = "log",
    weight: Annotated[list[float] | None, typer.Option(help="Of each scores file, as btr tune --mix finds.")] = None,
    at_least: AtLeast = False,
    drop_runaways: DropRunaways = False,
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
    btr rerank btr.jsonl base.jsonl --weight 1 --weight 0.25 --threshold 0.2 -o out.txt
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
        weights=weight or (),
        at_least=at_least,
        drop_runaways=drop_runaways,
        metric=metric,
        gold=gold or (),
        source=source,
        reference=reference or (),
    )
    show(result, as_json, print_reranked, sys.stderr if output == "-" else None)  # standard output has the texts


@app.command()
def correct(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Plain text or Markdown; - is stdin.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to; - is stdout.")] = "-",
    diff: Annotated[bool, typer.Option("--diff", help="Show what was changed, word by word.")] = False,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Show each sentence's candidates, and how sure of each it is.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object for each sentence: edits, candidates, f, decision.")
    ] = False,
    as_m2: Annotated[bool, typer.Option("--m2", help="Sentences and typed edits in M2.")] = False,
    profile: Profile = "minimal",
    threshold: Threshold = None,
    candidates: Written = None,
    top: Top = None,
    model: Base = MODEL,
    reranker: Reranker = None,
    markdown: Annotated[
        bool | None, typer.Option("--markdown/--plain", help="What the text is; by default, .md is Markdown.")
    ] = None,
    device: Device = None,
) -> None:
    """Correct a text: everything that is not corrected comes back as it was, byte for byte.

    After an interruption the same command goes on where it was, if it has an output.

    \b
    btr correct letter.txt -o better.txt
    btr correct letter.txt --diff
    echo 'She have two dog.' | btr correct --alternatives
    btr correct thesis.md --json --profile fluency -o thesis.jsonl
    """
    from btr.correction.correct import correct_file

    asked = [
        name for name, on in (("diff", diff), ("alternatives", alternatives), ("json", as_json), ("m2", as_m2)) if on
    ]
    if len(asked) > 1:
        raise InputError(f"--{asked[0]} and --{asked[1]} exclude each other.")
    told = correct_file(
        text,
        output,
        form=asked[0] if asked else "text",
        markdown=markdown,
        colour=output == "-" and sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        model=model,
        reranker=reranker or RERANKER,
        profile=profile,
        threshold=threshold,
        candidates=candidates,
        top=top,
        device=device,
    )
    if not Share.current().rank:
        print(close(told), file=sys.stderr)


def close(told: dict[str, Any]) -> str:
    """What was done, in a sentence or two."""
    changed, sentences = told.get("changed", 0), told.get("sentences", 0)
    line = f"{changed:,} of {sentences:,} sentences changed, {told.get('edits', 0):,} edits"
    line += f"; {told['reranked']:,} not the base model's first choice." if told.get("reranked") else "."
    reasons = (("too_long", "longer than the model reads"), ("not_english", "not in English"))
    left = [f"{told[name]:,} {why}" for name, why in reasons if told.get(name)]
    return line + (f" Left as they are: {', '.join(left)}." if left else "")
