"""Loading what hypotheses are scored against: a metric over its corpus, groups of sentences, and references."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from btr.corpus.files import PathLike, Paths, as_paths, check_same_length, read_text
from btr.corpus.m2 import Sentence
from btr.corpus.named_sets import SETS, check_sentences, locate_set
from btr.errors import InputError
from btr.metrics import METRICS
from btr.metrics.base import Metric
from btr.metrics.inputs import MetricFiles, MetricOptions


@dataclass(frozen=True)
class Gold:
    """What hypotheses are scored against: a metric, the group of each sentence, and references for the oracle."""

    metric: Metric
    name: str  # the files, for messages
    groups: Sequence[str] | None
    references: Sequence[Sequence[str]]
    reference_name: str


def default_metric(test_set: str | None) -> str:
    """Return the metric where none is chosen: the one by which results on the set are published, or M2."""
    return "m2" if test_set is None or test_set not in SETS else SETS[test_set].metric


def open_files(
    test_set: str | None = None,
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
) -> MetricFiles:
    """Return the files to score against: those that are named, or those of a named set.

    A set with M2 files may have references beside it, which the oracle compares with.
    """
    if test_set is None:
        return MetricFiles(as_paths(gold), source, as_paths(reference))
    given = {"--gold": as_paths(gold), "--source": source, "--reference": as_paths(reference)}
    located = locate_set(test_set)
    for option, value in given.items():
        if value and (option != "--reference" or located.references):
            raise InputError(f"--set {test_set} has its own files; leave out {option}.")
    references = [*located.references, *as_paths(reference)]
    return MetricFiles(located.gold, located.source, references, located)


def load_gold(
    metric: str,
    *,
    test_set: str | None = None,
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
    groups: PathLike | None = None,
    mode: str | None = None,
    beta: float | None = None,
    processes: int | None = None,
) -> Gold:
    """Read what hypotheses are scored against, and build the metric."""
    kind = METRICS[metric]
    files = open_files(test_set, gold, source, reference)
    options = MetricOptions(beta=beta, mode=mode)
    options.check(metric, kind.options)
    return build_gold(metric, files, options, groups, processes)


def build_gold(
    metric: str,
    files: MetricFiles,
    options: MetricOptions,
    groups: PathLike | None = None,
    processes: int | None = None,
) -> Gold:
    """Build a metric over files, which several metrics may share."""
    kind = METRICS[metric]
    files.check(metric, kind.needs)
    built = kind.from_files(files, options, processes)
    if files.test_set:
        check_sentences(files.test_set, built.size)
        built.test_set = files.test_set.name
    reference_name = files.signature("reference") or "gold"
    paths = files.paths(kind.needs[0])
    labels: Sequence[str] | None = None
    if groups is not None:
        labels = read_text(groups)
        check_same_length([(str(groups), len(labels)), ("the gold", built.size)])
    elif kind.needs[0] == "gold" and len(paths) > 1:
        labels = [label for label, part in zip(short_names(paths), files.gold_parts) for _ in part]
    return Gold(
        metric=built,
        name=" + ".join(map(str, paths)),
        groups=labels,
        references=files.references or [corrections(sentence) for sentence in files.sentences],
        reference_name=reference_name,
    )


def corrections(sentence: Sentence) -> tuple[str, ...]:
    """Return each annotator's corrected sentence."""
    return tuple(dict.fromkeys(sentence.corrected(annotator) for annotator in sentence.annotations or (0,)))


def short_names(paths: Sequence[PathLike]) -> list[str]:
    """Return the files' names up to the first dot, if these differ (A.dev.gold.bea19.m2 is A), else the whole paths."""
    short = [Path(path).name.split(".")[0] for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]
