"""What a study measures of a base model and a reranker on one set: everything that its tables and figures tell."""

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.metrics import significance
from btr.metrics.base import Array, Metric
from btr.metrics.errant import Errant
from btr.metrics.evaluate import break_down
from btr.metrics.gold import Gold
from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent
from btr.metrics.results import breakdown_to_dict
from btr.rerankers.free import token_edits
from btr.rerankers.rerank import compare_rows
from btr.rerankers.score import load_reranker
from btr.rerankers.table import THRESHOLDS, Setting, Table

LENGTHS = range(18, 21)  # tokens with EOS, of the targets whose losses are shown by position (figure 3)
TOLD = 3  # counts up when more is told of a reranker or its losses, so that a study's stages are made again
TYPES = 5  # of errors, the most frequent ones (Table 23)
WORDS = 30  # of an example, at most
SHOWN = 3  # candidates of an example


def measure_base(gold: Gold, lists: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The base model's own choice, and how good its candidates could be."""
    metric = gold.metric
    texts = [own[0] for own in lists]
    counts = metric.counts(texts)
    oracle = metric.counts([oracle_choice(*pair) for pair in zip(lists, gold.references, strict=True)])
    return {
        "base": describe_counts(metric, counts),
        "oracle": describe_counts(metric, oracle),
        "candidates": max(map(len, lists)),
        "gold_percent": gold_percent(lists, gold.references),
        "unique_percent": unique_percent(lists),
        "by": broken_down(gold, counts, texts),
        "sentences": len(lists),
        "signature": metric.signature(),
    }


def describe_counts(metric: Metric, counts: Array, base: Array | None = None) -> dict[str, Any]:
    """Scores, their 95 % intervals and, beside a base, those of the difference by a paired bootstrap; in percent."""
    intervals = significance.confidence(metric, counts)
    told: dict[str, Any] = {
        "scores": metric.score_counts(counts).scores,
        "interval": {name: percent(interval) for name, interval in intervals.items()},
    }
    if base is not None:
        tests = significance.bootstrap(metric, base, counts)
        told["difference"] = {name: percent(test.interval or ()) for name, test in tests.items()}
        told["p"] = {name: test.p for name, test in tests.items()}
    return told


def percent(values: Sequence[float]) -> list[float]:
    """Shares as percentages."""
    return [100 * value for value in values]


def broken_down(gold: Gold, counts: Array, texts: Sequence[str]) -> dict[str, Any]:
    """Scores by level, operation and type, as far as the metric and the gold know them."""
    if not isinstance(gold.metric, Errant):
        return {}
    kinds = ["operation", *(["type"] if gold.metric.has_types() else []), *(["group"] if gold.groups else [])]
    return breakdown_to_dict(break_down(gold, counts, texts, kinds))


def compared_by(gold: Gold, table: Table, choices: Array) -> dict[str, Any]:
    """A reranker beside the base model: at each level and at all, and for each of the most frequent types of errors."""
    metric, kept = gold.metric, np.zeros_like(choices)
    if not isinstance(metric, Errant):
        return {}
    base, counts = table.counts_of(kept), table.counts_of(choices)
    labels = np.array(gold.groups or [])
    members = {label: labels == label for label in sorted(set(gold.groups or []))}
    members["all"] = np.ones(metric.size, dtype=bool)
    found: dict[str, Any] = {
        "level": {label: compare_rows(metric, base[own], counts[own]) for label, own in members.items()}
    }
    if metric.has_types():
        before, after = (metric.counts_by(table.texts(own), range(metric.size), "type") for own in (kept, choices))
        types = frequent_types(metric.breakdown(table.texts(kept), range(metric.size), "type"))
        found["type"] = {kind: compare_rows(metric, before[kind], after[kind]) for kind in types if kind in after}
    return found


def frequent_types(types: Iterable[str]) -> list[str]:
    """The most frequent types of errors, as the paper's Table 23 has them, of those in the order of frequency."""
    return [kind for kind in types if kind not in ("OTHER", "UNK")][:TYPES]


def measure_rows(
    gold: Gold, rows: Sequence[Scored], setting: Setting, seeds: Sequence[Sequence[Scored]] = ()
) -> dict[str, Any]:
    """A reranker with its setting and without its threshold; its decisions; what other thresholds would give."""
    metric = gold.metric
    table = Table(metric, [rows])
    plain = Setting(setting.top, 0.0)
    tuned, suggested = table.choose([Setting(setting.top, setting.threshold), plain])
    base, counts, suggestion = (table.counts_of(own) for own in (np.zeros_like(tuned), tuned, suggested))
    shares = table.shares(setting.top)
    shares = shares[~np.isnan(shares).any(1)]  # without sentences that could not be scored
    return {
        "tuned": describe_counts(metric, counts, base),
        "plain": describe_counts(metric, suggestion, base),
        "decisions": decisions(metric, base, suggestion, tuned, suggested),
        "curve": [at_threshold(table, base, suggestion, plain, own) for own in THRESHOLDS],
        "ranks": [float(value) for value in np.sort(shares, 1)[:, ::-1].mean(0)] if len(shares) else [],
        "by": broken_down(gold, counts, table.texts(tuned)),
        "compared": compared_by(gold, table, tuned),
        "seeds": [seed_scores(metric, own, setting) for own in seeds],
        "signature": metric.signature(),
    }


def decisions(metric: Metric, base: Array, suggestion: Array, tuned: Array, suggested: Array) -> dict[str, Any]:
    """The paper's Table 6: how many suggestions are accepted, rejected and equal, and both scores in each case."""
    cases = {"accept": tuned > 0, "reject": (tuned == 0) & (suggested > 0), "equal": suggested == 0}
    return {
        case: {
            "percent": 100 * float(members.mean()),
            **(compare_rows(metric, base[members], suggestion[members]) if members.any() else {}),
        }
        for case, members in cases.items()
    }


def at_threshold(table: Table, base: Array, suggestion: Array, plain: Setting, threshold: float) -> dict[str, Any]:
    """A point of figures 8 to 14: the share accepted, the scores of those before and after, and of the whole set."""
    choices = table.choose([plain._replace(threshold=threshold)])[0]
    accepted = choices > 0
    point: dict[str, Any] = {
        "threshold": threshold,
        "accepted": 100 * float(accepted.mean()),
        "whole": table.score(choices).scores,
    }
    if accepted.any():
        point["before"] = table.metric.score_counts(base[accepted]).scores
        point["after"] = table.metric.score_counts(suggestion[accepted]).scores
    return point


def seed_scores(metric: Metric, rows: Sequence[Scored], setting: Setting) -> dict[str, float]:
    """One seed's scores, with the setting of all together."""
    table = Table(metric, [rows])
    return table.score(table.choose([Setting(setting.top, setting.threshold)])[0]).scores


def choose_examples(
    gold: Gold, chief: str, rerankers: dict[str, tuple[Sequence[Scored], Setting]]
) -> list[dict[str, Any]]:
    """Sentences that the chief reranker changed: the two that gained most, and the one that lost most.

    Each has its first candidates, with the names of those that choose them.
    """
    metric = gold.metric
    tables = {name: Table(metric, [rows]) for name, (rows, _) in rerankers.items()}
    chosen = {name: tables[name].choose([setting])[0] for name, (_, setting) in rerankers.items()}
    own = tables[chief]
    after, before = (own.counts_of(choices) for choices in (chosen[chief], np.zeros_like(chosen[chief])))
    gains = metric.sentence_scores(after) - metric.sentence_scores(before)
    changed = [
        n
        for n in np.flatnonzero(chosen[chief]).tolist()
        if chosen[chief][n] < SHOWN and len(own.rows[n].source.split()) <= WORDS
    ]
    ranked = sorted(changed, key=lambda n: (-gains[n], len(own.rows[n].source), n))
    picked = [n for n in ranked[:2] if gains[n] > 0] + [n for n in ranked[-1:] if gains[n] < 0]
    return [
        {
            "source": own.rows[n].source,
            "gold": list(gold.references[n][:1]),
            "gain": float(gains[n]),
            "candidates": [
                {"text": text, "chosen_by": [name for name in tables if tables[name].text(n, chosen[name][n]) == text]}
                for text in own.rows[n].candidates[:SHOWN]
            ],
        }
        for n in picked
    ]


def marked(source: str, text: str) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is a correction; a word taken out marks the one after it."""
    words = text.split()
    changed = [False] * len(words)
    place = 0  # in the text, of what is unchanged so far
    before = 0
    for start, end, correction in token_edits(source, text):
        place += start - before
        size = len(correction.split())
        for k in range(place, min(place + max(size, 1), len(words))):
            changed[k] = True
        place, before = place + size, end
    return list(zip(words, changed))


def sources(gold: Gold) -> list[str]:
    """A set's sentences, uncorrected."""
    return [gold.metric.source(number) for number in range(gold.metric.size)]


def measure_losses(kind: str, model: str, gold: Gold) -> dict[str, Any]:
    """The mean loss at each position, over targets of 18 to 20 tokens, and their number; references are the targets."""
    if kind == "contrast":  # its model, asked about every token
        from btr.models.load import is_t5

        kind = "btr" if is_t5(model) else "roberta"
    reranker: Any = load_reranker(f"{kind}:{model}")
    pairs = [(source, references[0]) for source, references in zip(sources(gold), gold.references)]
    ids = reranker.tokenizer([target for _, target in pairs], add_special_tokens=False)["input_ids"]
    rows = [Candidates(source, (target,)) for (source, target), own in zip(pairs, ids) if len(own) + 1 in LENGTHS]
    found = [values for (values,) in reranker.token_log_probs(rows) if values]
    by_place = [[-value for value in place if value is not None] for place in zip_longest(*found)]
    return {
        "curve": [math.fsum(place) / len(place) for place in by_place],
        "targets": len(found),
        "signature": reranker.signature,
    }
