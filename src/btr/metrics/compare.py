"""The verb `compare`: outputs of several systems side by side, each against the first."""

from collections.abc import Sequence

import numpy as np

from btr.corpus.files import PathLike, Paths
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array, Metric
from btr.metrics.gold import default_metric, load_gold
from btr.metrics.hypotheses import at_rank, read_hypotheses
from btr.metrics.results import ChangedSentences, Comparison, Contrast


def compare(
    first: PathLike,
    *others: PathLike,
    metric: str | None = None,
    test_set: str | None = None,
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
    rank: int | None = None,
    mode: str | None = None,
    beta: float | None = None,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> Comparison:
    """Compare outputs: their scores, the differences of each from the first, and their significance.

    The gold and the metric are chosen as in `evaluate`. With more than two outputs, p-values are also adjusted by
    Holm's method for the number of comparisons.
    """
    if not others:
        raise InputError("compare needs at least two outputs; 'btr evaluate' scores one.")
    check_resamples(resamples)
    against = load_gold(
        metric or default_metric(test_set),
        test_set=test_set,
        gold=gold,
        source=source,
        reference=reference,
        mode=mode,
        beta=beta,
        processes=processes,
    )
    paths = [first, *others]
    texts = [at_rank(read_hypotheses([path], against), rank or 1, path) for path in paths]
    counts = count_outputs(against.metric, texts, paths)
    return compare_counts(against.metric, texts, counts, paths, rank, resamples)


def check_resamples(resamples: int) -> None:
    """Refuse to test differences without resamples."""
    if resamples < 1:
        raise InputError(f"--resamples must be at least 1 where outputs are compared, not {resamples}.")


def count_outputs(metric: Metric, texts: Sequence[Sequence[str]], paths: Sequence[PathLike]) -> list[Array]:
    """Count each output, once all have texts of a length that the metric can count."""
    for path, rows in zip(paths, texts):
        metric.check_lengths(rows, str(path))
    return [metric.counts(rows) for rows in texts]


def compare_counts(
    metric: Metric,
    texts: Sequence[Sequence[str]],
    counts: Sequence[Array],
    paths: Sequence[PathLike],
    rank: int | None,
    resamples: int,
) -> Comparison:
    """Score each output, and test how it differs from the first."""
    scores = [metric.score_counts(rows) for rows in counts]
    tests = significance.adjust([significance.run_tests(metric, counts[0], rows, resamples) for rows in counts[1:]])
    contrasts = [
        Contrast(
            difference={name: score.scores[name] - value for name, value in scores[0].scores.items()},
            sentences=changed_sentences(metric, texts[0], rows, counts[0], counted),
            significance=test,
        )
        for score, rows, counted, test in zip(scores[1:], texts[1:], counts[1:], tests)
    ]
    return Comparison(tuple(map(str, paths)), tuple(scores), tuple(contrasts), rank)


def changed_sentences(
    metric: Metric, first: Sequence[str], second: Sequence[str], a: Array, b: Array
) -> ChangedSentences:
    """Count the sentences that differ between two outputs, and that are better and worse in the second."""
    before, after = metric.sentence_scores(a), metric.sentence_scores(b)
    return ChangedSentences(
        changed=sum(x.split() != y.split() for x, y in zip(first, second)),
        better=int(np.count_nonzero(after > before)),
        worse=int(np.count_nonzero(after < before)),
        all=len(before),
    )
