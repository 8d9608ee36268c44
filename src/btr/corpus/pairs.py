"""Sources, and (source, target) pairs, from the formats of corpora: M2 (`.m2`), two columns (`.tsv`), or text."""

from collections.abc import Iterator
from pathlib import Path

from btr.corpus.files import PathLike, read_lines
from btr.corpus.m2 import read_m2
from btr.corpus.parallel import is_json_lines, read_tsv
from btr.errors import InputError


def read_sources(path: PathLike) -> Iterator[str]:
    """Stream the sources of a file: those of an M2 file, the first column of a TSV file, or all lines of a text."""
    if file_kind(path) != ".txt":
        yield from (source for source, _ in read_pairs(path))
        return
    if is_json_lines(path, ""):
        raise InputError(f"{path}: is no file of sources; these are text (one per line), .m2 or .tsv.")
    empty = True
    for line in read_lines(path):
        empty = False
        yield line
    if empty:
        raise InputError(f"{path}: is empty; expected one sentence per line.")


def read_pairs(path: PathLike) -> Iterator[tuple[str, str]]:
    """Stream sources and targets: an M2 file's first annotator's corrections, or the two columns of a TSV file."""
    kind = file_kind(path)
    if kind == ".m2":
        yield from ((sentence.source, sentence.corrected()) for sentence in read_m2(path))
    elif kind == ".tsv":
        yield from read_tsv(path)
    else:
        raise InputError(f"{path}: pairs are read from files whose names end in .m2 or .tsv (or these and .gz).")


def file_kind(path: PathLike) -> str:
    """Return a file's kind by its name: .m2, .tsv, or .txt for anything else."""
    suffix = Path(Path(path).name.removesuffix(".gz")).suffix
    return suffix if suffix in (".m2", ".tsv") else ".txt"
