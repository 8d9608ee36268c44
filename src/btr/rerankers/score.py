"""`btr score`: candidates in, scores out, by any rerankers."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from btr.corpus.candidates import Candidates, read_candidates
from btr.corpus.files import PathLike, file_signature, read_lines
from btr.corpus.scores import to_json
from btr.errors import InputError, needs_models
from btr.rerankers.base import Reranker
from btr.rerankers.ensemble import AVERAGES, Ensemble
from btr.rerankers.free import MBR, Base, Free, Vote
from btr.resume import Share, check_output, write_windows

WINDOW = 32  # sources that are scored together
FREE: dict[str, type[Free]] = {"base": Base, "mbr": MBR, "vote": Vote}
WITH_MODEL = "btr", "contrast", "l2r", "r2l", "roberta", "bert"


def score(
    candidates: PathLike,
    rerankers: Sequence[str],
    output: PathLike,
    *,
    top: int | None = None,
    average: str = "log",
    dtype: str = "float32",
    device: str | None = None,
    int8: bool = False,
    budget: int = 4096,
) -> str:
    """Score every candidate of a file; gives the signature of the scores.

    A reranker is `kind:model` (btr, contrast, l2r, r2l, roberta, bert) or `base`, `mbr`, `vote`. Several of one kind
    are averaged, different kinds are added. With `top`, only that many of each source take part. What is done
    is kept: the same call after an interruption goes on.
    """
    if average not in AVERAGES:
        raise InputError(f"average must be one of {', '.join(AVERAGES)}, not {average!r}.")
    if not rerankers:
        raise InputError("name at least one reranker, e.g. btr:MODEL.")
    if all(spec in FREE for spec in rerankers) and (dtype, device, int8) != ("float32", None, False):
        raise InputError(
            f"{', '.join(rerankers)}: without a model, dtype, device and int8 do not apply; leave them out."
        )
    if top is not None and top < 1:
        raise InputError(f"top must be 1 or more, not {top}.")
    check_output(output, [candidates])
    # What the same scores depend on: with another budget, sums would be rounded otherwise.
    header: dict[str, Any] = {"budget": budget, **({"top": top} if top else {})}
    if os.fspath(candidates) != "-":
        header["candidates"] = file_signature(candidates, "candidates")
        header["sources"] = sum(1 for _ in read_lines(candidates))  # tells a file that was cut from a whole one
    loaded = [load_reranker(spec, dtype=dtype, device=device, int8=int8, budget=budget) for spec in rerankers]
    ensemble = Ensemble(loaded, average)
    header = {"reranker": ensemble.kind, "signature": ensemble.signature, **header}
    if os.fspath(candidates) == "-" and os.fspath(output) != "-":
        Share.current().part(output).unlink(missing_ok=True)  # a stream can't be told from another, so none is resumed

    def work(window: Sequence[Candidates]) -> Iterable[str]:
        return (json.dumps(to_json(row), ensure_ascii=False, allow_nan=False) for row in ensemble.score_many(window))

    rows = (row.first(top) for row in read_candidates(candidates))
    write_windows(rows, work, output, header, WINDOW, "Scoring")
    return ensemble.signature


def load_reranker(
    spec: str, *, dtype: str = "float32", device: str | None = None, int8: bool = False, budget: int = 4096
) -> Reranker:
    """A reranker from its description: `kind:model`, or the name of one that needs no model."""
    kind, model = check_spec(spec)
    if not model:
        return FREE[kind]()
    try:
        from btr.models.load import is_t5, load
        from btr.rerankers.btr import BTR
        from btr.rerankers.contrast import Contrast, ContrastEncoder
        from btr.rerankers.encoders import BERT, RoBERTa
        from btr.rerankers.left_to_right import LeftToRight, RightToLeft
    except ImportError as error:
        raise needs_models(spec, error) from None
    own = ("btr" if is_t5(model) else "roberta") if kind == "contrast" else kind
    loaded = load(own, model, dtype=dtype, device=device, int8=int8)
    classes: dict[str, Any] = {
        "btr": BTR,
        "contrast": Contrast if own == "btr" else ContrastEncoder,
        "l2r": LeftToRight,
        "r2l": RightToLeft,
        "roberta": RoBERTa,
        "bert": BERT,
    }
    reranker: Reranker = classes[kind](loaded, budget)
    return reranker


def check_spec(spec: str) -> tuple[str, str]:
    """A reranker's description in its parts, kind and model."""
    kind, _, model = spec.partition(":")
    if kind not in (WITH_MODEL if model else FREE):
        raise InputError(
            f"{spec!r} is no reranker; use {', '.join(f'{name}:MODEL' for name in WITH_MODEL)}, "
            f"or one that needs no model: {', '.join(FREE)}."
        )
    return kind, model
