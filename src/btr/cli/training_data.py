"""Commands that write what models are trained on: cross-fit, write-errors."""

from pathlib import Path
from typing import Annotated

import typer

from btr.cli.models import parse_changes
from btr.cli.options import Device, Json, app, show
from btr.errors import InputError


def needs_train(error: ImportError) -> InputError:
    """Return the error for a missing library of the extra `train`."""
    return InputError(f"training needs the extra 'train': pip install 'btr-gec[train]' ({error}).")


@app.command("cross-fit")
def cross_fit(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE.yaml", help="How a base model is trained.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to.")],
    folds: Annotated[int, typer.Option(min=2, help="How many parts, and models.")] = 2,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a value of the recipe; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write candidates for a recipe's pairs with models that have not seen them.

    The pairs are split into folds. A base model is trained on all folds but one, and writes candidates for that one.
    FOLDER then has candidates.jsonl and gold.m2 (or gold.tsv), in the order of the pairs. After an interruption the
    same command continues.

    \b
    btr cross-fit recipes/small/cross-fit.yaml --output runs/small/cross-fit
    """
    try:
        from btr.training.cross_fit import cross_fit as run
    except ModuleNotFoundError as error:
        raise needs_train(error) from None
    from btr.cli.tables import print_cross_fitted

    show(run(recipe, output, folds=folds, changes=parse_changes(change)), as_json, print_cross_fitted)


@app.command("write-errors")
def write_errors(
    text: Annotated[list[Path], typer.Argument(metavar="TEXT…", help="Clean paragraphs, one per line; may be gzip.")],
    model: Annotated[str, typer.Option(help="A model that writes errors: a folder or a hub id.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAIRS.tsv", help="Where to.")],
    sentences: Annotated[int | None, typer.Option(min=1, help="How many sentences are read (default: all).")] = None,
    skip_sentences: Annotated[int, typer.Option(min=0, help="How many sentences are left out at the start.")] = 0,
    top_p: Annotated[float, typer.Option(help="Probability of the tokens to sample among: more, and odder errors.")] = (
        0.95
    ),
    seed: Annotated[int, typer.Option(help="Random seed of sampling.")] = 0,
    language_model: Annotated[
        str | None, typer.Option(metavar="lm:MODEL", help="Drop pairs whose source this finds too improbable.")
    ] = None,
    max_length_ratio: Annotated[float, typer.Option(help="Words of the longer text over those of the shorter.")] = 1.5,
    max_changed: Annotated[float, typer.Option(help="Changed words, as a share of the target's.")] = 0.4,
    max_log_ratio: Annotated[
        float, typer.Option(help="For --language-model: nats per word that the source may be less probable.")
    ] = 1.5,
    engine: Annotated[str, typer.Option(help="transformers, or ctranslate2 (T5: much faster on a CPU).")] = (
        "transformers"
    ),
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 (transformers) or int8 (ctranslate2).")] = "float32",
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Write errors into clean text with a model that has learnt them.

    Each line of PAIRS.tsv has a source with errors and its clean target. Pairs that are equal, too different or
    improbable are dropped. After an interruption the same command continues.

    \b
    btr write-errors text.txt.gz --model runs/small/errors/model -o pairs.tsv
    btr write-errors text.txt.gz --model MODEL --language-model lm:smollm2-135m --sentences 1000 -o pairs.tsv
    """
    try:
        from btr.training.write_errors import write_errors as run
    except ModuleNotFoundError as error:
        raise needs_train(error) from None
    from btr.cli.tables import print_written_errors

    result = run(
        list(text),
        model,
        output,
        sentences=sentences,
        skip_sentences=skip_sentences,
        top_p=top_p,
        seed=seed,
        language_model=language_model,
        max_length_ratio=max_length_ratio,
        max_changed=max_changed,
        max_log_ratio=max_log_ratio,
        engine=engine,
        dtype=dtype,
        device=device,
    )
    show(result, as_json, print_written_errors)
