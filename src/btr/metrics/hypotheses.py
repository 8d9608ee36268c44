"""Reading hypotheses: plain text, the candidates of one rank, or one file per rank."""

from collections.abc import Sequence

from btr.corpus.candidates import read_candidates
from btr.corpus.files import PathLike, check_same_length, read_text, zip_lines
from btr.corpus.parallel import is_json_lines
from btr.errors import InputError
from btr.metrics.gold import Gold


def read_hypotheses(paths: Sequence[PathLike], against: Gold) -> list[tuple[str, ...]]:
    """Read the candidates of each sentence: from a candidates file, or from plain text with one file per rank."""
    if len(paths) > 1:
        refuse_candidates(paths)
        rows = list(zip_lines(paths))
    else:
        lines = read_text(paths[0])
        if not is_json_lines(paths[0], lines[0]):
            rows = [(line,) for line in lines]
        else:
            candidates = list(read_candidates(paths[0], lines))
            check_same_length([(against.name, against.metric.size), (str(paths[0]), len(candidates))])
            for number, row in enumerate(candidates):
                if row.source.split() != against.metric.source(number).split():
                    raise InputError(f"{paths[0]}, line {number + 1}: its source is not the one of {against.name}.")
            rows = [row.texts for row in candidates]
    check_same_length([(against.name, against.metric.size), (str(paths[0]), len(rows))])
    return rows


def refuse_candidates(paths: Sequence[PathLike]) -> None:
    """Refuse candidates files among several: only text files are the ranks of one system."""
    for path in paths:
        if is_json_lines(path, ""):
            raise InputError(f"{path}: has all ranks of a system; name it alone, or name one text file per rank.")


def at_rank(rows: Sequence[Sequence[str]], rank: int, path: PathLike) -> list[str]:
    """Return each sentence's candidate of a rank, counted from 1."""
    for number, row in enumerate(rows, 1):
        if rank > len(row):
            raise InputError(f"{path}, line {number}: has no candidate of rank {rank}, but {len(row)} in all.")
    return [row[rank - 1] for row in rows]
