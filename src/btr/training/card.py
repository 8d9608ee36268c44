"""The model card: what a trained model is, how to use it, and where it came from, written from its run."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from btr.corpus.files import PathLike, writing
from btr.errors import InputError
from btr.training.history import SCORE, History, read_history
from btr.training.recipe import Recipe

WHAT = {
    "seq2seq": "A base model for grammatical error correction: it writes candidates, the most likely one first.",
    "btr": "A Bidirectional Transformer Reranker: a T5 whose decoder sees both sides of every token that it scores.",
    "r2l": "A right-to-left reranker: a T5 that writes corrections from the last word to the first.",
    "roberta": "A reranker: a masked language model that reads a source and its correction together.",
    "bert": "A reranker: a classifier that tells grammatical sentences from ungrammatical ones.",
}
LIMITS = {
    "seq2seq": "It may change what was right, and the meaning with it; read what it proposes.",
    "btr": "It chooses among the candidates that a base model wrote, and finds no correction by itself.",
    "r2l": "It chooses among the candidates that a base model wrote; the paper adds the base model's own score.",
    "roberta": "It chooses among the candidates that a base model wrote, and finds no correction by itself.",
    "bert": "It sees the correction only, and so can't tell whether the source's meaning is kept.",
    "pre-train": "It was not fine-tuned with corrections afterwards, so that its scores say little about them.",
}


def write_card(folder: PathLike, recipe: Recipe, run: PathLike) -> Path:
    """Write README.md into a model's folder, from the recipe and from the log and run.json of the run."""
    history, facts = read_history(run), read_facts(run)
    name = Path(run).resolve().name
    parts = [
        front_matter(name, recipe, history),
        f"# {name}",
        use(recipe, history),
        "## Training data",
        training_data(recipe),
        "## Training",
        table(training(recipe, history, facts)),
        "## Results",
        results(recipe, history),
        "## Limits",
        limits(recipe, history),
    ]
    path = Path(folder) / "README.md"
    with writing(path) as file:
        file.write("\n\n".join(parts) + "\n")
    return path


def read_facts(run: PathLike) -> dict[str, Any]:
    """What run.json says: revision, version, tokens, seconds, parameters."""
    path = Path(run) / "run.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{run}: has no run.json; name the folder that btr train wrote.") from None
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error}).") from None
    if not isinstance(facts, dict):
        raise InputError(f"{path}: expected a JSON object, found {type(facts).__name__}.")
    return facts


def front_matter(name: str, recipe: Recipe, history: History) -> str:
    """What the Hugging Face hub reads: YAML between two lines of dashes."""
    tags = ["grammatical-error-correction", "btr", "text-generation" if recipe.kind == "seq2seq" else "reranker"]
    head: dict[str, Any] = {"language": "en", "library_name": "transformers", "license": "other", "tags": tags}
    if best := history.best:
        metric = {"type": SCORE, "name": f"{recipe.validation.metric.upper()} F0.5", "value": best["validation"][SCORE]}
        result = {
            "task": {"type": "text-generation", "name": "Grammatical error correction"},
            "dataset": {"type": "m2", "name": ", ".join(map(short, recipe.validation.gold)), "split": "validation"},
            "metrics": [metric],
        }
        head["model-index"] = [{"name": name, "results": [result]}]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---"


def use(recipe: Recipe, history: History) -> str:
    """What the model is, and the commands that use it."""
    if recipe.task == "pre-train":
        return (
            f"{WHAT[recipe.kind]} It is pre-trained only: a start for fine-tuning, as `model: FOLDER` in a recipe.\n\n"
            "```sh\nbtr train RECIPE.yaml --output RUN --set model=FOLDER\n```"
        )
    if recipe.kind == "seq2seq":
        commands = "btr generate SOURCES.txt --model FOLDER -o CANDIDATES.jsonl"
    else:
        base = " --reranker l2r:BASE" if recipe.kind == "r2l" else ""
        best = history.best or {"validation": {}}
        threshold = f" --threshold {best['validation'].get('threshold') or 0:g}"
        top = f" --top {recipe.validation.top}"
        listwise = recipe.objective.listwise
        kind, scored = ("contrast", top) if listwise else (recipe.kind, "")
        commands = (
            f"btr score CANDIDATES.jsonl --reranker {kind}:FOLDER{base}{scored} -o SCORES.jsonl\n"
            f"btr rerank SCORES.jsonl{threshold}{top} -o CORRECTED.txt"
        )
    return f"{WHAT[recipe.kind]} With `btr-gec` installed, and FOLDER for this folder:\n\n```sh\n{commands}\n```"


