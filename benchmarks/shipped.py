"""How good the shipped models are: t5gec-small alone, and with btr-small's reranking. Makes the README's table.

CoNLL-13 (M2), W&I dev (ERRANT, by level) and JFLEG dev (GLEU), with t5gec-small's own candidates; and CoNLL-13 with the
paper's T5GEC candidates. Each set is reranked as `btr correct` does it: with the profile's threshold. On CoNLL-13 and
JFLEG, where profiles were tuned, the figure that counts is the cross-validated one: the settings for each tenth of the
sentences are chosen on the other nine. Nothing was tuned on W&I dev.

    BTR_DATA=../shared/data python benchmarks/shipped.py [--work runs/shipped] [--output results.json]

Candidates and scores are kept in the work folder; a second run asks only for what is missing.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from common import data_folder
from rich.console import Console

import btr
from btr.corpus.files import writing
from btr.corpus.scores import Scored, read_scores
from btr.correction.corrector import LENGTH_PENALTY, MAX_LENGTH, MODEL, NONE, RERANKER
from btr.correction.profiles import read_profile
from btr.metrics.base import Metric
from btr.metrics.gold import load_gold
from btr.rerankers.table import Setting, Table, cross_validate
from btr.tables import make_table

LEVELS = "ABC"
TOPS = 2, 3, 4, 5


def prepare(work: Path, name: str, sources: Path, candidates: Path | None = None) -> list[Scored]:
    """Candidates of a set, unless they are given, and their scores."""
    made = candidates or work / f"{name}.jsonl"
    if not made.exists():
        btr.generate(
            sources,
            MODEL,
            made,
            engine="ctranslate2",
            dtype="int8",
            max_length=MAX_LENGTH,
            length_penalty=LENGTH_PENALTY,
        )
    scores = work / f"{name}.scores.jsonl"
    if not scores.exists():
        btr.score(made, [RERANKER], scores, int8=True)
    return list(read_scores(scores)[1])


def measure(metric: Metric, rows: list[Scored], profile: str | None, tuned: bool) -> dict[str, Any]:
    """The base model's choice, the profile's, and where the profile was tuned, the cross-validated one."""
    table = Table(metric, [rows])
    base, *_ = table.choose([Setting(1, 1.0)])
    found: dict[str, Any] = {"base": table.score(base).to_dict()}
    if profile:
        settings = read_profile(RERANKER, profile)
        chosen, *_ = table.choose([Setting(settings.candidates, settings.threshold)])
        found["reranked"] = table.score(chosen).to_dict()
        found["settings"] = settings._asdict()
    if tuned:
        crossed = cross_validate(table, TOPS)
        found["crossed"] = {**crossed.score.to_dict(), "settings": crossed.settings}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark: how good the shipped models are")
    parser.add_argument("--work", type=Path, default=Path("runs/shipped"))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if RERANKER == NONE:
        sys.exit("no reranker is shipped yet: there is nothing to measure.")
    work, data = options.work, data_folder()
    work.mkdir(parents=True, exist_ok=True)
    conll = data / "conll13" / "cleaned.m2"
    results = {}
    m2 = load_gold("m2", gold=[conll]).metric
    results["CoNLL-13"] = measure(m2, prepare(work, "conll13", conll), "minimal", True)
    given = data / "conll13" / "t5gec-candidates.jsonl"
    results["CoNLL-13, the paper's T5GEC"] = measure(m2, prepare(work, "paper", conll, given), None, True)
    for level in LEVELS:
        gold = data / "wi" / f"{level}.dev.gold.bea19.m2"
        errant = load_gold("errant", gold=[gold]).metric
        results[f"W&I dev {level}"] = measure(errant, prepare(work, f"wi-{level}", gold), "minimal", False)
    jfleg = data / "jfleg-dev"
    references = [jfleg / f"dev.ref{k}" for k in range(4)]
    gleu = load_gold("gleu", source=jfleg / "dev.src", reference=references).metric
    results["JFLEG dev"] = measure(gleu, prepare(work, "jfleg", jfleg / "dev.src"), "fluency", True)
    table = make_table("", ["t5gec-small", "+ btr-small", "cross-validated"])
    for name, found in results.items():
        table.add_row(name, *(value(found.get(kind)) for kind in ("base", "reranked", "crossed")))
    Console().print(table)
    if options.output:
        with writing(options.output) as file:
            json.dump(results, file, indent=1)


def value(score: dict[str, Any] | None) -> str:
    """The one number that a score is known by."""
    return f"{list(score['scores'].values())[-1]:.2f}" if score else "–"


if __name__ == "__main__":
    main()
