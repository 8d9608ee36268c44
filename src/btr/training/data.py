"""Training data: read once, tokenised into a memory-mapped Arrow file, and dealt out in the same order to all."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from btr.corpus.candidates import read_candidates
from btr.corpus.files import file_hash, read_lines
from btr.corpus.pairs import read_pairs
from btr.errors import InputError
from btr.progress import track
from btr.rerankers.differences import NEAR
from btr.training.recipe import Data, Objective, Synthetic, expand
from btr.training.tasks import Example, Task

POOL = 50  # batches whose examples are sorted by length among themselves
SHAPE = "rows", "longest", "length"  # of an example: its targets, the longest of them, and its source
ORDER, MASKS, DROPOUT = 1, 2, 3  # what random numbers are for
STREAM = "datasets:"

Update = list[list[int]]  # batches of an update, by the examples' numbers


def prepare(task: Task, folder: Path) -> Any:
    """The examples of a recipe as a memory-mapped dataset; read from the files only if it is not there."""
    from datasets import Dataset
    from datasets.arrow_writer import ArrowWriter

    data = task.recipe.data
    path = folder / f"examples-{fingerprint(task, data)}.arrow"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.part")
        written = 0
        with ArrowWriter(path=str(temporary)) as writer:
            for example in islice(track(read_examples(task, data), data.limit, "Reading"), data.limit):
                writer.write({**example, "size": task.size(example), **dict(zip(SHAPE, task.shape(example)))})
                written += 1
            if not written:
                raise InputError("no example is left to train on; are all longer than max_source and max_target?")
            writer.finalize()
        os.replace(temporary, path)
    return Dataset.from_file(str(path))


def fingerprint(task: Task, data: Data) -> str:
    """Changes with whatever the examples depend on: the files, the tokenizer, and the recipe's choices."""
    files = [
        path if path.startswith(STREAM) else file_hash(expand(path))
        for path in (*data.pairs, *data.candidates, *data.text, *synthetic_files(data.synthetic))
    ]
    vocabulary = hashlib.sha256(repr(sorted(task.tokenizer.get_vocab().items())).encode()).hexdigest()
    recipe: list[Any] = [task.recipe.kind, task.recipe.task, task.recipe.objective.negatives, data.model_dump()]
    if task.recipe.objective.listwise:
        recipe += [task.recipe.objective.softness, task.recipe.objective.gap, NEAR]
    return hashlib.sha256(json.dumps([files, vocabulary, recipe]).encode()).hexdigest()[:12]


def synthetic_files(settings: Synthetic | None) -> list[str]:
    """The files that synthetic pairs are made from."""
    return [*settings.text, *settings.learners] if settings else []


def read_examples(task: Task, data: Data) -> Iterator[Example]:
    """Stream a recipe's examples; those that are too long are left out."""
    if task.recipe.task == "pre-train":
        yield from read_chunks(task, data)
        return
    objective = task.recipe.objective
    for group in thin_out(read_groups(data, objective), data.unchanged):
        if group.source.strip() and group.targets[0].strip() and (example := task.encode(*group)):
            yield example


class Group(NamedTuple):
    """A source, its gold and then its negatives; and all its candidates, of which gold may be one, and how likely the
    base model finds them, if that is known."""

    source: str
    targets: list[str]
    candidates: Sequence[str] = ()
    log_probs: Sequence[float] = ()


def read_groups(data: Data, objective: Objective) -> Iterator[Group]:
    """Stream sources, each with its gold and then its negatives: unique candidates that are not gold, in order."""
    for number, path in enumerate(data.pairs):
        pairs = read_pairs(expand(path))
        if not objective.negatives:
            yield from (Group(source, [target]) for source, target in pairs)
            continue
        name = expand(data.candidates[number])
        rows = read_candidates(name)
        for line, (source, gold) in enumerate(pairs, 1):
            row = next(rows, None)
            if row is None or row.source.split() != source.split():
                raise InputError(f"{name}, line {line}: is not of the same source as {path}; are both in order?")
            unique = [text for text in dict.fromkeys(row.texts) if text.strip()]
            log_probs = dict(zip(reversed(row.texts), reversed(row.log_probs or ())))
            known = tuple(own for own in map(log_probs.get, unique) if own is not None)
            if objective.gap is not None and 1 < len(unique) != len(known):
                raise InputError(f"{name}, line {line}: has no log_probs, which objective.gap compares.")
            yield Group(source, [gold, *(text for text in unique if text != gold)], unique, known)
    if data.synthetic is not None:
        yield from make_pairs(data.synthetic)


def thin_out(groups: Iterable[Group], share: float) -> Iterator[Group]:
    """Keep all pairs with a correction, and a share of those without, evenly spread."""
    unchanged = 0
    for group in groups:
        if group.source.split() == group.targets[0].split():
            unchanged += 1
            if int(unchanged * share) == int((unchanged - 1) * share):
                continue
        yield group


