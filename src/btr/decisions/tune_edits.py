"""`btr tune --edits`: fit a judge on sets with gold, and say what to expect of it on other sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from btr.corpus.edits import EditTable, read_edit_tables
from btr.corpus.files import PathLike, Paths, as_paths
from btr.decisions.calibration import Calibration, calibrate
from btr.decisions.edit_table import choose_edits, edited_text
from btr.decisions.fit_judge import LabelledSet, fit_judges, label_edits, wanted_judges
from btr.decisions.judge import ASK_ABOUT_ALL, Judge, Judges, check_judge_name, check_settled, read_judges, write_judges
from btr.errors import InputError
from btr.metrics import significance
from btr.metrics.base import Array
from btr.metrics.errant import Errant
from btr.metrics.gold import Gold, load_gold
from btr.metrics.results import Score
from btr.records import Record
from btr.resume import check_output
from btr.wording import count_of

CUTOFFS = tuple(round(0.1 + 0.05 * k, 2) for k in range(13))  # 0.10 to 0.70
FOLDS = 5


@dataclass(frozen=True)
class TunedSet(Record):
    """What a judge does on a set that had no part in fitting it or in choosing its cut-off (cross-validated)."""

    name: str
    sentences: int
    edits: int
    base: Score
    cross_validated: Score
    gain: float
    interval: tuple[float, float]
    p: float
    calibration: Calibration
    curve: tuple[Score, ...]  # at each cut-off, with cross-validated confidences


@dataclass(frozen=True)
class TunedJudge(Record):
    """The judges that were fitted on all sentences, the cut-off, and what to expect of them."""

    judges: tuple[Judge, ...]
    rerankers: tuple[str, ...]  # names of those that the judges ask
    cutoff: float
    fold_cutoffs: tuple[float, ...]
    cutoffs: tuple[float, ...]
    settled: tuple[float, float]  # the last reranker is asked about edits whose confidence without it is in between
    sets: tuple[TunedSet, ...]


@dataclass(frozen=True)
class GoldSet:
    """A labelled set with the metric that measures it."""

    labelled: LabelledSet
    gold: Gold

    def texts(self, confidences: Sequence[Sequence[float]], cutoff: float, base_only: bool) -> list[str]:
        """Return the corrected sentences at a cut-off."""
        return [
            edited_text(table, choose_edits(table, values, cutoff, base_only))
            for table, values in zip(self.labelled.tables, confidences)
        ]


def tune_edits(
    tables: PathLike | Sequence[PathLike],
    output: PathLike | None = None,
    *,
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
    judge: PathLike | None = None,
    base_edits_only: bool = False,
    folds: int = FOLDS,
    cutoffs: Sequence[float] = CUTOFFS,
    settled: tuple[float, float] = ASK_ABOUT_ALL,
) -> TunedJudge:
    """Fit a judge on files of edit tables, each with its gold, and write it to a file.

    Several sets are fitted together: a judge of one set learns the habits of its annotators. Each gold file is an M2
    file; it is measured by ERRANT if it has ERRANT's types, else by M2. Source and references (GLEU) may stand for
    the gold of a single set. With `judge`, the judges of that file are adapted to the data. With `settled`, two
    confidences, the last reranker is asked only about edits that a judge without it gives a confidence in between.
    """
    check_settled(settled, "the bounds")
    if judge is not None:
        check_judge_name(judge)
    paths, golds = as_paths(tables), as_paths(gold)
    if not cutoffs or not all(0 <= cutoff <= 1 for cutoff in cutoffs):
        raise InputError("the cut-offs are probabilities, from 0 to 1.")
    if not paths:
        raise InputError("name one or more files of edit tables (btr score --edits).")
    if output is not None:
        others = [each for each in (source, judge) if each is not None]
        check_output(output, [*paths, *golds, *as_paths(reference), *others])
    if reference and len(paths) == 1 and not golds:
        sets = [read_set(paths[0], load_gold("gleu", source=source, reference=reference))]
    elif len(paths) != len(golds) or reference or source is not None:
        raise InputError(
            "each file of edit tables needs its gold: there are "
            f"{count_of(len(paths), 'file')} and {count_of(len(golds), 'gold')}."
        )
    else:
        sets = [read_set(path, load_edit_gold(each)) for path, each in zip(paths, golds)]
    check_rerankers(sets, paths)
    result = tune_sets(
        sets,
        priors=read_priors(judge, [each.labelled for each in sets]) if judge is not None else (),
        base_edits_only=base_edits_only,
        folds=folds,
        cutoffs=cutoffs,
        settled=settled,
    )
    if output is not None:
        write_judges(output, result.judges, result.rerankers, settled)
    return result


def tune_sets(
    sets: Sequence[GoldSet],
    *,
    priors: Sequence[Judge] = (),
    base_edits_only: bool = False,
    folds: int = FOLDS,
    cutoffs: Sequence[float] = CUTOFFS,
    settled: tuple[float, float] = ASK_ABOUT_ALL,
) -> TunedJudge:
    """Fit judges on labelled sets of the same rerankers together, choose the cut-off, and cross-validate both."""
    if not 2 <= folds <= min(len(each.labelled.tables) for each in sets):
        raise InputError(f"the sentences of a set can't be dealt into {folds} folds.")
    confidences, fold_cutoffs, choices = cross_validate(sets, priors, folds, cutoffs, base_edits_only, settled)
    judges = fit_judges([each.labelled for each in sets], priors)
    every = [all_confidences(judges, each.labelled, settled) for each in sets]
    cutoff = best_cutoff(sets, every, cutoffs, base_edits_only, [np.arange(len(each.labelled.tables)) for each in sets])
    tuned = [
        measure(each, values, texts, cutoffs, base_edits_only)
        for each, values, texts in zip(sets, confidences, choices)
    ]  # fmt: skip
    rerankers = sets[0].labelled.reranker_names
    return TunedJudge(tuple(judges), rerankers, cutoff, fold_cutoffs, tuple(cutoffs), settled, tuple(tuned))


def read_set(path: PathLike, gold: Gold) -> GoldSet:
    """Read edit tables, and label their edits by the gold."""
    header, stream = read_edit_tables(path)
    tables = list(stream)
    check_tables(tables, gold, path)
    names = tuple(f"{name.kind}:{name.model}" if name.model else name.kind for name in header.rerankers)
    labelled = LabelledSet(Path(path).name.partition(".")[0], tables, header.kinds, label_edits(tables, gold), names)
    return GoldSet(labelled, gold)


def check_tables(tables: Sequence[EditTable], gold: Gold, path: PathLike) -> None:
    """Refuse tables whose sources are not those of the gold."""
    metric = gold.metric
    if len(tables) != metric.size:
        raise InputError(
            f"{path}: has {count_of(len(tables), 'source')}, but {gold.name} has {count_of(metric.size, 'sentence')}."
        )
    for number, table in enumerate(tables):
        if table.candidates.source.split() != metric.source(number).split():
            raise InputError(f"{path}: source {number + 1} is not that of {gold.name}; are both in order?")


def load_edit_gold(path: PathLike) -> Gold:
    """Load an M2 file, to be measured by ERRANT if it has ERRANT's types, else by M2."""
    gold = load_gold("errant", gold=path)
    is_errant = isinstance(gold.metric, Errant) and gold.metric.has_types()
    return gold if is_errant else load_gold("m2", gold=path)


