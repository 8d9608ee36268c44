"""The model card: what a trained model is, how to use it, and where it came from, written from its run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from btr.corpus.files import PathLike, writing
from btr.training import OBJECTIVES
from btr.training.recipe import Recipe
from btr.training.records import CARD, SCORE, Facts, History, read_facts, read_history

WRITES_ERRORS = "A model that writes errors into clean sentences, as learners do: it makes pairs to train others on."
WRITES_ERRORS_LIMITS = "It corrects nothing, and what it writes may mean something else than the sentence did."
PRETRAINED_LIMITS = "It was not fine-tuned with corrections afterwards, so that its scores say little about them."


def write_card(folder: PathLike, recipe: Recipe, run: PathLike) -> Path:
    """Write README.md into a model's folder, from the recipe and from the log and run.json of the run."""
    history, facts = read_history(run), read_facts(run)
    name = Path(run).resolve().name
    parts = [
        front_matter(name, recipe, history),
        f"# {name}",
        usage(recipe, history),
        "## Training data",
        training_data(recipe),
        "## Training",
        table(training(recipe, history, facts)),
        "## Results",
        results(recipe, history),
        "## Limits",
        limits(recipe, history),
    ]
    path = Path(folder) / CARD
    with writing(path) as file:
        file.write("\n\n".join(parts) + "\n")
    return path


def front_matter(name: str, recipe: Recipe, history: History) -> str:
    """Return what the Hugging Face hub reads: YAML between two lines of dashes."""
    is_reranker = OBJECTIVES[recipe.kind].reranker is not None
    tags = ["grammatical-error-correction", "btr", "reranker" if is_reranker else "text-generation"]
    head: dict[str, Any] = {"language": "en", "library_name": "transformers", "license": "other", "tags": tags}
    if best := history.best:
        metric = {"type": SCORE, "name": f"{recipe.validation.metric.upper()} F0.5", "value": best.measures.value}
        result = {
            "task": {"type": "text-generation", "name": "Grammatical error correction"},
            "dataset": {"type": "m2", "name": ", ".join(map(short, recipe.validation.gold)), "split": "validation"},
            "metrics": [metric],
        }
        head["model-index"] = [{"name": name, "results": [result]}]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---"


def usage(recipe: Recipe, history: History) -> str:
    """Return what the model is, and the commands that use it."""
    objective = OBJECTIVES[recipe.kind]
    if recipe.task == "pre-train":
        return (
            f"{objective.description} It is pre-trained only: a start for fine-tuning, as `model: FOLDER` in a recipe."
            "\n\n```sh\nbtr train RECIPE.yaml --output RUN --set model=FOLDER\n```"
        )
    threshold = history.best.measures.threshold if history.best else None
    commands = "\n".join(objective.commands(recipe, threshold or 0.0))
    description = WRITES_ERRORS if recipe.data.reverse else objective.description
    return f"{description} With `btr-gec` installed, and FOLDER for this folder:\n\n```sh\n{commands}\n```"


def training_data(recipe: Recipe) -> str:
    """Return the recipe's files by name."""
    data = recipe.data
    items = [quote(name) for name in (*data.pairs, *data.text)]
    items += [f"{quote(name)}: candidates, the source of negatives" for name in data.candidates]
    if data.synthetic:
        sentences = f"{data.synthetic.sentences:,} sentences with synthetic errors"
        items += [f"{', '.join(map(quote, data.synthetic.text))}: {sentences}"]
    licences = "The licences of these data apply to what is made of them: read them before you pass the model on."
    return "\n".join(f"- {item}" for item in items) + f"\n\n{licences}"


def quote(name: str) -> str:
    """Return a file of the recipe as a text shows it."""
    return f"`{short(name)}`"


def short(name: str) -> str:
    """Return a file of the recipe without the part that differs between machines."""
    return name.removeprefix("$BTR_DATA/").removeprefix("../")


def training(recipe: Recipe, history: History, facts: Facts) -> Iterable[tuple[str, str]]:
    """Give what was done, and with what; what the run did not write down is left out."""
    optimizer = recipe.optimizer
    yield "kind, task, seed", f"{recipe.kind}, {recipe.task}, {recipe.seed}"
    yield "start", quote(recipe.model)
    yield "length", f"{recipe.epochs} epochs" if recipe.epochs else f"{recipe.steps:,} steps"
    yield "optimizer", f"{optimizer.name}, {optimizer.learning_rate:g}, {optimizer.schedule}"
    counted = " (the longer side of each pair)" if recipe.batch_by == "longer_side" else ""
    yield "tokens per update", f"{recipe.batch_tokens:,}{counted}"
    yield from OBJECTIVES[recipe.kind].card_rows(recipe)
    for label, number in ("parameters", facts.parameters), ("tokens seen", facts.tokens):
        if number is not None:
            yield label, f"{number:,}"
    if facts.seconds is not None:
        yield "hours", f"{facts.seconds / 3600:.2f}"
    if history.updates:
        last = history.updates[-1]
        yield "steps, final loss", f"{last.step:,}, {last.loss:.4f} nats per {OBJECTIVES[recipe.kind].loss_per}"
    for label, text in ("btr's revision", facts.revision), ("btr's version", facts.version):
        if text:
            yield label, f"`{text}`"


def results(recipe: Recipe, history: History) -> str:
    """Return the best validation, with its signature."""
    best = history.best
    if best is None:
        return "No validation was run."
    measures = best.measures
    rows = [(name, f"{score:.2f}") for name, score in measures.scores.items() if name in ("precision", "recall", SCORE)]
    rows.append(("epoch", f"{best.epoch:g} (the best of {len(history.validations)} validations)"))
    if measures.threshold is not None:
        rows.append(("threshold λ", f"{measures.threshold:g}"))
    gold = ", ".join(map(quote, recipe.validation.gold))
    part = f", the first {recipe.validation.sentences:,} sentences" if recipe.validation.sentences else ""
    signature = f"\n\n`{measures.signature}`" if measures.signature else ""
    return f"On {gold}{part}, in percent:\n\n{table(rows)}{signature}"


def limits(recipe: Recipe, history: History) -> str:
    """Return what the model can't do, and what the figures don't show."""
    own = WRITES_ERRORS_LIMITS if recipe.data.reverse else OBJECTIVES[recipe.kind].limits
    items = [
        "English only, and text as in its training data: where that is tokenised, with spaces before punctuation.",
        f"It was trained with sources of up to {recipe.data.max_source} tokens, targets of up to "
        f"{recipe.data.max_target}, and one seed.",
        PRETRAINED_LIMITS if recipe.task == "pre-train" else own,
    ]
    if history.best:
        has_threshold = history.best.measures.threshold is not None and OBJECTIVES[recipe.kind].tunes_threshold
        chosen = "Epoch and threshold were" if has_threshold else "The epoch was"
        items.append(f"{chosen} chosen on the sentences of the results, which are somewhat too high for that reason.")
    return "\n".join(f"- {item}" for item in items)


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return two columns in Markdown."""
    return "\n".join(["| | |", "| --- | --- |", *(f"| {label} | {value} |" for label, value in rows)])
