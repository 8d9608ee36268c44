"""Make the judge and its figures from nothing: candidates, edit tables, judges, and what to expect of them.

CoNLL-13 (M2), W&I dev and FCE dev (ERRANT) are what judges are fitted on; JFLEG dev (GLEU) is only measured. It does
what these commands do, and reads each set once for all experiments:

    btr generate SOURCES --model t5gec-small --engine ctranslate2 --dtype int8 --max-length 128 --length-penalty 0
        --spelling …
    btr score --edits CANDIDATES --reranker edit-btr:edit-btr-small --reranker lm:smollm2-135m --int8 …
    btr tune --edits TABLES… --gold GOLD… --output judge.json --plot reliability.svg
    btr rerank --judge judge.json TABLES --cutoff 0.4 …

Everything is kept in the work folder: a second run computes only what is missing.

    BTR_DATA=../shared/data python benchmarks/judge.py [--work runs/judge] [--output results/judge.md]
        [--figure docs/images/reliability.svg] [--reranker contrast:btr-small …] [--sentences 100] [--json]
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from common import data_folder
from edit_sets import FITTED_ON, JFLEG, PAPER, SETTLED, SHIPPED, Workshop
from judge_page import make_page

from btr.corpus.candidates import Candidates, read_candidates
from btr.corpus.files import file_signature, writing
from btr.correction.judging import EditJudge
from btr.decisions import edit_features, fit_judge, judge
from btr.decisions.edit_table import extract_tables
from btr.decisions.fit_judge import fit_judges
from btr.decisions.judge import Judges, read_judges, write_judges
from btr.decisions.settings import Settings
from btr.decisions.tune_edits import (
    CUTOFFS,
    FOLDS,
    GoldSet,
    all_confidences,
    best_cutoff,
    tune_sets,
)
from btr.rerankers import load_reranker
from btr.studies.plots import draw_reliability, save

FIGURES = "figures.json"
TIMED = 128  # sentences that the time is measured with

Figures = dict[str, Any]


class Experiments:
    """The experiments by name; the figures of each are kept in the work folder as soon as they are known."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.path = shop.work / FIGURES
        self.kept: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.read: Callable[[str], GoldSet] = cache(shop.read)

    def run(self, name: str, tables: Sequence[str], work: Callable[[], Figures], *makes: Path) -> Figures:
        """Return the figures of an experiment, which is run unless its tables are those of the run that was kept."""
        depends = [
            file_signature(self.shop.tables(each, reranker), "edit tables") for each in tables for reranker in SHIPPED
        ]
        depends += [file_signature(str(module.__file__), "code") for module in (edit_features, fit_judge, judge)]
        depends.append(str(SETTLED))
        kept = self.kept.get(name, {})
        if kept.get("tables") != depends or not all(path.exists() for path in makes):
            start = time.perf_counter()
            kept = self.kept[name] = {"tables": depends, "figures": work()}
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            with writing(self.path) as file:
                json.dump(self.kept, file, indent=1)
        figures: Figures = kept["figures"]
        return figures

    def fit_together(self) -> Figures:
        """Fit the judge that is shipped, cross-validate it, and draw its reliability diagram."""
        result = tune_sets([self.read(name) for name in FITTED_ON], settled=SETTLED)
        write_judges(self.shop.work / "judge.json", result.judges, result.rerankers, SETTLED)
        save(draw_reliability(result), self.shop.work / "reliability.svg")
        return result.to_dict()

    def fit_alone(self, name: str) -> Figures:
        """Cross-validate a judge of one set."""
        return tune_sets([self.read(name)]).to_dict()

    def fit_with(self, rerankers: Sequence[str]) -> Figures:
        """Cross-validate a judge of all sets that asks these rerankers."""
        return tune_sets([self.shop.with_rerankers(self.read(name), rerankers) for name in FITTED_ON]).to_dict()

    def transfer(self, fitted_on: Sequence[str], target: str, rerankers: Sequence[str] = SHIPPED) -> Figures:
        """Fit a judge and choose its cut-off on some sets, and measure both on another."""
        every_set = [self.shop.with_rerankers(self.read(name), rerankers) for name in (*fitted_on, target)]
        *sets, other = every_set
        judges = fit_judges([each.labelled for each in sets])
        every = [all_confidences(judges, each.labelled) for each in sets]
        numbers = [np.arange(len(each.labelled.tables)) for each in sets]
        cutoff = best_cutoff(sets, every, CUTOFFS, False, numbers)
        return {"cutoff": cutoff, **by_cutoff(other, all_confidences(judges, other.labelled))}

    def measure_jfleg(self) -> Figures:
        """Measure the judge of the other sets on JFLEG; its cut-off is also cross-validated there."""
        jfleg = self.read(JFLEG)
        confidences = all_confidences(read_judges(self.shop.work / "judge.json").judges, jfleg.labelled, SETTLED)
        texts, chosen = choose_by_fold(jfleg, confidences)
        crossed = jfleg.gold.metric.score(texts).to_dict()
        return {**by_cutoff(jfleg, confidences), "cross_validated": crossed, "fold_cutoffs": chosen}

    def unscored(self) -> Figures:
        """Count the edits without a language model's log-odds, and how sure a judge without it is of them at most."""
        alone = read_judges(self.shop.work / "judge.json")
        alone = alone.without(alone.reranker_kinds)
        edits, without = 0, []
        for name in FITTED_ON:
            for table in self.read(name).labelled.tables:
                edits += len(table.edits)
                missing = [None in edit.log_odds for edit in table.edits]
                without += [value for value, gone in zip(alone.confidences(table), missing) if gone]
        return {"edits": edits, "unscored": len(without), "highest": max(without, default=0.0)}

    def cost(self, rerankers: Sequence[str]) -> Figures:
        """Measure the CPU time of judging, with models that are loaded; settled edits are not scored."""
        rows = list(read_candidates(self.shop.candidates("conll13")))
        few = [rows[k * len(rows) // TIMED] for k in range(TIMED)] if len(rows) > TIMED else rows
        judges = read_judges(self.shop.work / "judge.json")
        seconds = judging_seconds(few, judges, rerankers)
        return {"cpu_seconds_per_1000": 1000 * seconds / len(few)}


def judging_seconds(rows: Sequence[Candidates], judges: Judges, rerankers: Sequence[str]) -> float:
    """Return the CPU seconds that edit tables, rerankers and confidences take; models are loaded before."""
    chosen = judges.without([kind for kind in judges.reranker_kinds if kind not in kinds_of(rerankers)])
    loaded = [load_reranker(name, int8=":" in name) for name in rerankers]
    asking = EditJudge(Judges.make(chosen.judges, rerankers, "", SETTLED), loaded)
    asking.decide(rows[:2], Settings(cutoff=0.5))  # warm up
    start = time.process_time()
    for table in asking.score(extract_tables(rows, 1)):
        asking.judges.confidences(table, asking.kinds)
    return time.process_time() - start


def kinds_of(rerankers: Sequence[str]) -> list[str]:
    """Return the kinds of rerankers."""
    return [name.partition(":")[0] for name in rerankers]


def choose_by_fold(each: GoldSet, confidences: Sequence[Sequence[float]]) -> tuple[list[str], list[float]]:
    """Return the texts of a set with the cut-off of each fifth chosen on the other four, and these cut-offs."""
    size, chosen = len(each.labelled.tables), []
    texts = [""] * size
    for fold in range(FOLDS):
        rest = np.flatnonzero(np.arange(size) % FOLDS != fold)
        chosen.append(best_cutoff([each], [confidences], CUTOFFS, False, [rest]))
        texts[fold::FOLDS] = each.texts(confidences, chosen[-1], False)[fold::FOLDS]
    return texts, chosen


def by_cutoff(each: GoldSet, confidences: Sequence[Sequence[float]]) -> Figures:
    """Return a set's scores: of its base candidates, and of the judged texts at each cut-off."""
    metric = each.gold.metric
    base = metric.score([table.candidates.texts[0] for table in each.labelled.tables])
    curve = [metric.score(each.texts(confidences, cutoff, False)) for cutoff in CUTOFFS]
    return {"base": base.to_dict(), "cutoffs": CUTOFFS, "curve": [score.to_dict() for score in curve]}


def run_all(shop: Workshop, rerankers: Sequence[str]) -> dict[str, Figures]:
    """Return the figures of all experiments."""
    all_of = Experiments(shop)
    makes = shop.work / "judge.json", shop.work / "reliability.svg"
    figures = {"together": all_of.run("together", FITTED_ON, all_of.fit_together, *makes)}
    for name in (*FITTED_ON, PAPER):
        figures[f"alone {name}"] = all_of.run(f"alone {name}", [name], lambda: all_of.fit_alone(name))  # noqa: B023
    target, *others = FITTED_ON
    figures["transfer"] = all_of.run("transfer", FITTED_ON, lambda: all_of.transfer(others, target))
    figures["jfleg"] = all_of.run("jfleg", [*FITTED_ON, JFLEG], all_of.measure_jfleg)
    figures["unscored"] = all_of.run("unscored", FITTED_ON, all_of.unscored)
    for names in variants(rerankers):
        label = " + ".join(names) or "none"
        fitting, crossing = f"fitted with {label}", f"transfer with {label}"
        figures[fitting] = all_of.run(fitting, FITTED_ON, lambda: all_of.fit_with(names))  # noqa: B023
        if names == list(SHIPPED):
            figures[crossing] = figures["transfer"]
        else:
            across = partial(all_of.transfer, others, target, names)
            figures[crossing] = all_of.run(crossing, FITTED_ON, across)
        figures[f"cost of {label}"] = all_of.run(f"cost of {label}", [], lambda: all_of.cost(names))  # noqa: B023
    return figures


def variants(rerankers: Sequence[str]) -> list[list[str]]:
    """Return the rerankers of each row of the table that says what models add."""
    shipped = list(SHIPPED)
    alone = [[name] for name in (*shipped, *rerankers)]
    return [[], *alone, shipped, *([name, *shipped] for name in rerankers)]


def as_ratios(figures: Mapping[str, Figures]) -> dict[str, float]:
    """Return what programs read: the main figures by name."""
    ratios = {}
    for each in figures["together"]["sets"]:
        main = each["base"]["main_score"] if "main_score" in each["base"] else list(each["base"]["scores"])[-1]
        ratios[f"{each['name']}_base"] = each["base"]["scores"][main]
        ratios[f"{each['name']}_judged"] = each["cross_validated"]["scores"][main]
        ratios[f"{each['name']}_calibration_error"] = each["calibration"]["error"]
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark: the judge and its figures")
    parser.add_argument("--work", type=Path, default=Path("runs/judge"))
    parser.add_argument("--output", type=Path, help="write the page of tables")
    parser.add_argument("--figure", type=Path, help="write the reliability diagram (.svg)")
    parser.add_argument("--reranker", action="append", default=[], help="a further one to ask, e.g. contrast:btr-small")
    parser.add_argument("--sentences", type=int, help="of each set (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object of the main figures")
    options = parser.parse_args()
    shop = Workshop(data_folder(), options.work, options.sentences)
    figures = run_all(shop, options.reranker)
    labels = [" + ".join(names) or "none" for names in variants(options.reranker)]
    page = make_page(figures, labels)
    if options.output:
        with writing(options.output) as file:
            file.write(page)
    if options.figure:
        options.figure.write_bytes((options.work / "reliability.svg").read_bytes())
    print(json.dumps(as_ratios(figures)) if options.json else page)


if __name__ == "__main__":
    main()
