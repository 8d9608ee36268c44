"""The command that does all in one: correct."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from btr.cli.options import (
    AtLeast,
    Average,
    Base,
    BaseEditsOnly,
    Cutoff,
    Device,
    Dictionary,
    DropRunaways,
    Gap,
    Judge,
    Profile,
    Reranker,
    Spelling,
    Threshold,
    Top,
    Weight,
    Written,
    app,
    parse_weights,
    say,
)
from btr.correction import DEFAULT_MODEL, DEFAULT_PROFILE
from btr.errors import InputError
from btr.wording import count_of

if TYPE_CHECKING:
    from btr.correction.correct import CorrectionCounts


@app.command()
def correct(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Plain text or Markdown; - is stdin.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to; - is stdout.")] = "-",
    diff: Annotated[bool, typer.Option("--diff", help="Show what was changed, word by word.")] = False,
    alternatives: Annotated[
        bool,
        typer.Option(
            "--alternatives",
            help="Show the edits that were not made, or the other candidates, with their probabilities.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per sentence: edits, candidates, probabilities, verdict.")
    ] = False,
    as_m2: Annotated[bool, typer.Option("--m2", help="Sentences and typed edits in M2.")] = False,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="One tokenised sentence per line, in and out, as benchmarks have them.")
    ] = False,
    profile: Profile = DEFAULT_PROFILE,
    threshold: Threshold = None,
    candidates: Written = None,
    top: Top = None,
    at_least: AtLeast = None,
    gap: Gap = None,
    drop_runaways: DropRunaways = None,
    average: Average = None,
    weight: Weight = None,
    cutoff: Cutoff = None,
    judge: Judge = None,
    base_edits_only: BaseEditsOnly = None,
    spelling: Spelling = None,
    dictionary: Dictionary = None,
    model: Base = DEFAULT_MODEL,
    reranker: Reranker = None,
    markdown: Annotated[
        bool | None, typer.Option("--markdown/--plain", help="What the text is; by default, .md is Markdown.")
    ] = None,
    device: Device = None,
) -> None:
    """Correct a text: everything that is not corrected comes back as it was, byte for byte.

    After an interruption the same command continues, if it has an output file.

    \b
    btr correct letter.txt -o better.txt
    btr correct letter.txt --diff
    echo 'She have two dog.' | btr correct --alternatives
    btr correct thesis.md --json --profile fluency -o thesis.jsonl
    btr correct letter.txt --profile paper --diff
    btr correct sources.txt --tokenized -o hypotheses.txt
    """
    from btr.corpus.files import check_not_input
    from btr.correction.correct import correct_file, import_corrector

    forms = [
        name for name, on in (("diff", diff), ("alternatives", alternatives), ("json", as_json), ("m2", as_m2)) if on
    ]
    if len(forms) > 1:
        raise InputError(f"--{forms[0]} and --{forms[1]} exclude each other.")
    if tokenized and forms:
        raise InputError(f"--tokenized and --{forms[0]} exclude each other.")
    if tokenized and dictionary:
        raise InputError("--tokenized and --dictionary exclude each other: your own words have no part in a benchmark.")
    check_not_input(output, [each for each in (dictionary, judge) if each is not None])
    counts = correct_file(
        text,
        output,
        lambda: import_corrector().from_pretrained(
            model,
            reranker or None,
            profile=profile,
            candidates=candidates,
            top=top,
            threshold=threshold,
            at_least=at_least,
            gap=gap,
            drop_runaways=drop_runaways,
            average=average,
            weights=parse_weights(weight),
            judge=judge,
            cutoff=cutoff,
            base_edits_only=base_edits_only,
            spelling=spelling,
            dictionary=dictionary,
            device=device,
        ),
        form=forms[0] if forms else "text",
        markdown=markdown,
        tokenized=tokenized,
        colour=output == "-" and sys.stdout is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ,
    )
    say(counts.note)
    say(summarise(counts, tokenized))


def summarise(counts: "CorrectionCounts", tokenized: bool) -> str:
    """Return what was done, in a sentence or two."""
    line = f"{counts.changed:,} of {count_of(counts.sentences, 'sentence')} changed"
    if not tokenized:
        line += f", {count_of(counts.edits, 'edit')}"
    line += f"; {counts.reranked:,} not the base model's first choice." if counts.reranked else "."
    reasons = (counts.too_long, "longer than the model reads"), (counts.not_english, "not in English")
    skipped = [f"{count:,} {why}" for count, why in reasons if count]
    return line + (f" Left as they are: {', '.join(skipped)}." if skipped else "")
