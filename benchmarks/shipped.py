"""How good the shipped models are: t5gec-small alone, and with btr-small's reranking. Makes the README's table.

CoNLL-13 (M2), W&I dev (ERRANT, by level) and JFLEG dev (GLEU), by the verbs `generate`, `score` and the decision of
`rerank`, which give what `btr correct --tokenized` gives: with the profile `minimal`, and `fluency` for JFLEG; and
btr-small's choice among the paper's T5GEC candidates of CoNLL-13. On CoNLL-13 and JFLEG, where thresholds were tuned,
the figure that counts is the cross-validated one: the threshold for each tenth of the sentences is chosen on the other
nine (the other settings were chosen with all of CoNLL-13 in sight). Nothing was tuned on W&I dev. The speed is
that of the models in sentences of CoNLL-13 per second of CPU time, as in `peers.py`.

    BTR_DATA=../shared/data python benchmarks/shipped.py [--work runs/shipped] [--output results.json] [--speed 200]

Candidates and scores are kept in the work folder; a second run computes only what is missing.
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
from btr.corpus.scores import Header, Scored, read_scores
from btr.correction import DEFAULT_MODEL, NO_RERANKER
from btr.correction.corrector import Corrector
from btr.correction.loading import LENGTH_PENALTY, MAX_LENGTH
from btr.decisions.grid import DecisionGrid
from btr.decisions.rerank import choose_settings
from btr.decisions.search import SearchSpace, cross_validate
from btr.decisions.settings import Settings
from btr.rerankers import SHIPPED_BTR

PROFILES = {"conll13": "minimal", "wi-dev": "minimal", "jfleg-dev": "fluency"}
TUNED = "conll13", "jfleg-dev"
THRESHOLDS = tuple(k / 20 for k in range(21))
BATCH = 64


def score_set(work: Path, name: str, sources: Sequence[str], profile: str) -> tuple[Header, list[Scored]]:
    """Return the scores of a set's candidates, which are written unless an earlier run has done so."""
    source_file, candidates, scores = (work / f"{name}.{kind}" for kind in ("txt", "candidates.jsonl", "scores.jsonl"))
    if not scores.exists():
        write_lines(source_file, sources)
        btr.generate(
            source_file, DEFAULT_MODEL, candidates, engine="ctranslate2", dtype="int8", max_length=MAX_LENGTH,
            length_penalty=LENGTH_PENALTY,
        )  # fmt: skip
        btr.score(candidates, None, scores, profile=profile, int8=True)
    header, rows = read_scores(scores)
    return header, list(rows)


def measure(
    corpus: Set, header: Header, rows: list[Scored], settings: Settings, is_tuned: bool
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the scores of base candidates, of the settings and, if their threshold was tuned here, cross-validated."""
    grid = DecisionGrid(corpus.gold.metric, rows, header.kinds)
    (chosen,) = grid.choose([settings])
    crossed, thresholds = chosen, [settings.threshold]
    if is_tuned:
        result = cross_validate(grid, SearchSpace((settings.top,), THRESHOLDS, settings))
        crossed, thresholds = result.choices, sorted({each.threshold for each in result.settings})
    return [
        corpus.score([row.candidates.texts[0] for row in rows]),
        {**corpus.score(grid.texts(chosen)), "threshold": settings.threshold},
        {**corpus.score(grid.texts(crossed)), "thresholds": thresholds},
    ]


def speed(sources: Sequence[str], reranker: str | None) -> float:
    """Return sentences per second of CPU time."""
    corrector = Corrector.from_pretrained(reranker=reranker)
    corrector.correct_sentences(sources[:1])  # warm up
    start = time.process_time()
    for first in range(0, len(sources), BATCH):
        corrector.correct_sentences(sources[first : first + BATCH])
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
        {"name": "t5gec-small", "scores": {}, "sentences_per_cpu_second": speed(few, NO_RERANKER)},
        {"name": "+ btr-small", "scores": {}, "sentences_per_cpu_second": speed(few, None)},
        {"name": "+ btr-small, cross-validated", "scores": {}},
    ]
    for corpus in sets:
        header, scored = score_set(work, corpus.name, corpus.sources, PROFILES[corpus.name])
        settings, _ = choose_settings(header, PROFILES[corpus.name])
        for row, score in zip(rows, measure(corpus, header, scored, settings, corpus.name in TUNED), strict=True):
            row["scores"][corpus.name] = score
    print_rows(rows)
    path = work / "paper.jsonl"  # the paper's candidates come without log-probabilities
    if not path.exists():
        given = data / "conll13" / "t5gec-candidates.jsonl"
        btr.score(given, f"contrast:{SHIPPED_BTR}", path, top=settings.top, int8=True)
    header, stream = read_scores(path)
    base, _, crossed = measure(sets[0], header, list(stream), Settings(threshold=1.0), True)
    print(f"The paper's T5GEC candidates of CoNLL-13: {base['scores']['f0.5']:.2f}", end="")
    print(f" → {crossed['scores']['f0.5']:.2f}, cross-validated (thresholds {crossed['thresholds']})")
    if options.output:
        with writing(options.output) as file:
            json.dump({"systems": rows, "paper": {"base": base, "crossed": crossed}}, file, indent=1)


if __name__ == "__main__":
    main()
