"""`btr generate --compare`: the paper's Table 2, decoding methods side by side."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from btr.candidates.base import METHODS, Search
from btr.candidates.generate import check_engine, generate
from btr.corpus.files import PathLike, Paths, file_signature, write_lines
from btr.corpus.pairs import file_kind
from btr.errors import InputError, needs_models
from btr.metrics.evaluate import evaluate
from btr.metrics.gold import load_gold

SEARCH = set(Search.__dataclass_fields__) - {"method"}


def compare_methods(
    sources: PathLike,
    model: str,
    folder: PathLike,
    methods: Sequence[str] = METHODS,
    *,
    metric: str | None = None,
    gold: Paths = (),
    reference: Paths = (),
    **options: Any,
) -> dict[str, Any]:
    """Write each method's candidates to the folder, and tell how often they hold the gold, and how good they could be.

    Options are those of `generate`. Candidates that an earlier run has made in the same way are not made again.
    """
    metric = metric or ("gleu" if reference and not gold else "m2")
    for method in methods:
        if method not in METHODS:
            raise InputError(f"{method!r} is no method to compare; choose among {', '.join(METHODS)}.")
        own = {name: value for name, value in options.items() if name in SEARCH}
        check_engine(options.get("engine", "transformers"), Search(method, **own))
    if metric == "gleu" and file_kind(sources) != ".txt":
        raise InputError(f"{sources}: gleu needs the sources as text, one a line.")
    source = sources if metric == "gleu" else None
    load_gold(metric, gold=gold, source=source, reference=reference)  # before hours of work
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        from btr.models.convert import fingerprint, read_json
        from btr.models.load import fetch
    except ImportError as error:
        raise needs_models("generating", error) from None
    way = {"sources": file_signature(sources, "sources"), "model": fingerprint(fetch(model)), **options}
    rows: dict[str, Any] = {}
    for method in methods:
        path = Path(folder) / f"{method}.jsonl"
        made = read_json(path.with_suffix(".made.json"))
        if not path.is_file() or made is None or made["way"] != way:
            path.with_suffix(".made.json").unlink(missing_ok=True)
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
