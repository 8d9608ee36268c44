"""How fast the M2 score is: against the official scorer, on what it hangs on, and as sentences grow.

BTR_DATA=../shared/data python benchmarks/m2.py [--json]
"""

import random
import resource
import time
from collections.abc import Sequence

from common import Report, data_folder

from btr.corpus import Edit, read_candidates, read_m2
from btr.metrics.m2 import M2, count_edits

# CPU seconds of the official scorer, one core, from the README of the golden figures.
OFFICIAL_SECONDS = {1: 7.0, 2: 21.0, 5: 38.0}


def conll13(report: Report) -> None:
    """The paper's T5GEC candidates of CoNLL-13, files read and folded too."""
    folder = data_folder() / "conll13"
    official = ours = 0.0
    for rank, seconds in OFFICIAL_SECONDS.items():
        start = time.process_time()
        metric = M2(list(read_m2(folder / "cleaned.m2")), processes=1)
        score = metric.score([row.texts[rank - 1] for row in read_candidates(folder / "t5gec-candidates.jsonl")])
        spent = time.process_time() - start
        official, ours = official + seconds, ours + spent
        report.say(f"candidate {rank}: F0.5 {score.value:.2f}, official {seconds:g} s, ours {spent:.3f} s of CPU")
    report.ratio("official_cpu_over_ours", official / ours)

    rows = list(read_candidates(folder / "t5gec-candidates.jsonl"))
    metric = M2(list(read_m2(folder / "cleaned.m2")))
    start = time.perf_counter()
    metric.count_pairs([(number, text) for number, row in enumerate(rows) for text in row.texts])
    seconds = time.perf_counter() - start
    report.say(f"all 5 × {len(rows):,} candidates, on all cores: {seconds:.2f} s")


def spent(source: Sequence[str], hypothesis: Sequence[str], gold: Sequence[Edit] = ()) -> float:
    """CPU seconds for one sentence, the best of three."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        count_edits(" ".join(source), " ".join(hypothesis), [gold])
        seconds.append(time.process_time() - start)
    return min(seconds)


def hard(report: Report) -> None:
    """Hypotheses that the official scorer does not finish."""
    source = [f"w{k}" for k in range(150)]
    gold = [Edit(k, k + k % 4, "X", ("w1 w2",)) for k in range(0, 147, 3)]
    report.say("a 200-token hypothesis against a 150-token source with 49 gold edits:")
    for name, hypothesis in {
        "repeated 4-grams": ["w1", "w2", "w3", "w4"] * 50,
        "ends in repeated 4-grams": source[:100] + ["w96", "w97", "w98", "w99"] * 25,
        "one word repeated": ["w1"] * 200,
        "nothing in common": [f"v{k}" for k in range(200)],
    }.items():
        report.say(f"  {name}: {spent(source, hypothesis, gold):.3f} s")


def growth(report: Report) -> None:
    """CPU time as sentences double: 2 is linear, 4 is quadratic."""
    generator = random.Random(1)
    words = [f"w{k}" for k in range(300)] + ["the", "a", "of", "to"] * 30
    natural: list[float] = []
    strange: list[float] = []
    dense: list[float] = []
    for length in (100, 200, 400):
        sources = [[generator.choice(words) for _ in range(length)] for _ in range(10)]
        changed = [[word if generator.random() > 0.1 else "x" for word in source] for source in sources]
        natural.append(sum(map(spent, sources, changed)) / len(sources))
        strange.append(spent(sources[0], [f"v{k}" for k in range(length)]))
        own = [f"w{k}" for k in range(length)]
        gold = [Edit(k, k + k % 4, "X", ("w1 w2",)) for k in range(0, length - 3, 3)]
        dense.append(spent(own, ["w1", "w2", "w3", "w4"] * (length // 4), gold))
        report.say(
            f"{length} tokens: every tenth changed {natural[-1]:.4f} s, nothing in common {strange[-1]:.3f} s, "
            f"repeated 4-grams against an edit at every third word {dense[-1]:.3f} s"
        )
    report.ratio("growth_natural_200_to_400", natural[2] / natural[1])
    report.ratio("growth_worst_200_to_400", strange[2] / strange[1])
    report.ratio("growth_dense_gold_200_to_400", dense[2] / dense[1])


def main() -> None:
    report = Report("M2")
    conll13(report)
    hard(report)
    growth(report)
    report.say(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    report.end()


if __name__ == "__main__":
    main()
