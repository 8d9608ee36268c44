"""A metric as another package would add it: the percentage of sentences that equal a reference."""

import numpy as np

from btr.metrics.base import Metric


class ExactMatch(Metric):
    """Counts are 1 for a hypothesis that equals a reference of its sentence, else 0."""

    name = "exact"
    title = "Exact match"
    needs = "source", "reference"

    def __init__(self, sources, references, files, processes):
        super().__init__(len(sources), processes)
        self.sources, self.references, self.files = sources, references, files

    @classmethod
    def from_files(cls, files, options, processes=None):
        return cls(files.sources, files.references, files.signature("source", "reference"), processes)

    @property
    def columns(self):
        return {"exact": "Exact (%)"}

    def signature_fields(self):
        return {"files": self.files}

    def source(self, number):
        return self.sources[number]

    def count(self, number, hypothesis):
        return int(hypothesis in self.references[number])

    def stack(self, counts):
        return np.array(counts)

    def aggregate(self, counts, indices):
        return {"exact": counts[indices].mean(1)}

    def totals(self, counts):
        return {"equal": int(counts.sum()), "sentences": len(counts)}

    def sentence_scores(self, counts):
        return counts.astype(float)
