"""Training data: read once from its files, and stored as tokens in a memory-mapped Arrow file."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btr.corpus.candidates import Candidates, read_candidates, tokens_of
from btr.corpus.edits import EditKey, read_edit_tables
from btr.corpus.files import file_hash, read_lines
from btr.corpus.m2 import read_m2
from btr.corpus.pairs import read_pairs
from btr.decisions.fit_judge import annotated_edits
from btr.errors import InputError
from btr.metrics.errant import extract_many
from btr.progress import track
from btr.training.batches import SHAPE
from btr.training.objective import Example, Objective, TrainingPair
from btr.training.recipe import Data, ObjectiveSettings, Synthetic, expand
from btr.wording import count_of

STREAM = "datasets:"
WINDOW = 64  # sentences that are aligned together


def prepare_dataset(objective: Objective, folder: Path) -> Any:
    """Return a recipe's examples as a memory-mapped dataset; the files are read only if it is not there."""
    from datasets import Dataset
    from datasets.arrow_writer import ArrowWriter

    data = objective.recipe.data
    path = folder / f"examples-{fingerprint(objective, data)}.arrow"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part")  # one that a killed run has left is written anew
        try:
            with ArrowWriter(path=str(temporary)) as writer:
                count = write_examples(writer, objective)
                if not count:
                    raise InputError("no example is left to train on; are all longer than max_source and max_target?")
                writer.finalize()
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    return Dataset.from_file(str(path))


def write_examples(writer: Any, objective: Objective) -> int:
    """Write a recipe's examples with their sizes; return how many there are."""
    count, limit = 0, objective.recipe.data.max_examples
    for example in islice(track(read_examples(objective), limit, "Reading"), limit):
        writer.write({**example, "size": objective.size(example), **dict(zip(SHAPE, objective.shape(example)))})
        count += 1
    return count


def fingerprint(objective: Objective, data: Data) -> str:
    """Return a hash of whatever the examples depend on: the files, the tokenizer, and the recipe's choices."""
    files = [
        path if path.startswith(STREAM) else file_hash(expand(path))
        for path in (*data.pairs, *data.candidates, *data.edits, *data.text, *synthetic_files(data.synthetic))
    ]
    vocabulary = hashlib.sha256(repr(sorted(objective.tokenizer.get_vocab().items())).encode()).hexdigest()
    recipe = objective.recipe
    settings = data.model_dump(exclude=set() if data.reverse else {"reverse"})  # so that older runs can continue
    choices = [recipe.kind, recipe.task, *objective.encoding_settings(), settings]
    return hashlib.sha256(json.dumps([files, vocabulary, choices]).encode()).hexdigest()[:12]


def synthetic_files(settings: Synthetic | None) -> list[str]:
    """Return the files that synthetic pairs are made from."""
    return [*settings.text, *settings.learners] if settings else []


def read_examples(objective: Objective) -> Iterator[Example]:
    """Stream a recipe's examples; those that are too long are left out."""
    recipe = objective.recipe
    if recipe.task == "pre-train":
        yield from read_chunks(objective, recipe.data)
        return
    for pair in thin_out(read_training_pairs(recipe.data, recipe.objective), recipe.data.unchanged_share):
        if recipe.data.reverse:
            pair = TrainingPair(pair.target, pair.source)
        if pair.source.strip() and pair.target.strip() and (example := objective.encode(pair)):
            yield example


def read_training_pairs(data: Data, objective: ObjectiveSettings) -> Iterator[TrainingPair]:
    """Stream pairs of a source and its gold; with negatives, each with its unique candidates in order."""
    if data.edits:
        yield from (pair for files in zip(data.pairs, data.edits) for pair in read_labelled_tables(*map(expand, files)))
        return
    for number, path in enumerate(data.pairs):
        pairs = read_pairs(expand(path))
        if not objective.negatives:
            yield from (TrainingPair(source, target) for source, target in pairs)
            continue
        name = expand(data.candidates[number])
        rows = read_candidates(name)
        for line, (source, gold) in enumerate(pairs, 1):
            row = next(rows, None)
            if row is None or row.source.split() != source.split():
                raise InputError(f"{name}, line {line}: is not of the same source as {path}; are both in order?")
            candidates = unique_candidates(row)
            if objective.gap is not None and len(candidates.texts) > 1 and not has_log_probs(candidates):
                raise InputError(f"{name}, line {line}: has no log_probs, which objective.gap compares.")
            negatives = tuple(text for text in candidates.texts if tokens_of(text) != tokens_of(gold))
            yield TrainingPair(source, gold, negatives, candidates)
    if data.synthetic is not None:
        yield from make_pairs(data.synthetic)


