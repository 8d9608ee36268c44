"""`btr tune`: which number of candidates and threshold are best, for one reranker, several, or a mixture of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from btr.corpus.files import PathLike
from btr.corpus.scores import Scored, read_scores
from btr.errors import InputError
from btr.metrics.gold import load_gold
from btr.metrics.significance import bootstrap
from btr.rerankers.base import Rule
from btr.rerankers.table import Setting, Table, cross_validate
from btr.rerankers.table import tune as search

TOPS = 5, 10, 15, 20  # the paper's a_pred
MOST = 1000  # steps between 0 and 1


def tune(
    scores: Sequence[PathLike],
    *,
    metric: str = "m2",
    gold: Sequence[PathLike] = (),
    source: PathLike | None = None,
    reference: Sequence[PathLike] = (),
    top: Sequence[int] = TOPS,
    step: float = 0.1,
    folds: int = 10,
    at_least: bool = False,
    drop_runaways: bool = False,
    mix: bool = False,
    plot: PathLike | None = None,
) -> dict[str, Any]:
    """Try every number of candidates and every threshold on a validation set; gives the grid of each scores file.

    `best` is the best cell; `crossed` is the score with which one may hope for it on other sentences: each fold is
    reranked with what is best on the others. Its `difference` to the base model's score has a 95 % interval and a
    p-value, by a paired bootstrap. With `mix` the files become one reranker, whose score is a weighted sum
    (log-linear), and the weights are tuned as well, by the metric itself.
    """
    if not scores:
        raise InputError("name at least one scores file.")
    if not top or min(top) < 1:
        raise InputError("the numbers of candidates must be 1 or more.")
    if not 1 / MOST <= step <= 1:
        raise InputError(f"the step between thresholds must be from {1 / MOST:g} to 1, not {step:g}.")
    if mix and len(scores) < 2:
        raise InputError("a mixture needs several scores files, e.g. the reranker's and the base model's own.")
    against = load_gold(metric, gold=gold, source=source, reference=reference).metric
    rule = Rule(at_least=at_least, drop_runaways=drop_runaways)
    thresholds = [round(k * step, 6) for k in range(int(1 / step + 1e-9) + 1)]
    read = [read_file(path) for path in scores]
    models = []
    for path, (signature, rows) in zip(scores, read):
        found = try_all(Table(against, [rows], rule), top, thresholds, folds)
        models.append({"scores": Path(path).name, "reranker": signature, **found})
    first = read[0][1]
    result: dict[str, Any] = {
        "base": against.score([row.candidates[0] for row in first]).to_dict(),
        "thresholds": thresholds,
        "models": models,
        "signature": against.signature(),
    }
    if mix:
        table = Table(against, [rows for _, rows in read], rule)
        result["mixture"] = describe(table, top, thresholds, folds)
    if plot is not None:
        try:
            from btr.studies.figures import draw_grids, save
        except ImportError as error:
            raise InputError(f"drawing needs the extra 'train': pip install 'btr-gec[train]' ({error}).") from None
        save(draw_grids(result), plot)
    return result


def read_file(path: PathLike) -> tuple[str, list[Scored]]:
    """The signature and the rows of a scores file."""
    header, rows = read_scores(path)
    read = list(rows)
    if not read:
        raise InputError(f"{path}: has a header and no scores; was it cut short?")
    return header.signature, read


def reach(table: Table, tops: Sequence[int]) -> list[int]:
    """The numbers of candidates that can be told apart: no more than there are."""
    return sorted({min(top, table.taking.shape[1]) for top in tops})


def try_all(table: Table, tops: Sequence[int], thresholds: Sequence[float], folds: int) -> dict[str, Any]:
    """The grid over both, the best cell, and its cross-validated score."""
    tops = reach(table, tops)
    settings = [Setting(top, threshold) for top in tops for threshold in thresholds]
    choices = table.choose(settings)
    values = table.values(choices)
    changed = np.any(choices > 0, axis=1)  # where none is accepted, the cell is the base model's
    width = len(thresholds)
    rows = range(0, len(settings), width)
    return {
        "tops": tops,
        "grid": [[float(value) for value in values[k : k + width]] for k in rows],
        "changed": [[bool(value) for value in changed[k : k + width]] for k in rows],
        **describe(table, tops, thresholds, folds),
    }


def describe(table: Table, tops: Sequence[int], thresholds: Sequence[float], folds: int) -> dict[str, Any]:
    """The best setting and its score; and the score that settings chosen in the same way have on sentences held out."""
    tops = reach(table, tops)
    crossed = cross_validate(table, tops, thresholds, folds)
    setting = search(table, tops, thresholds)
    base = np.zeros_like(crossed.choices)
    test = list(bootstrap(table.metric, table.counts_of(base), table.counts_of(crossed.choices)).values())[-1]
    return {
        "best": {**setting._asdict(), **table.score(table.choose([setting])[0]).to_dict()},
        "crossed": {
            "folds": folds,
            "settings": [own._asdict() for own in crossed.settings],
            **crossed.score.to_dict(),
            "difference": crossed.score.value - table.score(base).value,
            "interval": [100 * value for value in test.interval or ()],
            "p": test.p,
        },
    }
