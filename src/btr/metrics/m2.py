"""The M2 (MaxMatch) score of CoNLL, to the digit of the official scorer."""

from collections.abc import Sequence
from typing import Self

from btr.corpus.m2 import Edit, Sentence
from btr.metrics import maxmatch, maxmatch_large
from btr.metrics.base import Array
from btr.metrics.edit_lattice import build_lattice
from btr.metrics.edits import EditMetric, f_score
from btr.metrics.inputs import MetricFiles, MetricOptions
from btr.metrics.lengths import too_long_for_m2


class M2(EditMetric):
    """Precision, recall and F of the edits that agree best with an annotator's."""

    name = "m2"
    title = "M2"
    min_per_process = 500

    def __init__(
        self,
        sentences: Sequence[Sentence],
        files: str | None = None,
        beta: float | None = None,
        processes: int | None = None,
    ) -> None:
        super().__init__(sentences, files, beta, processes)

    @classmethod
    def from_files(cls, files: MetricFiles, options: MetricOptions, processes: int | None = None) -> Self:
        return cls(files.sentences, files.signature("gold"), options.beta, processes)

    def signature_fields(self) -> dict[str, str | None]:
        return {"gold": self.files, "beta": f"{self.beta:g}", "unchanged": str(maxmatch.MAX_UNCHANGED)}

    def too_long(self, number: int, hypothesis: str) -> str | None:
        return too_long_for_m2(self.source(number), hypothesis)

    def count(self, number: int, hypothesis: str) -> list[tuple[int, int, int]]:
        sentence = self.sentences[number]
        annotators = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)]
        return count_edits(sentence.source, hypothesis, annotators or [()])

    def preference(self, totals: Array, counts: Array) -> list[Array]:
        """Prefer the higher F, then more correct edits, then fewer edits on both sides."""
        correct, proposed, gold = (totals[..., k] for k in range(3))
        return [f_score(correct, proposed, gold, self.beta)[2], correct, -(proposed + self.beta**2 * gold)]


def count_edits(source: str, hypothesis: str, annotations: Sequence[Sequence[Edit]]) -> list[tuple[int, int, int]]:
    """Count the (correct, proposed, gold) edits of a hypothesis against each annotator's edits."""
    words, tokens = source.split(), hypothesis.split()
    if words == tokens:
        return [(0, 0, len(edits)) for edits in annotations]
    lattice = build_lattice(words, tokens)
    graph = maxmatch.build_graph(lattice)
    counts = []
    for edits in annotations:
        if graph:
            path = maxmatch.shortest_path(graph, tokens, edits)
        else:
            path = maxmatch_large.shortest_path(lattice, tokens, edits)
        counts.append((count_correct(path, tokens, edits), len(path), len(edits)))
    return counts


def count_correct(path: Sequence[maxmatch.Span], hypothesis: Sequence[str], gold: Sequence[Edit]) -> int:
    """Count the gold edits that a path has, in order.

    Like the official scorer, this counts a proposed edit once for each of the annotator's edits that it equals (an
    annotator may give the same correction twice, for two reasons), so that `correct` may exceed `proposed`.
    """
    correct = first = 0
    for start, left, end, right in path:
        text = " ".join(hypothesis[left:right])
        for k in range(first, len(gold)):
            if (start, end) == (gold[k].start, gold[k].end) and text in gold[k].corrections:
                correct += 1
                first = k + 1
    return correct
