"""What one would pick instead of btr, on the same sets and scorers, on one machine in one run.

Harper and LingoTweaker (a port of LanguageTool) find errors by rules and word lists; Quire by rules and a small
DistilBERT that tags words with edits. `--languagetool` adds a server of LanguageTool's protocol: LanguageTool's own, or
`btr serve`, whose judge was fitted on CoNLL-13 and W&I dev (its cross-validated scores are those of `judge.py`). For
each sentence the first suggestion of every finding is applied, from left to right; findings without one are passed
over. To be fair:

- They read ordinary text, not tokens: `plain_text` writes sentences without the corpora's spaces ("do n't"), and brings
  corrections back to the corpora's tokens.
- Findings about spaces, or the shape of quotes, dashes and dots alone, are not applied.
- Each runs for American and for British English where it tells them apart, and with and without its kinds of findings
  about style and typography, which no annotator was asked for. The best of a peer's rows is the one to compare with,
  though chosen with the answers at hand: that is generous.
- Speed is that of the checker alone, in sentences of CoNLL-13: per second, and per second of CPU time, on which other
  work on the machine has less effect. The CPU time of a server is not known. Loading is not counted, nor is writing
  text and tokens.

    BTR_DATA=../shared/data python benchmarks/peers.py [--languagetool http://127.0.0.1:8081] [--output FILE]
        [--processes 1]

They are no dependencies of btr: pip install 'btr-gec[peers]'.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers import Checker, LanguageToolServer, load_peers
from common import data_folder
from plain_text import Finding, as_text, correct, glue, make_tokeniser, matters
from rich.console import Console

from btr.cli.tables import make_table, print_signature
from btr.corpus.files import writing
from btr.errors import InputError
from btr.metrics.evaluate import break_down
from btr.metrics.gold import Gold, load_gold
from btr.metrics.results import breakdown_to_dict

LEVELS = "ABC"
SPEED_ON = "conll13"
TABLE_WIDTH = 110  # so that names are not folded where there is no terminal


@dataclass(frozen=True)
class Set:
    """A set of sentences, what they are scored against, and whether its tokeniser splits words at hyphens."""

    name: str
    gold: Gold
    hyphens: bool = True

    @property
    def sources(self) -> list[str]:
        return [self.gold.metric.source(number) for number in range(self.gold.metric.size)]

    def score(self, hypotheses: Sequence[str]) -> dict[str, Any]:
        """The score as `btr evaluate --json` has it, by group where there are groups."""
        counts = self.gold.metric.counts(hypotheses)
        score = self.gold.metric.score_counts(counts).to_dict()
        if self.gold.groups:
            score["by"] = breakdown_to_dict(break_down(self.gold, counts, hypotheses, ["group"]))
        return score


def load_sets(folder: Path, processes: int | None) -> list[Set]:
    """CoNLL-13 with M2, W&I dev with ERRANT by level, JFLEG dev with GLEU."""
    levels = [folder / "wi" / f"{level}.dev.gold.bea19.m2" for level in LEVELS]
    jfleg = folder / "jfleg-dev"
    references = [jfleg / f"dev.ref{k}" for k in range(4)]
    return [
        Set(SPEED_ON, load_gold("m2", gold=folder / "conll13" / "cleaned.m2", processes=processes)),
        Set("wi-dev", load_gold("errant", gold=levels, processes=processes)),
        Set(
            "jfleg-dev",
            load_gold("gleu", source=jfleg / "dev.src", reference=references, processes=processes),
            hyphens=False,
        ),
    ]


@dataclass(frozen=True)
class Checked:
    """The findings that matter in each sentence, and how long it took to find all."""

    findings: list[list[Finding]]
    seconds: float
    cpu_seconds: float  # of this process


def check(checker: Checker, sources: Iterable[str], hyphens: bool) -> Checked:
    """Let a checker read each sentence by itself."""
    tokenise = make_tokeniser(hyphens)
    checker.find("This is an test.")  # warm up
    found, seconds, cpu_seconds = [], 0.0, 0.0
    for source in sources:
        words = glue(source.split(), hyphens)
        start, cpu_start = time.perf_counter(), time.process_time()
        findings = checker.find(as_text(words))
        seconds += time.perf_counter() - start
        cpu_seconds += time.process_time() - cpu_start
        found.append([finding for finding in findings if matters(words, finding, tokenise)])
    return Checked(found, seconds, cpu_seconds)


def corrections(
    sources: Sequence[str], found: Sequence[Sequence[Finding]], hyphens: bool, without: frozenset[str] = frozenset()
) -> list[str]:
    """Each sentence with its findings applied, but those of the kinds left out; without findings, as it was."""
    tokenise = make_tokeniser(hyphens)
    corrected = []
    for source, findings in zip(sources, found, strict=True):
        words = glue(source.split(), hyphens)
        assert correct(words, [], tokenise) == source.split()
        kept = [finding for finding in findings if finding.kind not in without]
        corrected.append(" ".join(correct(words, kept, tokenise)) if kept else source)
    return corrected


def measure(checker: Checker, sets: Sequence[Set]) -> list[dict[str, Any]]:
    """A peer's rows: all its findings, and those without style."""
    variants: dict[str, frozenset[str]] = {checker.name: frozenset(), f"{checker.name}, no style": checker.style}
    rows: list[dict[str, Any]] = [
        {"name": name, "version": checker.version, "left_out": sorted(left_out), "changed": {}, "scores": {}}
        for name, left_out in variants.items()
    ]
    for each in sets:
        sources = each.sources
        checked = check(checker, sources, each.hyphens)
        for row in rows:
            hypotheses = corrections(sources, checked.findings, each.hyphens, frozenset(row["left_out"]))
            row["changed"][each.name] = sum(a != b for a, b in zip(sources, hypotheses))
            row["scores"][each.name] = each.score(hypotheses)
            if each.name == SPEED_ON:
                row["sentences_per_second"] = len(sources) / checked.seconds
                if not isinstance(checker, LanguageToolServer):  # which computes in another process
                    row["sentences_per_cpu_second"] = len(sources) / checked.cpu_seconds
    return rows


