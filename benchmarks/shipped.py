"""How good the shipped models are: t5gec-small alone, and with btr-small's reranking. Makes the README's table.

CoNLL-13 (M2), W&I dev (ERRANT, by level) and JFLEG dev (GLEU), with t5gec-small's own candidates; and CoNLL-13 with the
paper's T5GEC candidates. Each set is reranked as `btr correct` does it, with the threshold of a profile: CoNLL-13's for
W&I, too. On CoNLL-13 and JFLEG, where thresholds were tuned, the figure that counts is the cross-validated one: the
threshold for each tenth of the sentences is chosen on the other nine. Nothing was tuned on W&I dev. The speed is that
of `btr correct` in sentences of CoNLL-13 a second of CPU time, as in `peers.py`.

    BTR_DATA=../shared/data python benchmarks/shipped.py [--work runs/shipped] [--output results.json] [--speed 200]

Candidates and scores are kept in the work folder; a second run asks only for what is missing.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import data_folder
from peers import Set, load_sets, print_rows

import btr
from btr.corpus.files import write_lines, writing
from btr.corpus.scores import Scored, read_scores
from btr.correction.corrector import LENGTH_PENALTY, MAX_LENGTH, MODEL, NONE, RERANKER, Corrector
from btr.correction.profiles import read_profile
from btr.rerankers.table import Setting, Table, cross_validate

TOP = read_profile(RERANKER, "minimal").top
PROFILES = {"conll13": "minimal", "wi-dev": "minimal", "jfleg-dev": "fluency"}
TUNED = "conll13", "jfleg-dev"
WINDOW = 64


def prepare(work: Path, name: str, sources: Sequence[str], given: Path | None = None) -> list[Scored]:
    """Candidates of a set, unless they are given, and their scores."""
    made = given or work / f"{name}.jsonl"
    if not made.exists():
        write_lines(work / f"{name}.txt", sources)
        btr.generate(
            work / f"{name}.txt",
            MODEL,
            made,
            engine="ctranslate2",
            dtype="int8",
            max_length=MAX_LENGTH,
            length_penalty=LENGTH_PENALTY,
        )
    scores = work / f"{name}.scores.jsonl"
    if not scores.exists():
        btr.score(made, [RERANKER], scores, top=TOP, int8=True)
    return list(read_scores(scores)[1])


def measure(own: Set, rows: list[Scored], threshold: float, tuned: bool) -> list[dict[str, Any]]:
    """The scores of the base model's choice, of the profile's, and if that was tuned here, of the cross-validated."""
    table = Table(own.gold.metric, [rows])
    (chosen,) = table.choose([Setting(TOP, threshold)])
    crossed, thresholds = chosen, [threshold]
    if tuned:
        _, settings, crossed = cross_validate(table, [TOP])
        thresholds = sorted({setting.threshold for setting in settings})
    return [
        own.score([row.candidates[0] for row in rows]),
        {**own.score(table.texts(chosen)), "threshold": threshold},
        {**own.score(table.texts(crossed)), "thresholds": thresholds},
    ]


def speed(sources: Sequence[str], reranker: str) -> float:
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
    sets = load_sets(data, None)
    few = sets[0].sources[: options.speed]
    rows: list[dict[str, Any]] = [
        {"name": "t5gec-small", "scores": {}, "sentences_per_cpu_second": speed(few, NONE)},
        {"name": "+ btr-small", "scores": {}, "sentences_per_cpu_second": speed(few, RERANKER)},
        {"name": "+ btr-small, cross-validated", "scores": {}},
    ]
    for own in sets:
        threshold = read_profile(RERANKER, PROFILES[own.name]).threshold
        found = measure(own, prepare(work, own.name, own.sources), threshold, own.name in TUNED)
        for row, score in zip(rows, found, strict=True):
            row["scores"][own.name] = score
    print_rows(rows)
    given = data / "conll13" / "t5gec-candidates.jsonl"
    base, _, crossed = measure(sets[0], prepare(work, "paper", sets[0].sources, given), 1.0, True)
    print(f"The paper's T5GEC candidates of CoNLL-13: {base['scores']['f0.5']:.2f}", end="")
    print(f" → {crossed['scores']['f0.5']:.2f}, cross-validated (thresholds {crossed['thresholds']})")
    if options.output:
        with writing(options.output) as file:
            json.dump({"systems": rows, "paper": {"base": base, "crossed": crossed}}, file, indent=1)


if __name__ == "__main__":
    main()