def training_data(recipe: Recipe) -> str:
    """The recipe's files by name."""
    data = recipe.data
    items = [shown(name) for name in (*data.pairs, *data.text)]
    items += [f"{shown(name)}: candidates, of which negatives are taken" for name in data.candidates]
    if data.synthetic:
        sentences = f"{data.synthetic.sentences:,} sentences with synthetic errors"
        items += [f"{', '.join(map(shown, data.synthetic.text))}: {sentences}"]
    licences = "The licences of these data apply to what is made of them: read them before you pass the model on."
    return "\n".join(f"- {item}" for item in items) + f"\n\n{licences}"


def shown(name: str) -> str:
    """A file of the recipe in a text."""
    return f"`{short(name)}`"


def short(name: str) -> str:
    """A file of the recipe as readers of the card know it."""
    return name.removeprefix("$BTR_DATA/").removeprefix("../")


def training(recipe: Recipe, history: History, facts: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """What was done, and with what; nothing is said of what the run did not write down."""
    optimizer, objective = recipe.optimizer, recipe.objective
    yield "kind, task, seed", f"{recipe.kind}, {recipe.task}, {recipe.seed}"
    yield "start", shown(recipe.model)
    yield "length", f"{recipe.epochs} epochs" if recipe.epochs else f"{recipe.steps:,} steps"
    yield "optimizer", f"{optimizer.name}, {optimizer.learning_rate:g}, {optimizer.schedule}"
    yield "tokens in an update", f"{recipe.batch_tokens:,}"
    if recipe.kind in ("btr", "roberta") and recipe.task == "correct":
        yield "negatives (a_train)", str(objective.negatives)
        if objective.focus or objective.listwise:
            listwise = f", listwise with softness {objective.softness:g}"
            yield "variant", f"focus {objective.focus:g}" + (listwise if objective.listwise else "")
    for label, key in ("parameters", "parameters"), ("tokens seen", "tokens"):
        if facts.get(key) is not None:
            yield label, f"{facts[key]:,}"
    if facts.get("seconds") is not None:
        yield "hours", f"{facts['seconds'] / 3600:.2f}"
    if history.updates:
        yield "steps, final loss", f"{history.updates[-1]['step']:,}, {history.updates[-1]['loss']:.4f}"
    for key in ("revision", "version"):
        if facts.get(key):
            yield f"btr's {key}", f"`{facts[key]}`"


def results(recipe: Recipe, history: History) -> str:
    """The best validation, with its signature."""
    best = history.best
    if best is None:
        return "No validation was run."
    validation = best["validation"]
    rows = [(name, f"{validation[name]:.2f}") for name in ("precision", "recall", SCORE) if name in validation]
    rows.append(("epoch", f"{best['epoch']:g} (the best of {len(history.validations)} validations)"))
    if validation.get("threshold") is not None:
        rows.append(("threshold λ", f"{validation['threshold']:g}"))
    gold = ", ".join(map(shown, recipe.validation.gold))
    part = f", the first {recipe.validation.sentences:,} sentences" if recipe.validation.sentences else ""
    signature = f"\n\n`{validation['signature']}`" if "signature" in validation else ""
    return f"On {gold}{part}, in percent:\n\n{table(rows)}{signature}"


def limits(recipe: Recipe, history: History) -> str:
    """What the model can't do, and what the figures don't show."""
    items = [
        "English only, and text as in its training data: where that is tokenised, with spaces before punctuation.",
        f"It was trained with sources of up to {recipe.data.max_source} tokens, targets of up to "
        f"{recipe.data.max_target}, and one seed.",
        LIMITS["pre-train" if recipe.task == "pre-train" else recipe.kind],
    ]
    if history.best:
        chosen = (
            "Epoch and threshold were" if history.best["validation"].get("threshold") is not None else "The epoch was"
        )
        items.append(f"{chosen} chosen on the sentences of the results, which are somewhat too high for that reason.")
    return "\n".join(f"- {item}" for item in items)


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Two columns in Markdown."""
    return "\n".join(["| | |", "| --- | --- |", *(f"| {label} | {value} |" for label, value in rows)])