def unchanged(sets: Iterable[Set]) -> dict[str, Any]:
    """The row of the input itself."""
    return {"name": "unchanged", "scores": {each.name: each.score(each.sources) for each in sets}}


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """A row a system, and the signatures."""
    console = Console(width=max(Console().width, TABLE_WIDTH))
    columns = ["CoNLL-13", *(f"W&I {level}" for level in LEVELS), "all", "JFLEG", "per s", "per CPU s"]
    table = make_table("F0.5, GLEU", columns)
    for row in rows:
        conll, wi, jfleg = row["scores"].values()
        groups = wi["by"]["group"]
        numbers = [conll, *(groups[level] for level in LEVELS), wi, jfleg]
        speeds = [row.get(f"sentences_per_{unit}") for unit in ("second", "cpu_second")]
        values = [list(score["scores"].values())[-1] for score in numbers]
        shown = [f"{speed:.0f}" if speed else "–" for speed in speeds]
        table.add_row(row["name"], *(f"{value:.2f}" for value in values), *shown)
    console.print(table)
    for score in rows[0]["scores"].values():
        print_signature(score["signature"], console)
    for name in dict.fromkeys(row["version"] for row in rows if "version" in row):
        print_signature(name, console)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark: what one would pick instead of btr")
    parser.add_argument("--languagetool", metavar="ADDRESS", help="a server of LanguageTool's protocol")
    parser.add_argument("--output", metavar="FILE", help="write everything as JSON, too")
    parser.add_argument("--processes", type=int, help="for scoring (all cores, if not said)")
    options = parser.parse_args()
    try:
        peers = load_peers(options.languagetool)
        sets = load_sets(data_folder(), options.processes)
        rows = [unchanged(sets), *(row for peer in peers for row in measure(peer, sets))]
        print_rows(rows)
        if options.output:
            with writing(options.output) as file:
                json.dump({"systems": rows}, file, ensure_ascii=False, indent=2)
                file.write("\n")
    except InputError as error:
        print(f"peers: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
