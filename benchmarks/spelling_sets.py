"""What spelling adds on learners' sentences: the shipped corrector with it off and on, on the same candidates.

Sentences of CoNLL-13 (M2), W&I dev and FCE dev (ERRANT) and JFLEG dev (GLEU), evenly spread. What candidates that
correct an unknown word are raised by was chosen on other sentences (benchmarks/spelling.py).

    BTR_DATA=../shared/data python benchmarks/spelling_sets.py [--sentences 500] [--json]
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from common import Report, data_folder
from edit_sets import FITTED_ON, JFLEG, NAMES, Workshop
from rich.console import Console

from btr.candidates.generate import generate_many
from btr.candidates.spelling import add_spellings
from btr.cli.tables import make_table
from btr.correction.corrector import Corrector
from btr.metrics.gold import Gold
from btr.metrics.significance import bootstrap


@dataclass(frozen=True)
class Comparison:
    """A set's score with spelling off and on, the interval of the difference, and what was changed."""

    off: float
    on: float
    low: float
    high: float
    with_unknown_words: int
    changed: int


def compare(corrector: Corrector, gold: Gold) -> Comparison:
    """Correct a set's sentences both ways; only what spelling adds candidates to is decided twice."""
    metric = gold.metric
    sources = [metric.source(number) for number in range(metric.size)]
    plain = generate_many(corrector.engine, sources, corrector.decoding)
    spelled = add_spellings(corrector.engine, plain, corrector.decoding.max_length)
    other = [number for number, pair in enumerate(zip(plain, spelled)) if pair[0] != pair[1]]
    off = [choice.text for _, choice in corrector.decide(plain)]
    on = list(off)
    for number, (_, choice) in zip(other, corrector.decide([spelled[number] for number in other])):
        on[number] = choice.text
    before, after = metric.counts(off), metric.counts(on)
    low, high = bootstrap(metric, before, after)[metric.main_score].interval or (0.0, 0.0)
    values = metric.score_counts(before).value, metric.score_counts(after).value
    changed = sum(one != two for one, two in zip(off, on))
    return Comparison(*values, 100 * low, 100 * high, len(other), changed)


def main() -> None:
    report = Report(__doc__ or "", sentences=500)
    corrector = Corrector.from_pretrained()
    if corrector.note:
        report.say(corrector.note)
    results: dict[str, Comparison] = {}
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(data_folder(), Path(folder), report.options["sentences"])
        for name in (*FITTED_ON, JFLEG):
            results[name] = compare(corrector, shop.gold(name))
            report.say(f"{NAMES[name]}: {results[name]}")
    if report.json:
        print(json.dumps({name: each.on - each.off for name, each in results.items()}))
        return
    columns = ["off", "on", "difference (95 %)", "with unknown words", "changed"]
    table = make_table(f"{report.options['sentences']} sentences each", columns)
    for name, each in results.items():
        interval = f"{each.on - each.off:+.2f} ({each.low:+.2f} to {each.high:+.2f})"
        counts = str(each.with_unknown_words), str(each.changed)
        table.add_row(NAMES[name], f"{each.off:.2f}", f"{each.on:.2f}", interval, *counts)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
