"""Commands from sources to choices: generate, score, rerank."""

import sys
from typing import Annotated

import typer

from btr.cli.options import (
    AtLeast,
    Average,
    BaseEditsOnly,
    Cutoff,
    Device,
    DropRunaways,
    Gap,
    Gold,
    Json,
    Judge,
    Metric,
    OptionalProfile,
    Reference,
    ScoredTop,
    ScoringReranker,
    Source,
    Threshold,
    Top,
    Weight,
    app,
    parse_weights,
    refuse_options,
    say,
    show,
)
from btr.errors import InputError

SENTENCE_OPTIONS = "profile", "threshold", "top", "gap", "at_least", "drop_runaways", "average", "weight"


@app.command()
def generate(
    sources: Annotated[str, typer.Argument(metavar="SOURCES", help="Text, .m2 or .tsv file; - is standard input.")],
    model: Annotated[str, typer.Option(help="Seq2seq model: a folder, a shipped model or a hub id.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Candidates file; - is standard output.")
    ],
    method: Annotated[
        str, typer.Option(help="Decoding method: beam, diverse, top-k, nucleus, or one of another package.")
    ] = "beam",
    size: Annotated[int, typer.Option(min=1, help="Candidates per source, and beams.")] = 5,
    max_length: Annotated[
        int, typer.Option(min=1, help="Tokens per candidate; sources of more tokens are passed through.")
    ] = 200,
    groups: Annotated[int, typer.Option(min=1, help="Groups of diverse beam search.")] = 5,
    penalty: Annotated[
        float, typer.Option(help="Diverse beam search: penalty for a token that an earlier group has chosen.")
    ] = 0.4,
    top_k: Annotated[int, typer.Option(min=1, help="Top-k sampling: how many tokens to sample among.")] = 50,
    top_p: Annotated[float, typer.Option(help="Nucleus sampling: probability of the tokens to sample among.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Random seed of sampling.")] = 0,
    early_stopping: Annotated[
        bool,
        typer.Option("--early-stopping", help="Stop once SIZE candidates are complete, as ctranslate2 always does."),
    ] = False,
    length_penalty: Annotated[
        float, typer.Option(help="Rank beams by log-probability / length ** this; 0: by log-probability.")
    ] = 1.0,
    engine: Annotated[str, typer.Option(help="transformers, or ctranslate2 (T5: much faster on a CPU).")] = (
        "transformers"
    ),
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 (transformers) or int8 (ctranslate2).")] = "float32",
    device: Device = None,
    budget: Annotated[int, typer.Option(min=1, help="Tokens per batch; more is faster and needs more memory.")] = 8192,
    spelling: Annotated[
        bool, typer.Option("--spelling", help="Further candidates for words that no list has, as in btr correct.")
    ] = False,
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
    from btr.cli.tables import print_generated

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
        spelling=spelling,
    )
    show(result, as_json, print_generated, None if as_json else sys.stderr)


