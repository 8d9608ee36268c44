from collections.abc import Sequence
from btr.corpus.m2 import Edit
from btr.metrics import crowded, maxmatch
from btr.metrics.lattice import build_lattice


def count_edits(
    source: str, hypothesis: str, annotations: Sequence[Sequence[Edit]]
) -> list[tuple[int, int, int]]:
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
            path = crowded.shortest_path(lattice, tokens, edits)
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