def check_rerankers(sets: Sequence[GoldSet], paths: Sequence[PathLike]) -> None:
    """Refuse files that don't have log-odds of the same rerankers."""
    for each, path in zip(sets, paths):
        if each.labelled.reranker_names != sets[0].labelled.reranker_names:
            raise InputError(f"{path}: has log-odds of other rerankers than {paths[0]}.")


def read_priors(path: PathLike, sets: Sequence[LabelledSet]) -> tuple[Judge, ...]:
    """Read the judges to be adapted; refuse them if they ask other rerankers, or if none has the wanted features."""
    judges = read_judges(path)
    _, names = wanted_judges(sets)[0]
    if judges.reranker_kinds != tuple(dict.fromkeys(sets[0].rerankers)) or not any(
        set(judge.names) == set(names) for judge in judges.judges
    ):
        asked = f"with {' and '.join(judges.rerankers)}" if judges.rerankers else "without a reranker"
        raise InputError(
            f"{path}: has no judge with the features {', '.join(names)}; score the edits {asked}, as it was fitted, or "
            "fit a new judge."
        )
    return judges.judges


def all_confidences(
    judges: Sequence[Judge], labelled: LabelledSet, settled: tuple[float, float] = ASK_ABOUT_ALL
) -> list[list[float]]:
    """Return the confidence of each edit of a set."""
    together = Judges.make(judges, labelled.reranker_names, "", settled)
    return [together.confidences(table, labelled.rerankers) for table in labelled.tables]


