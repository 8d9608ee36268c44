"""How good the shipped models are: t5gec-small alone, and with the judge's decisions. Makes the README's table.

CoNLL-13 (M2), W&I dev (ERRANT, by level) and JFLEG dev (GLEU), for text as `btr correct --tokenized` reads it. The
judge is fitted on CoNLL-13, W&I dev and FCE dev, so what counts there is cross-validated: each fifth of them is
decided by a judge and a cut-off of the other four. JFLEG had no part in fitting; there only the cut-off is
cross-validated. The profile `paper` is btr-small's choice among whole candidates by the paper's rule; it takes some
minutes more, and only `--paper` measures it. The speed is that of the models in sentences of CoNLL-13 per second of CPU
time, as in `peers.py`.

    BTR_DATA=../shared/data python benchmarks/shipped.py [--work runs/judge] [--output results.json] [--speed 200]
        [--sentences 100] [--paper]

The work folder is that of `judge.py`: candidates, edit tables and scores are kept there, and a second run computes only
what is missing.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import data_folder
from edit_sets import FITTED_ON, JFLEG, SETTLED, SHIPPED, Workshop
from judge import choose_by_fold
from peers import Set, print_rows

import btr
from btr.corpus.files import writing
from btr.corpus.scores import read_scores
from btr.correction import NO_RERANKER
from btr.correction.corrector import Corrector
from btr.correction.judging import EditJudge
from btr.decisions.decide import decide
from btr.decisions.fit_judge import fit_judges
from btr.decisions.rerank import choose_settings
from btr.decisions.settings import PAPER
from btr.decisions.tune_edits import CUTOFFS, FOLDS, GoldSet, all_confidences, cross_validate

SETS = {"conll13": "conll13", "wi-dev": "wi", "jfleg-dev": JFLEG}  # as peers.py calls them, and as judge.py does
BATCH = 64


def judged_texts(shop: Workshop, sets: dict[str, GoldSet], rerankers: Sequence[str]) -> dict[str, list[str]]:
    """Return the texts of each set that judges with these rerankers decide, cross-validated."""
    chosen = {name: shop.with_rerankers(each, rerankers) for name, each in sets.items()}
    fitted = [chosen[name] for name in FITTED_ON]
    _, _, texts = cross_validate(fitted, (), FOLDS, CUTOFFS, False, SETTLED)
    judges = fit_judges([each.labelled for each in fitted])
    jfleg = chosen[JFLEG]
    crossed, _ = choose_by_fold(jfleg, all_confidences(judges, jfleg.labelled, SETTLED))
    return {**dict(zip(FITTED_ON, texts)), JFLEG: crossed}


def paper_texts(shop: Workshop, name: str) -> list[str]:
    """Return what the paper's rule chooses of a set's candidates with btr-small."""
    scores = shop.path(name, "paper-scores.jsonl")
    if not scores.exists():
        btr.score(shop.candidates(name), None, scores, profile=PAPER, int8=True)
    header, rows = read_scores(scores)
    settings, _ = choose_settings(header, PAPER)
    return [decide(row, header.kinds, settings).text for row in rows]


def speed(sources: Sequence[str], corrector: Corrector) -> float:
    """Return sentences per second of CPU time."""
    corrector.correct_sentences(sources[:1])  # warm up
    start = time.process_time()
    for first in range(0, len(sources), BATCH):
        corrector.correct_sentences(sources[first : first + BATCH])
    return len(sources) / (time.process_time() - start)


def without_models(corrector: Corrector) -> Corrector:
    """Return a corrector whose judge asks no rerankers."""
    assert corrector.judge is not None
    judges = corrector.judge.judges
    judge = EditJudge(judges.without(judges.reranker_kinds))
    return Corrector(corrector.engine, corrector.decoding, None, corrector.settings, judge=judge)


def measure(shop: Workshop, timed: int, with_paper: bool) -> list[dict[str, Any]]:
    """Return the table's rows: each with its scores by set, and its speed."""
    sets = {name: shop.read(name) for name in (*FITTED_ON, JFLEG)}
    default = Corrector.from_pretrained()
    systems: dict[str, tuple[dict[str, list[str]], Corrector]] = {
        "t5gec-small": (
            {name: [table.candidates.texts[0] for table in each.labelled.tables] for name, each in sets.items()},
            Corrector.from_pretrained(reranker=NO_RERANKER),
        ),
        "+ judge, no model": (judged_texts(shop, sets, []), without_models(default)),
        f"+ judge, {' + '.join(SHIPPED)}": (judged_texts(shop, sets, SHIPPED), default),
    }
    if with_paper:
        texts = {name: paper_texts(shop, name) for name in SETS.values()}
        systems["+ btr-small, profile paper"] = texts, Corrector.from_pretrained(profile=PAPER)
    few = [table.candidates.source for table in sets["conll13"].labelled.tables[:timed]]
    corpora = {name: Set(name, sets[other].gold) for name, other in SETS.items()}
    return [
        {
            "name": system,
            "scores": {name: corpus.score(texts[SETS[name]]) for name, corpus in corpora.items()},
            "sentences_per_cpu_second": speed(few, corrector),
        }
        for system, (texts, corrector) in systems.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark: how good the shipped models are")
    parser.add_argument("--work", type=Path, default=Path("runs/judge"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--speed", type=int, default=200, help="sentences to measure the speed with")
    parser.add_argument("--sentences", type=int, help="of each set (default: all)")
    parser.add_argument("--paper", action="store_true", help="measure the profile paper, too")
    options = parser.parse_args()
    rows = measure(Workshop(data_folder(), options.work, options.sentences), options.speed, options.paper)
    print_rows(rows)
    if options.output:
        with writing(options.output) as file:
            json.dump({"systems": rows}, file, indent=1)


if __name__ == "__main__":
    main()
