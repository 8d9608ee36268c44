"""Over-correction on clean text: nearly every edit of a text without errors is a false alarm."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from btr.metrics.base import Array, Counts, Metric
from btr.metrics.errant import annotator_versions, extract_edits, load_annotator
from btr.metrics.inputs import MetricFiles, MetricOptions
from btr.metrics.lengths import too_long_for_errant


class Unchanged(Metric):
    """The share of sentences that are left as they are, and the edits per 1,000 words of the source."""

    name = "unchanged"
    title = "Clean text"
    needs = ("source",)
    min_per_process = 40

    def __init__(self, sources: Sequence[str], files: str | None = None, processes: int | None = None) -> None:
        super().__init__(len(sources), processes)
        self.sources = sources
        self.files = files

    @classmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        return cls(files.sources, files.signature("source"), processes)

    @property
    def columns(self) -> Mapping[str, str]:
        return {"edits_per_1000_words": "edits per 1,000 words", "unchanged": "unchanged (%)"}

    def signature_fields(self) -> dict[str, str | None]:
        return {"source": self.files, **annotator_versions()}

    def source(self, number: int) -> str:
        return self.sources[number]

    def too_long(self, number: int, hypothesis: str) -> str | None:
        return too_long_for_errant(self.source(number), hypothesis)

    def count_pairs(self, pairs: Sequence[tuple[int, str]]) -> list[Counts]:
        load_annotator()  # before processes are forked, so that they share it
        return super().count_pairs(pairs)

    def count(self, number: int, hypothesis: str) -> tuple[int, int]:
        """Count the edits, and the words of the source."""
        source = self.sources[number]
        return len(extract_edits(source, hypothesis)), len(source.split())

    def stack(self, counts: Sequence[Counts]) -> Array:
        return np.array(counts, dtype=np.int64)

    def aggregate(self, counts: Array, indices: Array) -> dict[str, Array]:
        edits, words = np.moveaxis(counts[indices], -1, 0)
        rate = edits.sum(1) / np.maximum(words.sum(1), 1)
        return {"edits_per_1000_words": 10 * rate, "unchanged": (edits == 0).mean(1)}  # shown times 100

    def totals(self, counts: Array) -> dict[str, int]:
        edits, words = counts.sum(0)
        changed = int(np.count_nonzero(counts[:, 0]))
        return {"changed": changed, "sentences": len(counts), "edits": int(edits), "words": int(words)}

    def sentence_scores(self, counts: Array) -> Array:
        """Return 1 for a sentence that is left as it is, else 0."""
        scores: Array = (counts[:, 0] == 0).astype(float)
        return scores