def cross_validate(
    sets: Sequence[GoldSet],
    priors: Sequence[Judge],
    folds: int,
    cutoffs: Sequence[float],
    base_only: bool,
    settled: tuple[float, float] = ASK_ABOUT_ALL,
) -> tuple[list[list[list[float]]], tuple[float, ...], list[list[str]]]:
    """Return the confidences and corrected texts of each sentence by judges and cut-offs of the other folds."""
    confidences: list[list[list[float]]] = [[[]] * len(each.labelled.tables) for each in sets]
    texts: list[list[str]] = [[""] * len(each.labelled.tables) for each in sets]
    chosen = []
    for fold in range(folds):
        rest = [np.flatnonzero(np.arange(len(each.labelled.tables)) % folds != fold) for each in sets]
        judges = fit_judges([each.labelled.select(numbers.tolist()) for each, numbers in zip(sets, rest)], priors)
        every = [all_confidences(judges, each.labelled, settled) for each in sets]
        chosen.append(best_cutoff(sets, every, cutoffs, base_only, rest))
        for k, each in enumerate(sets):
            made = each.texts(every[k], chosen[-1], base_only)
            for number in range(fold, len(made), folds):
                confidences[k][number], texts[k][number] = every[k][number], made[number]
    return confidences, tuple(chosen), texts


def best_cutoff(
    sets: Sequence[GoldSet],
    confidences: Sequence[Sequence[Sequence[float]]],
    cutoffs: Sequence[float],
    base_only: bool,
    numbers: Sequence[Array],
) -> float:
    """Return the cut-off with the best mean of the sets' scores over some sentences; of equals the highest."""
    totals = np.zeros(len(cutoffs))
    for each, values, chosen in zip(sets, confidences, numbers):
        metric = each.gold.metric
        for k, cutoff in enumerate(cutoffs):
            texts = each.texts(values, cutoff, base_only)
            counts = metric.stack(metric.count_pairs([(number, texts[number]) for number in chosen.tolist()]))
            totals[k] += metric.score_counts(counts).value
    return max(zip(totals.tolist(), cutoffs))[1]


def measure(
    each: GoldSet,
    confidences: Sequence[Sequence[float]],
    texts: Sequence[str],
    cutoffs: Sequence[float],
    base_only: bool,
) -> TunedSet:
    """Measure cross-validated confidences and texts on a set."""
    metric, labelled = each.gold.metric, each.labelled
    base = metric.counts([table.candidates.texts[0] for table in labelled.tables])
    crossed = metric.counts(texts)
    test = significance.bootstrap(metric, base, crossed)[metric.main_score]
    low, high = test.interval or (0.0, 0.0)
    before, after = metric.score_counts(base), metric.score_counts(crossed)
    flat = [value for values in confidences for value in values]
    return TunedSet(
        labelled.name,
        len(labelled.tables),
        len(flat),
        before,
        after,
        after.value - before.value,
        (100 * low, 100 * high),
        test.p,
        calibrate(flat, np.concatenate([np.zeros(0, dtype=bool), *labelled.labels])),
        tuple(metric.score(each.texts(confidences, cutoff, base_only)) for cutoff in cutoffs),
    )
