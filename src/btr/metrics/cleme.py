"""CLEME 2.0 (Ye et al., ACL 2025): hit, wrong, under- and over-correction rates over chunks.

This is the authors' variant with the dependence assumption and without weights of edits.
"""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from btr.metrics.annotators import AnnotatorMetric
from btr.metrics.base import Array, Counts
from btr.metrics.chunks import Outcomes, count_outcomes
from btr.metrics.errant import annotator_versions, extract_edits, load_annotator
from btr.metrics.inputs import MetricFiles, MetricOptions
from btr.metrics.lengths import too_long_for_errant

FACTORS = 0.45, 0.35, 0.15, 0.05  # of hit, 1 - wrong, 1 - under and 1 - over in the score; the authors'


class CLEME(AnnotatorMetric):
    """Of the chunks that need a correction, the shares of hits, wrong and missing ones; of the changes, the needless.

    The score combines the four. Edits of a hypothesis are extracted by ERRANT, those of the gold are the annotators'.
    """

    name = "cleme"
    title = "CLEME"
    count_names = Outcomes._fields
    min_per_process = 40

    @classmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        return cls(files.sentences, files.signature("gold"), processes)

    @property
    def columns(self) -> Mapping[str, str]:
        return {"hit": "hit", "wrong": "wrong", "under": "under", "over": "over", "cleme": "score"}

    def signature_fields(self) -> dict[str, str | None]:
        return {"gold": self.files, "factors": ",".join(f"{factor:g}" for factor in FACTORS), **annotator_versions()}

    def too_long(self, number: int, hypothesis: str) -> str | None:
        return too_long_for_errant(self.source(number), hypothesis)

    def count_pairs(self, pairs: Sequence[tuple[int, str]]) -> list[Counts]:
        load_annotator()  # before processes are forked, so that they share it
        return super().count_pairs(pairs)

    def count(self, number: int, hypothesis: str) -> list[Outcomes]:
        sentence = self.sentences[number]
        annotators = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)] or [()]
        return count_outcomes(sentence.source, extract_edits(sentence.source, hypothesis), annotators)

    def preference(self, totals: Array, counts: Array) -> list[Array]:
        """Prefer the higher score, then by the sentence alone: more hits, fewer other changes, fewer missing."""
        hit, wrong, under, over = np.moveaxis(counts, -1, 0)
        return [self.scores_of(*np.moveaxis(totals, -1, 0))["cleme"], hit, -(wrong + over), -under]

    def scores_of(self, *totals: Array) -> dict[str, Array]:
        """Return the four rates, each 0 where there is nothing to divide by, and the score."""
        hit, wrong, under, over = totals
        needed, changed = hit + wrong + under, hit + wrong + over
        rates = [*(_share(part, needed) for part in (hit, wrong, under)), _share(over, changed)]
        score = FACTORS[0] * rates[0]
        for factor, rate in zip(FACTORS[1:], rates[1:]):
            score = score + factor * (1 - rate)
        return dict(zip(self.columns, [*rates, score]))


def _share(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)
