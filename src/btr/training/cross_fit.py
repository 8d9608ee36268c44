"""`btr cross-fit`: candidates for training rerankers, each written by a base model that has not seen the source.

The pairs of a recipe are split into folds. One base model per fold is trained on the other folds, and writes candidates
for its own. Candidates of sources that a model was trained on are better than those of new text, so that a reranker
would learn from mistakes which it will never meet.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btr.candidates.generate import generate
from btr.corpus.candidates import Candidates, read_candidates, write_candidates
from btr.corpus.files import PathLike, writing
from btr.corpus.m2 import format_m2, read_m2
from btr.corpus.pairs import file_kind, read_pairs
from btr.errors import InputError
from btr.records import Record
from btr.resume import Share
from btr.training.recipe import Recipe, ValidationSettings, expand, read_recipe
from btr.training.train import train


@dataclass(frozen=True, slots=True)
class CrossFitted(Record):
    """The files that were written, the number of sources per fold, and the model that wrote each fold's candidates."""

    candidates: str
    gold: str
    sources: tuple[int, ...]
    models: tuple[str, ...]


@dataclass(frozen=True)
class Fold:
    """The folder of one fold: what its model is trained on, and the sources that the model has not seen."""

    folder: Path
    suffix: str  # .m2 or .tsv

    @property
    def pairs(self) -> Path:
        """Return the file of the other folds' pairs."""
        return self.folder / f"pairs{self.suffix}"

    @property
    def sources(self) -> Path:
        """Return the file of the fold's own sources, one per line."""
        return self.folder / "sources.txt"

    @property
    def run(self) -> Path:
        """Return the folder of the training run."""
        return self.folder / "run"

    @property
    def candidates(self) -> Path:
        """Return the file of the fold's candidates."""
        return self.folder / "candidates.jsonl"


def cross_fit(
    recipe: PathLike, output: PathLike, *, folds: int = 2, changes: Mapping[str, Any] | None = None
) -> CrossFitted:
    """Write candidates for all pairs of a base model's recipe, each by a model that was not trained on the source.

    Candidates are decoded as the recipe's `validation` says (beam, length_penalty, engine). After an interruption the
    same call continues where it stopped. `changes` replace what the recipe says.
    """
    settings, folder = read_recipe(recipe, changes), Path(output)
    check(settings, recipe, folds)
    paths = [expand(path) for path in settings.data.pairs]
    suffix = ".m2" if all(file_kind(path) == ".m2" for path in paths) else ".tsv"
    parts = [Fold(folder / f"fold-{number}", suffix) for number in range(1, folds + 1)]
    sizes = split(paths, parts)
    models = []
    for part in parts:
        trained = train(recipe, part.run, changes={**(changes or {}), "data.pairs": [str(part.pairs)]})
        models.append(str(trained.model))
        if trained.new_steps or not part.candidates.is_file():
            write_fold(part, models[-1], settings.validation)
    candidates, gold = folder / "candidates.jsonl", folder / f"gold{suffix}"
    write_candidates(candidates, in_order(paths, parts))
    with writing(gold) as file:
        file.writelines(text for _, text in read_records(paths, suffix))
    return CrossFitted(str(candidates), str(gold), tuple(sizes), tuple(models))


def check(recipe: Recipe, path: PathLike, folds: int) -> None:
    """Refuse what can't be cross-fitted, before any work."""
    if recipe.kind != "seq2seq" or recipe.task != "correct" or not recipe.data.pairs:
        raise InputError(f"{path}: cross-fit trains base models; name a recipe of the kind seq2seq with data.pairs.")
    if folds < 2:
        raise InputError(f"{folds} folds: each model is trained on the other folds, so there must be at least 2.")
    if Share.current().world > 1:
        raise InputError("cross-fit runs in one process; start it without torchrun or accelerate launch.")


def split(paths: list[str], folds: list[Fold]) -> list[int]:
    """Write each fold's sources, and the pairs of the other folds; return the number of sources per fold."""
    sizes = [0] * len(folds)
    try:
        for fold in folds:
            fold.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{error.filename}: can't be a folder ({error.strerror}); choose another output.") from None
    with ExitStack() as stack:
        pairs = [stack.enter_context(writing(fold.pairs)) for fold in folds]
        sources = [stack.enter_context(writing(fold.sources)) for fold in folds]
        for source, text in read_records(paths, folds[0].suffix):
            number = fold_of(source, len(folds))
            sizes[number] += 1
            sources[number].write(f"{source}\n")
            for other, file in enumerate(pairs):
                if other != number:
                    file.write(text)
    if 0 in sizes:
        raise InputError(f"{paths[-1]}: fold {sizes.index(0) + 1} has no source; take fewer folds, or more pairs.")
    return sizes


def read_records(paths: list[str], suffix: str) -> Iterator[tuple[str, str]]:
    """Stream the source of each pair, and the pair as lines of an M2 or TSV file."""
    for path in paths:
        if suffix == ".m2":
            yield from ((sentence.source, format_m2(sentence)) for sentence in read_m2(path))
        else:
            for pair in read_pairs(path):
                source, target = (text.replace("\t", " ") for text in pair)
                yield source, f"{source}\t{target}\n"


def fold_of(source: str, folds: int) -> int:
    """Return the fold of a source: equal sentences, however they are spaced, are in the same fold."""
    digest = hashlib.sha256(" ".join(source.split()).encode()).digest()
    return int.from_bytes(digest[:8]) % folds


def write_fold(fold: Fold, model: str, decoding: ValidationSettings) -> None:
    """Write the candidates of a fold with the model that has not seen it."""
    generate(
        fold.sources,
        model,
        fold.candidates,
        size=decoding.beam,
        length_penalty=decoding.length_penalty,
        engine=decoding.engine,
        dtype="int8" if decoding.engine == "ctranslate2" else "float32",
    )


def in_order(paths: list[str], folds: list[Fold]) -> Iterator[Candidates]:
    """Stream the candidates of all folds in the order of the pairs."""
    rows = [read_candidates(fold.candidates) for fold in folds]
    for source, _ in read_records(paths, folds[0].suffix):
        number = fold_of(source, len(folds))
        row = next(rows[number], None)
        if row is None or row.source.split() != source.split():
            raise InputError(f"{folds[number].candidates}: is not of the present pairs; remove it, and start again.")
        yield row
