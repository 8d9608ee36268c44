"""`btr tune`: which number of candidates, threshold and weights are best, and what to hope for on other sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from btr.corpus.files import PathLike, as_paths
from btr.corpus.scores import Header, Scored
from btr.decisions.grid import DecisionGrid
from btr.decisions.rerank import read_ensemble
from btr.decisions.search import SearchSpace, best_settings, cross_validate
from btr.decisions.settings import Settings
from btr.errors import InputError
from btr.metrics.gold import load_gold
from btr.metrics.results import Score
from btr.metrics.significance import bootstrap
from btr.records import Record

TOPS = 5, 10, 15, 20  # the paper's a_pred
MAX_STEPS = 1000  # between the thresholds 0 and 1


@dataclass(frozen=True)
class Tuning(Record):
    """The best settings of a reranker with their score, and the cross-validated score with its gain over the base.

    The gain has a 95 % interval and a p-value, by a paired bootstrap. `fold_settings` are the best of each fold.
    """

    best: Settings
    best_score: Score
    cross_validated: Score
    fold_settings: tuple[Settings, ...]
    gain: float
    interval: tuple[float, float]
    p: float


@dataclass(frozen=True)
class TunedModel(Tuning):
    """A scores file's tuning, with the main score of each number of candidates and threshold.

    `changed` says whether any suggestion is accepted there; where none is, the score is the base candidates'.
    """

    scores: str  # the file's name
    reranker: str  # its signature
    tops: tuple[int, ...]
    grid: tuple[tuple[float, ...], ...]  # (tops, thresholds)
    changed: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class Tuned(Record):
    """What `tune` finds: the base score, each scores file's grid, and the mixture of all if it is wanted."""

    base: Score
    thresholds: tuple[float, ...]
    models: tuple[TunedModel, ...]
    signature: str
    mixture: Tuning | None = None


def tune(
    scores: PathLike | Sequence[PathLike],
    *,
    metric: str = "m2",
    gold: PathLike | Sequence[PathLike] = (),
    source: PathLike | None = None,
    reference: PathLike | Sequence[PathLike] = (),
    top: Sequence[int] = TOPS,
    step: float = 0.1,
    folds: int = 10,
    gap: float | None = None,
    at_least: bool = False,
    drop_runaways: bool = False,
    average: str = "log",
    mix: bool = False,
) -> Tuned:
    """Try every number of candidates and every threshold on a validation set, for each scores file by itself.

    The cross-validated score is the one to hope for on other sentences: each fold is decided with what is best on the
    others. With `mix`, all files become one reranker, and the weight of each kind is tuned too, by the metric itself.
    """
    paths = as_paths(scores)
    if not paths:
        raise InputError("name at least one scores file.")
    if not top or min(top) < 1:
        raise InputError("the numbers of candidates must be 1 or more.")
    if not 1 / MAX_STEPS <= step <= 1:
        raise InputError(f"the step between thresholds must be from {1 / MAX_STEPS:g} to 1, not {step:g}.")
    judge = load_gold(metric, gold=gold, source=source, reference=reference).metric
    start = Settings(gap=gap, at_least=at_least, drop_runaways=drop_runaways, average=average)
    thresholds = tuple(round(k * step, 6) for k in range(int(1 / step + 1e-9) + 1))
    read = [read_file([path]) for path in paths]
    mixed = read_file(paths) if mix else None
    if mixed and len(set(mixed[0].kinds)) < 2:
        raise InputError("a mixture needs several kinds of rerankers, e.g. contrast and base; models of one kind are "
                         "averaged.")  # fmt: skip
    models = []
    for path, (header, rows) in zip(paths, read):
        grid = DecisionGrid(judge, rows, header.kinds)
        space = SearchSpace(reachable(grid, top), thresholds, start)
        models.append(tune_model(grid, space, folds, Path(path).name, header.signature))
    mixture = None
    if mixed:
        grid = DecisionGrid(judge, mixed[1], mixed[0].kinds)
        mixture = tune_settings(grid, SearchSpace(reachable(grid, top), thresholds, start, mix=True), folds)
    base = judge.score([row.candidates.texts[0] for row in read[0][1]])
    return Tuned(base, thresholds, tuple(models), judge.signature(), mixture)


def read_file(paths: Sequence[PathLike]) -> tuple[Header, list[Scored]]:
    """Read all of one or several scores files."""
    header, rows = read_ensemble(paths)
    scored = list(rows)
    if not scored:
        raise InputError(f"{paths[0]}: has a header and no scores; was it cut short?")
    return header, scored


def reachable(grid: DecisionGrid, tops: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of candidates that differ: none is larger than what there is."""
    return tuple(sorted({min(top, grid.width) for top in tops}))


def tune_model(grid: DecisionGrid, space: SearchSpace, folds: int, name: str, signature: str) -> TunedModel:
    """Measure every cell of the grid, and tune the settings."""
    choices = grid.choose(space.settings())
    shape = len(space.tops), len(space.thresholds)
    values = grid.values(choices).reshape(shape).tolist()
    changed = np.any(grid.accepted(choices), axis=1).reshape(shape).tolist()
    tuning = tune_settings(grid, space, folds)
    return TunedModel(
        **vars(tuning),
        scores=name,
        reranker=signature,
        tops=tuple(top for top in space.tops if top is not None),
        grid=tuple(map(tuple, values)),
        changed=tuple(map(tuple, changed)),
    )


def tune_settings(grid: DecisionGrid, space: SearchSpace, folds: int) -> Tuning:
    """Find the best settings, and the score that settings found in the same way have on sentences held out."""
    crossed = cross_validate(grid, space, folds)
    best = best_settings(grid, space)
    best = replace(best, candidates=max(best.candidates, best.top or 0), rerankers=grid.distinct_kinds)
    base = np.zeros_like(crossed.choices)
    tests = bootstrap(grid.metric, grid.counts_of(base), grid.counts_of(crossed.choices))
    test = tests[grid.metric.main_score]
    low, high = test.interval or (0.0, 0.0)
    gain = crossed.score.value - grid.score(base).value
    score = grid.score(grid.choose([best])[0])
    return Tuning(best, score, crossed.score, crossed.settings, gain, (100 * low, 100 * high), test.p)