@app.command()
def score(
    candidates: Annotated[str, typer.Argument(metavar="CANDIDATES", help="Candidates, JSON lines; - is stdin.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="SCORES", help="Where to; - is stdout.")],
    reranker: ScoringReranker = None,
    profile: OptionalProfile = None,
    top: ScoredTop = None,
    gap: Gap = None,
    drop_runaways: DropRunaways = None,
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    device: Device = None,
    int8: Annotated[bool, typer.Option("--int8", help="Linear layers in int8: faster on a CPU, not exact.")] = False,
    budget: Annotated[int, typer.Option(min=1, help="Tokens per batch: more is faster, and takes memory.")] = 4096,
    edits: Annotated[
        bool, typer.Option("--edits", help="Score each edit of the candidates; write edit tables.")
    ] = False,
) -> None:
    """Score candidates with any rerankers.

    A model is a folder, a shipped model's name or a hub id. With --profile, --top, --gap or --drop-runaways, only the
    candidates that these let through are scored. After an interruption the same command continues.

    \b
    btr score candidates.jsonl --reranker btr:MODEL -o scores.jsonl
    btr score candidates.jsonl --reranker r2l:MODEL --reranker l2r:BASE -o scores.jsonl
    btr score candidates.jsonl --reranker mbr -o scores.jsonl
    btr score candidates.jsonl --profile paper -o scores.jsonl
    btr score candidates.jsonl --edits --reranker lm:smollm2-135m -o edits.jsonl
    torchrun --nproc-per-node 4 -m btr.cli score candidates.jsonl --reranker btr:MODEL -o scores.jsonl
    """
    import btr

    result = btr.score(
        candidates,
        reranker or None,
        output,
        profile=profile,
        top=top,
        gap=gap,
        drop_runaways=drop_runaways,
        dtype=dtype,
        device=device,
        int8=int8,
        budget=budget,
        edits=edits,
    )
    say(result.note)
    say(result.signature)


@app.command()
def rerank(
    context: typer.Context,
    scores: Annotated[list[str], typer.Argument(metavar="SCORES", help="Scores files; several are an ensemble.")],
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="OUT", help="The chosen texts.")] = None,
    profile: OptionalProfile = None,
    threshold: Threshold = None,
    top: Top = None,
    gap: Gap = None,
    at_least: AtLeast = None,
    drop_runaways: DropRunaways = None,
    average: Average = None,
    weight: Weight = None,
    judge: Judge = None,
    cutoff: Cutoff = None,
    base_edits_only: BaseEditsOnly = None,
    metric: Metric = "m2",
    gold: Gold = None,
    source: Source = None,
    reference: Reference = None,
    as_json: Json = False,
) -> None:
    """Choose candidates by their scores.

    Prints how many suggestions were accepted, rejected, or equal to the base candidate; with gold, how good both are
    in each case. Models of one kind are averaged (seeds), different kinds are added by their weights.

    \b
    btr rerank scores.jsonl --threshold 0.4 --top 5 -o out.txt
    btr rerank seed1.jsonl seed2.jsonl --threshold 0.4 -o out.txt --gold test.m2
    btr rerank contrast.jsonl base.jsonl --weight contrast=2 --weight base=1 --threshold 0.2 -o out.txt
    btr rerank scores.jsonl --json
    btr rerank edits.jsonl --judge judge.json --cutoff 0.4 -o out.txt
    """
    import btr
    from btr.cli.tables import print_reranked

    if as_json and output == "-":
        raise InputError("--json has the chosen texts already; leave out -o -, or name a file.")
    if judge is not None:
        from btr.cli.judges import print_reranked_edits

        why = "is for choosing among whole candidates, but a judge decides edit by edit; leave it out, or use --cutoff."
        refuse_options(context, SENTENCE_OPTIONS, why)
        if len(scores) > 1:
            raise InputError("a judge reads one file of edit tables (btr score --edits).")
        judged = btr.rerank_edits(
            scores[0],
            judge,
            output,
            cutoff=cutoff,
            base_edits_only=bool(base_edits_only),
            metric=metric,
            gold=gold or (),
            source=source,
            reference=reference or (),
        )
        say(judged.note)
        show(judged, as_json, print_reranked_edits, sys.stderr if output == "-" else None)
        return
    refuse_options(context, ("cutoff", "base_edits_only"), "needs a judge; name one with --judge.")
    result = btr.rerank(
        scores,
        output,
        profile=profile,
        threshold=threshold,
        top=top,
        gap=gap,
        at_least=at_least,
        drop_runaways=drop_runaways,
        average=average,
        weights=parse_weights(weight),
        metric=metric,
        gold=gold or (),
        source=source,
        reference=reference or (),
    )
    say(result.note)
    show(result, as_json, print_reranked, sys.stderr if output == "-" else None)  # standard output has the texts
