"""What shortcuts do to decisions on real candidates (CoNLL-13's of the paper's T5GEC).

Scoring until the decision is certain: how many rows it saves, and that no decision changes. int8: which choices change.

    BTR_DATA=../shared/data python benchmarks/decisions.py MODEL [--json] [--sentences 40]

MODEL is a BTR, or any T5, whose decoder is then opened for the occasion: what is saved depends on how sure it is.
"""

import copy
import time
from itertools import islice
from typing import Any

from common import Report, data_folder
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from btr.corpus.candidates import read_candidates
from btr.decisions import Settings, decide
from btr.models.bidirectional import make_bidirectional
from btr.models.config import silence_libraries
from btr.models.int8_layers import quantise
from btr.models.loaded import LoadedModel
from btr.rerankers.btr import BTR
from btr.rerankers.until_certain import choose_until_certain

THRESHOLDS = (0.0, 0.1, 0.4)


def main() -> None:
    report = Report("decisions", "model", sentences=40)
    name = report.options["model"]
    silence_libraries()
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(name, dtype="float32").eval()
    reranker = BTR(LoadedModel(make_bidirectional(model), AutoTokenizer.from_pretrained(name), name))
    candidates = data_folder() / "conll13" / "t5gec-candidates.jsonl"
    rows = list(islice(read_candidates(candidates), report.options["sentences"]))
    start = time.perf_counter()
    scored = reranker.score(rows)
    full = time.perf_counter() - start
    report.say(f"{len(rows)} sentences, all rows: {full:.1f} s")
    for threshold in THRESHOLDS:
        settings = Settings(threshold=threshold)
        start = time.perf_counter()
        choices, computed, needed = choose_until_certain(reranker, rows, settings)
        seconds = time.perf_counter() - start
        for row, choice in zip(scored, choices):
            decision = decide(row, reranker.kinds, settings)
            if (decision.index, decision.verdict) != (choice.index, choice.verdict):
                raise SystemExit(f"the decision changed for {row.candidates.source!r}")
        share = computed / needed
        report.say(f"threshold {threshold:g}: {100 * share:.1f} % of the rows, {seconds:.1f} s; no decision changed")
        report.ratio(f"rows_at_{threshold:g}", 1 / share)
    rough = copy.deepcopy(model)
    quantise(rough)
    start = time.perf_counter()
    quick = BTR(LoadedModel(rough, reranker.tokenizer, f"{name}|int8", int8=True)).score(rows)
    seconds = time.perf_counter() - start
    changed = {
        threshold: sum(
            decide(a, reranker.kinds, Settings(threshold=threshold)).index
            != decide(b, reranker.kinds, Settings(threshold=threshold)).index
            for a, b in zip(scored, quick)
        )
        for threshold in THRESHOLDS
    }
    report.say(f"int8: {seconds:.1f} s; choices changed, by threshold: {changed} of {len(rows)}")
    report.ratio("int8_speed", full / seconds)
    report.end()


if __name__ == "__main__":
    main()