def read_labelled_tables(gold: str, tables: str) -> Iterator[TrainingPair]:
    """Stream the edit tables of an M2 file's sources, labelled as a judge's are (`decisions/fit_judge.py`)."""
    _, rows = read_edit_tables(tables)
    pairs = enumerate(zip_longest(read_m2(gold), rows), 2)
    while window := list(islice(pairs, WINDOW)):
        texts = []
        for line, (sentence, table) in window:
            if sentence is None or table is None or table.candidates.source.split() != sentence.source.split():
                raise InputError(f"{tables}, line {line}: is not of the same source as {gold}; are both in order?")
            texts.append((sentence.source, sentence.corrected()))
        for (_, (sentence, table)), edits, (source, target) in zip(window, extract_many(texts), texts):
            right = annotated_edits(sentence)
            right |= {EditKey(edit.start, edit.end, edit.corrections[0]) for edit in edits or ()}
            labels = tuple(edit.key in right for edit in table.edits)
            yield TrainingPair(source, target, table=table, labels=labels)


def unique_candidates(row: Candidates) -> Candidates:
    """Return the candidates that are neither empty nor equal to an earlier one."""
    tokens = [tokens_of(text) for text in row.texts]
    return row.select([k for k, each in enumerate(tokens) if each and each not in tokens[:k]])


def has_log_probs(candidates: Candidates) -> bool:
    """Return whether the base model's log-probability of every candidate is known."""
    return candidates.log_probs is not None and None not in candidates.log_probs


def thin_out(pairs: Iterable[TrainingPair], share: float) -> Iterator[TrainingPair]:
    """Give all pairs with a correction, and a share of those without, evenly spread."""
    unchanged = 0
    for pair in pairs:
        if pair.source.split() == pair.target.split():
            unchanged += 1
            if int(unchanged * share) == int((unchanged - 1) * share):
                continue
        yield pair


def make_pairs(settings: Synthetic) -> Iterator[TrainingPair]:
    """Stream as many synthetic pairs as the recipe says."""
    from btr.training.synthetic import Corrupter, sentences

    lines = (line for path in settings.text for line in read_lines(expand(path)))
    count = 0
    learners = [*map(expand, settings.learners)]
    corrupter = Corrupter(settings.seed, settings.errors_per_sentence, weights=settings.weights, learners=learners)
    clean = islice(sentences(lines), settings.skip_sentences, None)
    for source, target in islice(corrupter.corrupt(clean), settings.sentences):
        count += 1
        yield TrainingPair(source, target)
    if count < settings.sentences:
        after = f" after the first {settings.skip_sentences:,}" if settings.skip_sentences else ""
        raise InputError(
            f"{settings.text[-1]}: the text has {count_of(count, 'sentence')}{after} to make errors in (from a "
            f"capital to an end mark, 3 to 60 words), but the recipe asks for {settings.sentences:,}."
        )


def read_chunks(objective: Objective, data: Data) -> Iterator[Example]:
    """Stream paragraphs as tokens, long ones in pieces."""
    for paragraph in (line for path in data.text for line in read_paragraphs(path)):
        tokens = objective.tokenizer(paragraph)["input_ids"][:-1]
        for start in range(0, len(tokens), data.max_source - 1):
            if len(chunk := tokens[start : start + data.max_source - 1]) > 1:
                yield {"source": chunk, "targets": [[]]}


def read_paragraphs(path: str) -> Iterator[str]:
    """Stream lines of a text file, or the texts of a dataset by its id (`datasets:OWNER/NAME[/CONFIG]`)."""
    if not path.startswith(STREAM):
        yield from (line for line in read_lines(expand(path)) if line.strip())
        return
    from datasets import load_dataset

    parts = path.removeprefix(STREAM).split("/")
    try:
        for row in load_dataset("/".join(parts[:2]), *parts[2:], split="train", streaming=True):
            yield from (line for line in row["text"].splitlines() if line.strip())
    except Exception as error:  # the library has no common kind
        raise InputError(f"{path}: the dataset can't be read ({type(error).__name__}: {error}).") from None


def used_tokens(dataset: Any) -> NDArray[np.int64]:
    """Return the tokens of the vocabulary that the examples have, in order."""
    table = dataset.data.table
    columns = [chunk.flatten().unique() for chunk in table.column("source").chunks]
    columns += [chunk.flatten().flatten().unique() for chunk in table.column("targets").chunks]
    return np.unique(np.concatenate([column.to_numpy(zero_copy_only=False) for column in columns])).astype(np.int64)
