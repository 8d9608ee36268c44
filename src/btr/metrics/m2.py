"""The M2 (MaxMatch) score of CoNLL, to the digit of the official scorer."""

from collections.abc import Sequence

from btr.corpus.m2 import Edit, Sentence
from btr.metrics import maxmatch, maxmatch_large
from btr.metrics.base import Array, signature
from btr.metrics.edit_lattice import build_lattice
from btr.metrics.edits import EditMetric, f_score


class M2(EditMetric):
    """Precision, recall and F of the edits that agree best with an annotator's."""

    name = "m2"
    min_per_process = 500

    def __init__(
        self, sentences: Sequence[Sentence], gold: str = "", beta: float = 0.5, processes: int | None = None
    ) -> None:
        super().__init__(len(sentences), processes)
        self.sentences = sentences
        self.gold = gold
        self.beta = beta

    def signature(self) -> str:
        return signature(self.name, gold=self.gold, beta=f"{self.beta:g}", unchanged=str(maxmatch.MAX_UNCHANGED))

    def source(self, number: int) -> str:
        return self.sentences[number].source

    def count(self, pair: tuple[int, str]) -> list[tuple[int, int, int]]:
        number, hypothesis = pair
        sentence = self.sentences[number]
        annotators = [sentence.annotations[annotator] for annotator in sorted(sentence.annotations)]
        return count_edits(sentence.source, hypothesis, annotators or [()])

    def preference(self, totals: Array, own: Array) -> list[Array]:
        """The higher F, then the more correct edits, then fewer edits on both sides."""
        correct, proposed, gold = (totals[..., k] for k in range(3))
        return [f_score(correct, proposed, gold, self.beta)[2], correct, -(proposed + self.beta**2 * gold)]


def count_edits(source: str, hypothesis: str, annotations: Sequence[Sequence[Edit]]) -> list[tuple[int, int, int]]:
    """The (correct, proposed, gold) edits of a hypothesis against each annotator's edits."""
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
    """How many gold edits the path has, in order.

    Like the official scorer, this counts a proposed edit for each of the annotator's edits that it equals (an annotator
    may give the same correction twice, for two reasons), so that `correct` may exceed `proposed`.
    """
    correct = first = 0
    for start, left, end, right in path:
        text = " ".join(hypothesis[left:right])
        for k in range(first, len(gold)):
            if (start, end) == (gold[k].start, gold[k].end) and text in gold[k].corrections:
                correct += 1
                first = k + 1
    return correct
