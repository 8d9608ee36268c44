"""How good the shipped models are: t5gec-small alone, and with btr-small's reranking. Makes the README's table.

CoNLL-13 (M2), W&I dev (ERRANT, by level) and JFLEG dev (GLEU), corrected as `btr correct` does it: with the threshold
of the profile `minimal`, and of `fluency` for JFLEG; and btr-small's choice among the paper's T5GEC candidates of
CoNLL-13. On CoNLL-13 and JFLEG, where thresholds were tuned, the figure that counts is the cross-validated one: the
threshold for each tenth of the sentences is chosen on the other nine (the profiles' other settings were chosen with all
of CoNLL-13 in sight). Nothing was tuned on W&I dev. The speed is that of the models in sentences of CoNLL-13 a
second of CPU time, as in `peers.py`.

    BTR_DATA=../shared/data python benchmarks/shipped.py [--work runs/shipped] [--output results.json] [--speed 200]

Scores are kept in the work folder; a second run asks only for what is missing.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from common import data_folder
from peers import Set, load_sets, print_rows

from btr.candidates.generate import generate_many
from btr.corpus.candidates import read_candidates
from btr.corpus.files import read_lines, writing
from btr.corpus.scores import Scored, read_scores, to_json
from btr.correction import NO_RERANKER, DEFAULT_RERANKERS
from btr.correction.corrector import Corrector
from btr.correction.profiles import read_profile
from btr.rerankers.score import load_reranker
from btr.rerankers.table import Setting, Table, cross_validate
from btr.resume import write_windows

PROFILES = {"conll13": "minimal", "wi-dev": "minimal", "jfleg-dev": "fluency"}
TUNED = "conll13", "jfleg-dev"
WINDOW = 64


def prepare(corrector: Corrector, path: Path, sources: Sequence[str]) -> list[Scored]:
    """The scores of each source's candidates; both are kept until a model changes."""
    written = path.with_suffix(".candidates.jsonl")
    header = {"signature": f"{corrector.engine.signature}|{corrector.search.signature()}", "sources": len(sources)}
    make(written, header, sources, lambda window: generate_many(corrector.engine, window, corrector.search))
    records = [json.loads(line) for line in islice(read_lines(written), 1, None)]
    header = {"reranker": "f", "signature": corrector.signature, "sources": len(sources)}
    make(
        path,
        header,
        records,
        lambda window: (to_json(in_short(corrector, *found)) for found in corrector.decide(window)),
    )
    return list(read_scores(path)[1])


def make(
    path: Path, header: dict[str, Any], items: Sequence[Any], work: Callable[[Sequence[Any]], Iterable[dict[str, Any]]]
) -> None:
    """Write a JSON object for each item, unless that was done."""
    if not path.exists() or next(read_lines(path)) != json.dumps(header):
        write_windows(
            items,
            lambda window: (json.dumps(row, ensure_ascii=False) for row in work(window)),
            path,
            header,
            WINDOW,
            path.stem,
        )


def in_short(corrector: Corrector, record: dict[str, Any], chosen: Any) -> Scored:
    """A source's candidates that may take part, and the logarithm of f in the place of scores."""
    texts = tuple(record["candidates"][: corrector.rule.top])
    return Scored(
        record["source"], texts, tuple(math.log(f) if f else None for f in chosen.f[: len(texts)]), (1,) * len(texts)
    )


def measure(own: Set, rows: list[Scored], threshold: float, tuned: bool) -> list[dict[str, Any]]:
    """The scores of the base model's choice, of the profile's, and if that was tuned here, of the cross-validated."""
    table = Table(own.gold.metric, [rows])
    (chosen,) = table.choose([Setting(None, threshold)])
    crossed, thresholds = chosen, [threshold]
    if tuned:
        _, settings, crossed = cross_validate(table)
        thresholds = sorted({setting.threshold for setting in settings})
    return [
        own.score([row.candidates[0] for row in rows]),
        {**own.score(table.texts(chosen)), "threshold": threshold},
        {**own.score(table.texts(crossed)), "thresholds": thresholds},
    ]


def speed(sources: Sequence[str], reranker: str | Sequence[str]) -> float:
    """Sentences a second of CPU time."""
    corrector = Corrector.load(reranker=reranker)
    list(corrector.choose(sources[:1]))  # warm up
    start = time.process_time()
    for first in range(0, len(sources), WINDOW):
        list(corrector.choose(sources[first : first + WINDOW]))
    return len(sources) / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark: how good the shipped models are")
    parser.add_argument("--work", type=Path, default=Path("runs/shipped"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--speed", type=int, default=200, help="sentences to measure the speed with")
    options = parser.parse_args()
    work, data = options.work, data_folder()
    work.mkdir(parents=True, exist_ok=True)
    corrector = Corrector.load(threshold=0.0)  # scores do not depend on it
    sets = load_sets(data, None)
    few = sets[0].sources[: options.speed]
    rows: list[dict[str, Any]] = [
        {"name": "t5gec-small", "scores": {}, "sentences_per_cpu_second": speed(few, NO_RERANKER)},
        {"name": "+ btr-small", "scores": {}, "sentences_per_cpu_second": speed(few, DEFAULT_RERANKERS)},
        {"name": "+ btr-small, cross-validated", "scores": {}},
    ]
    for own in sets:
        scored = prepare(corrector, work / f"{own.name}.jsonl", own.sources)
        threshold = read_profile(DEFAULT_RERANKERS[0], PROFILES[own.name]).threshold
        for row, score in zip(rows, measure(own, scored, threshold, own.name in TUNED), strict=True):
            row["scores"][own.name] = score
    print_rows(rows)
    given = [row.first(corrector.rule.top) for row in read_candidates(data / "conll13" / "t5gec-candidates.jsonl")]
    path = work / "paper.jsonl"
    alone = load_reranker(DEFAULT_RERANKERS[0], int8=True)  # the paper's candidates come without log-probabilities
    header = {"reranker": "contrast", "signature": alone.signature, "sources": len(given)}
    make(path, header, given, lambda window: map(to_json, alone.score_many(window)))
    base, _, crossed = measure(sets[0], list(read_scores(path)[1]), 1.0, True)
    print(f"The paper's T5GEC candidates of CoNLL-13: {base['scores']['f0.5']:.2f}", end="")
    print(f" → {crossed['scores']['f0.5']:.2f}, cross-validated (thresholds {crossed['thresholds']})")
    if options.output:
        with writing(options.output) as file:
            json.dump({"systems": rows, "paper": {"base": base, "crossed": crossed}}, file, indent=1)


if __name__ == "__main__":
    main()