def make_pairs(settings: Synthetic) -> Iterator[Group]:
    """Stream synthetic pairs, as many as a recipe asks for."""
    from btr.training.synthetic import Corrupter, sentences

    lines = (line for path in settings.text for line in read_lines(expand(path)))
    made = 0
    learners = [*map(expand, settings.learners)]
    corrupter = Corrupter(settings.seed, settings.errors, weights=settings.weights, learners=learners)
    clean = islice(sentences(lines), settings.skip, None)
    for source, target in islice(corrupter.corrupt(clean), settings.sentences):
        made += 1
        yield Group(source, [target])
    if made < settings.sentences:
        after = f" after the first {settings.skip:,}" if settings.skip else ""
        raise InputError(
            f"{settings.text[-1]}: the text has {made:,} sentences{after} to make errors in (from a capital to an end "
            f"mark, 3 to 60 words), but the recipe asks for {settings.sentences:,}."
        )


def read_chunks(task: Task, data: Data) -> Iterator[Example]:
    """Stream paragraphs as tokens, long ones in pieces."""
    for paragraph in (line for path in data.text for line in read_paragraphs(path)):
        tokens = task.tokenizer(paragraph)["input_ids"][:-1]
        for start in range(0, len(tokens), data.max_source - 1):
            if len(chunk := tokens[start : start + data.max_source - 1]) > 1:
                yield {"source": chunk, "targets": [[]]}


def read_paragraphs(path: str) -> Iterator[str]:
    """Lines of a text file, or the texts of a dataset by its id (`datasets:OWNER/NAME[/CONFIG]`), streamed."""
    if not path.startswith(STREAM):
        yield from (line for line in read_lines(expand(path)) if line.strip())
        return
    from datasets import load_dataset

    name, config = "/".join(path.removeprefix(STREAM).split("/")[:2]), path.removeprefix(STREAM).split("/")[2:]
    try:
        for row in load_dataset(name, *config, split="train", streaming=True):
            yield from (line for line in row["text"].splitlines() if line.strip())
    except Exception as error:  # the library has no common kind
        raise InputError(f"{path}: the dataset can't be read ({type(error).__name__}: {error}).") from None


def used_pieces(dataset: Any) -> NDArray[np.int64]:
    """The pieces of the vocabulary that the examples have, in order."""
    table = dataset.data.table
    found = [chunk.flatten().unique() for chunk in table.column("source").chunks]
    found += [chunk.flatten().flatten().unique() for chunk in table.column("targets").chunks]
    return np.unique(np.concatenate([column.to_numpy(zero_copy_only=False) for column in found])).astype(np.int64)


def generator(*numbers: int) -> np.random.Generator:
    """Random numbers that belong to a purpose, a seed and what they are drawn for."""
    return np.random.default_rng(numbers)


def deal(
    sizes: NDArray[Any], shapes: NDArray[Any], seed: int, epoch: int, micro_tokens: int, batch_tokens: int
) -> list[Update]:
    """An epoch's updates: all examples in random order, batched with others of similar shape.

    Depends on the arguments only: not on who asks, nor on how many processes share the batches of an update.
    """
    random = generator(ORDER, seed, epoch)
    order = random.permutation(len(sizes))
    pool = max(1, POOL * micro_tokens // max(1, int(sizes.mean())))
    batches = [
        [int(order[start + k]) for k in batch]
        for start in range(0, len(order), pool)
        for batch in pack_shapes(shapes[order[start : start + pool]], micro_tokens)
    ]
    return group([batches[k] for k in random.permutation(len(batches))], sizes, batch_tokens)


def pack_shapes(shapes: NDArray[Any], budget: int) -> Iterator[list[int]]:
    """Batches of similar examples: sources by rows by tokens, padding included, no more than the budget."""
    batch: list[int] = []
    most = np.zeros(len(SHAPE), int)
    for k in np.lexsort((shapes[:, 2], shapes[:, 1], shapes[:, 0])):
        rows, longest, length = np.maximum(most, shapes[k])
        if batch and (len(batch) + 1) * (length + rows * longest) > budget:
            yield batch
            batch, most = [], np.zeros(len(SHAPE), int)
        batch.append(int(k))
        most = np.maximum(most, shapes[k])
    if batch:
        yield batch


def group(batches: Iterable[list[int]], sizes: Sequence[int] | NDArray[Any], batch_tokens: int) -> list[Update]:
    """Batches one after another, as many as come nearest to an update's tokens."""
    updates: list[Update] = [[]]
    tokens = 0
    for batch in batches:
        own = sum(int(sizes[k]) for k in batch)
        if updates[-1] and tokens + own / 2 > batch_tokens:
            updates.append([])
            tokens = 0
        updates[-1].append(batch)
        tokens += own
    return updates
