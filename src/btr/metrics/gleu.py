"""GLEU as JFLEG's official script computes it: n-grams up to order 4, and the mean over draws of one reference each."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Self

import numpy as np

from btr.corpus.files import check_same_length
from btr.metrics.base import Array, Counts, Metric
from btr.metrics.inputs import MetricFiles, MetricOptions
from btr.metrics.lengths import too_long

ORDER = 4
DRAWS = 500
SEED_STEP = 101  # draw j is seeded with 101 j

NGrams = tuple[list[str], list[Counter[tuple[str, ...]]]]


class GLEU(Metric):
    """GLEU, from counts for each reference: hypothesis length, reference length, and matches and n-grams per order."""

    name = "gleu"
    title = "GLEU"
    needs = "source", "reference"

    def __init__(
        self,
        sources: Sequence[str],
        references: Sequence[Sequence[str]],
        files: str | None = None,
        processes: int | None = None,
    ) -> None:
        super().__init__(len(sources), processes)
        self.sources = sources
        self.references = references
        self.files = files
        self.n_references = len(references[0])

    @classmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        signature = files.signature("source", "reference")
        names = " + ".join(map(str, files.reference))
        check_same_length([(str(files.source), len(files.sources)), (names, len(files.references))])
        return cls(files.sources, files.references, signature, processes)

    @property
    def columns(self) -> Mapping[str, str]:
        return {"gleu": "GLEU"}

    def signature_fields(self) -> dict[str, str | None]:
        draws = str(DRAWS) if self.n_references > 1 else "1"
        return {"files": self.files, "order": str(ORDER), "draws": draws}

    def source(self, number: int) -> str:
        return self.sources[number]

    def too_long(self, number: int, hypothesis: str) -> str | None:
        return too_long(self.sources[number], hypothesis, *self.references[number])

    def count(self, number: int, hypothesis: str) -> list[list[int]]:
        source, ngrams = _ngrams(self.sources[number]), _ngrams(hypothesis)
        return [_count(source, ngrams, _ngrams(reference)) for reference in self.references[number]]

    def stack(self, counts: Sequence[Counts]) -> Array:
        return np.array(counts, dtype=np.int64)

    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        return {"gleu": self.draws(counts, indices).mean(1)}

    def draws(self, counts: Array, indices: Array) -> Array:
        """Return the corpus GLEU of each draw, for each row of indices.

        A draw picks one reference for each position in the corpus. Its sums are the product of a matrix of zeros and
        ones with the counts. Single precision represents whole numbers up to 16 million exactly.
        """
        size = indices.shape[1]
        chosen = _draw(size, self.n_references)
        scores = np.empty((len(indices), len(chosen)))
        exact = np.float32 if counts.max(initial=0) * size < 2**24 else np.float64
        width = max(1, (1 << 24) // (size * self.n_references))  # draws at once, to bound the memory
        for start in range(0, len(chosen), width):
            block = chosen[start : start + width]
            picked: Array = np.zeros((len(block), size, self.n_references), dtype=exact)
            np.put_along_axis(picked, block[:, :, None], 1, axis=2)
            picked = picked.reshape(len(block), -1)
            for row, index in enumerate(indices):
                sums = picked @ counts[index].reshape(-1, counts.shape[2]).astype(exact)
                scores[row, start : start + width] = _gleu(sums.astype(np.float64))
        return scores

    def details(self, counts: Array) -> dict[str, float]:
        return {"std_over_draws": 100 * float(self.draws(counts, np.arange(len(counts))[None]).std())}

    def totals(self, counts: Array) -> dict[str, int]:
        return {"sentences": len(counts), "hypothesis_tokens": int(counts[:, 0, 0].sum())}

    def sentence_scores(self, counts: Array) -> Array:
        """Return each sentence's GLEU, the mean over its references; a count of 0 becomes 1, as in the script."""
        scores: Array = _gleu(np.maximum(counts, 1).astype(np.float64)).mean(1)
        return scores


@cache
def _draw(size: int, references: int) -> Array:
    """Return the reference that each draw picks at each position: Python's generator, seeded as in the script."""
    if references == 1:
        return np.zeros((1, size), dtype=np.int64)
    rows = []
    for draw in range(DRAWS):
        generator = random.Random(draw * SEED_STEP)
        rows.append([generator.randint(0, references - 1) for _ in range(size)])
    return np.array(rows)


def _ngrams(text: str) -> NGrams:
    words = text.split()
    return words, [Counter(zip(*(words[start:] for start in range(n)))) for n in range(1, ORDER + 1)]


def _count(source: NGrams, hypothesis: NGrams, reference: NGrams) -> list[int]:
    length = len(hypothesis[0])
    counts = [length, len(reference[0])]
    for n, (in_source, in_hypothesis, in_reference) in enumerate(zip(source[1], hypothesis[1], reference[1]), 1):
        matches = (in_hypothesis & in_reference).total()
        # What should have been changed and was not: n-grams of the source that the reference does not have.
        unchanged = sum(min(k, in_source[gram]) for gram, k in in_hypothesis.items() if gram not in in_reference)
        counts += [max(matches - unchanged, 0), max(length + 1 - n, 0)]
    return counts


def _gleu(sums: Array) -> Array:
    """Compute GLEU from summed counts (last axis); it is 0 where any of them is 0."""
    length, reference = sums[..., 0], sums[..., 1]
    positive: Array = np.all(sums > 0, axis=-1)
    safe = np.where(positive[..., None], sums, 1)
    precision = np.log(safe[..., 2::2] / safe[..., 3::2]).sum(-1) / ORDER
    brevity = np.minimum(0, 1 - np.where(positive, reference, 1) / np.where(positive, length, 1))
    scores: Array = np.where(positive, np.exp(brevity + precision), 0.0)
    return scores
