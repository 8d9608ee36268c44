"""Reading what hypotheses are scored against: M2 files or references, groups, and the metric made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from btr.corpus.files import PathLike, Paths, as_paths, check_same_length, file_signature, read_text
from btr.corpus.m2 import Sentence, read_m2
from btr.corpus.parallel import read_references
from btr.errors import InputError
from btr.metrics.base import Metric
from btr.metrics.errant import MODES, Errant
from btr.metrics.gleu import GLEU
from btr.metrics.m2 import M2

METRICS = "m2", "errant", "gleu"


@dataclass(frozen=True)
class Gold:
    """What hypotheses are scored against: a metric, the label of each sentence's group, and references if known."""

    metric: Metric
    name: str
    groups: Sequence[str] | None
    references: Sequence[Sequence[str]]
    reference_name: str


def load_gold(
    metric: str,
    *,
    gold: Paths = (),
    source: PathLike | None = None,
    reference: Paths = (),
    groups: PathLike | None = None,
    mode: str = "correction",
    beta: float = 0.5,
    processes: int | None = None,
) -> Gold:
    """Read what hypotheses are scored against, and make the metric."""
    one_of("metric", metric, METRICS)
    one_of("mode", mode, MODES)
    if not 0 < beta <= 1000:
        raise InputError(f"beta must be larger than 0 and at most 1000, not {beta:g}.")
    texts, names = read_all_references(as_paths(reference))
    if metric == "gleu":
        if source is None or not texts:
            raise InputError("gleu needs --source and at least one --reference.")
        files = f"{file_signature(source, 'sources')}+{names}"
        sources = read_text(source)
        check_same_length([(str(source), len(sources)), (names, len(texts))])
        return Gold(
            GLEU(sources, texts, files, processes), str(source), read_groups(groups, len(sources)), texts, names
        )
    paths = as_paths(gold)
    if not paths:
        raise InputError(f"{metric} needs --gold, an M2 file.")
    name = "+".join(file_signature(path, "gold") for path in paths)
    parts = [list(read_m2(path)) for path in paths]
    sentences = [sentence for part in parts for sentence in part]
    labels: Sequence[str] | None = read_groups(groups, len(sentences))
    if labels is None and len(parts) > 1:
        labels = [label for label, part in zip(short_names(paths), parts) for _ in part]
    measure: Metric
    if metric == "m2":
        measure = M2(sentences, name, beta, processes)
    else:
        measure = Errant(sentences, name, mode, beta, processes)
    wanted = texts or list(map(all_corrections, sentences))
    return Gold(measure, " + ".join(map(str, paths)), labels, wanted, names or "gold")


def read_all_references(paths: Sequence[PathLike]) -> tuple[list[tuple[str, ...]], str]:
    """The references of each sentence from all files, and the files' names."""
    names = "+".join(file_signature(path, "references") for path in paths)
    texts = [read_references(path) for path in paths]
    check_same_length([(str(path), len(text)) for path, text in zip(paths, texts)])
    for path, text in zip(paths, texts):
        for number, row in enumerate(text, 1):
            if len(row) != len(text[0]) or not row:
                raise InputError(
                    f"{path}, line {number}: has {len(row)} references, but line 1 has {len(text[0])}; "
                    "every sentence needs the same number, at least one."
                )
    return [tuple(ref for row in rows for ref in row) for rows in zip(*texts)], names


def all_corrections(sentence: Sentence) -> tuple[str, ...]:
    """Each annotator's corrected sentence."""
    return tuple(dict.fromkeys(sentence.corrected(annotator) for annotator in sentence.annotations or (0,)))


def one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")


def read_groups(path: PathLike | None, size: int) -> list[str] | None:
    """Labels, one a sentence."""
    if path is None:
        return None
    labels = read_text(path)
    check_same_length([(str(path), len(labels)), ("the gold", size)])
    return labels


def short_names(paths: Sequence[PathLike]) -> list[str]:
    """Files' names up to the first dot, if those tell them apart (A.dev.gold.bea19.m2 is A)."""
    short = [Path(path).name.split(".")[0] for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]
