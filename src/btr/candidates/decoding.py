"""`btr generate --compare`: the paper's Table 2, decoding methods side by side."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from btr.candidates.base import METHODS
from btr.candidates.generate import generate
from btr.corpus.files import PathLike, write_lines
from btr.errors import InputError
from btr.metrics.base import name_file
from btr.metrics.evaluate import evaluate
from btr.metrics.gold import Paths, load_gold
from btr.models.convert import fingerprint, read_json
from btr.models.load import find


def compare_methods(
    sources: PathLike,
    model: str,
    folder: PathLike,
    methods: Sequence[str] = METHODS,
    *,
    metric: str = "m2",
    gold: Paths = (),
    reference: Paths = (),
    **options: Any,
) -> dict[str, Any]:
    """Write each method's candidates to the folder, and tell how often they hold the gold, and how good they could be.

    Options are those of `generate`. Candidates that an earlier run has made in the same way are not made again.
    """
    for method in methods:
        if method not in METHODS:
            raise InputError(f"{method!r} is no method to compare; choose among {', '.join(METHODS)}.")
    source = sources if metric == "gleu" else None
    load_gold(metric, gold=gold, source=source, reference=reference)  # before hours of work
    Path(folder).mkdir(parents=True, exist_ok=True)
    way = {"sources": name_file(sources), "model": fingerprint(Path(find(model))), **options}
    rows: dict[str, Any] = {}
    for method in methods:
        path = Path(folder) / f"{method}.jsonl"
        made = read_json(path.with_suffix(".made.json"))
        if not path.is_file() or made is None or made["way"] != way:
            made = {"way": way, **generate(sources, model, path, method=method, **options)}
            write_lines(path.with_suffix(".made.json"), [json.dumps(made)])
        score = evaluate(path, metric=metric, gold=gold, source=source, reference=reference, oracle=True, resamples=0)
        rows[method] = {
            **score.extra["candidates"],
            "oracle": score.scores,
            "signature": score.signature,
            "candidates": made["signature"],
        }
    return {"metric": metric, "methods": rows}
