"""GLEU one pass a draw, in the official script's own steps: slow, and easy to check."""

import math
import random
from collections import Counter


def ngrams(words, n):
    return Counter(tuple(words[k : k + n]) for k in range(len(words) - n + 1))


def sentence_counts(source, hypothesis, reference, order=4):
    counts = [len(hypothesis), len(reference)]
    for n in range(1, order + 1):
        s, h, r = ngrams(source, n), ngrams(hypothesis, n), ngrams(reference, n)
        only_source = Counter({gram: k for gram, k in s.items() if gram not in r})
        matches = sum((h & r).values()) - sum((h & only_source).values())
        counts += [max(matches, 0), max(len(hypothesis) + 1 - n, 0)]
    return counts


def from_counts(counts):
    if min(counts) == 0:
        return 0.0
    precision = sum(math.log(a / b) for a, b in zip(counts[2::2], counts[3::2], strict=True)) / (len(counts) // 2 - 1)
    return math.exp(min(0, 1 - counts[1] / counts[0]) + precision)


def gleu(sources, hypotheses, references, draws=500):
    """The scores of all draws; `references` has one list of texts a reference set."""
    scores = []
    for draw in range(draws if len(references) > 1 else 1):
        random.seed(draw * 101)
        picks = [random.randint(0, len(references) - 1) if len(references) > 1 else 0 for _ in hypotheses]
        totals = None
        for k, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
            row = sentence_counts(source.split(), hypothesis.split(), references[picks[k]][k].split())
            totals = row if totals is None else [a + b for a, b in zip(totals, row, strict=True)]
        scores.append(from_counts(totals))
    return scores
