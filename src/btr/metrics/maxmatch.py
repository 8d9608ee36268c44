"""MaxMatch, the alignment of the M2 score: of all edits that make a hypothesis from its source, those that agree best
with an annotator's (Dahlmeier and Ng 2012).

1. Start from the edit lattice: a path through it is one way to make the hypothesis.
2. Neighbouring arcs may form one edit, with at most two unchanged words in it: add such an arc for every pair of nodes.
3. An arc weighs the number of its direct arcs, and an epsilon more if it changes anything. An arc that equals a gold
   edit gets a negative weight that exceeds all others together. The lightest path then has as many gold edits as
   possible, and the fewest other edits.

The official scorer does step 2 by trying all triples of nodes, and runs Bellman-Ford over all arcs once per node. Here
the nodes are in topological order, so that merged arcs grow by one direct arc at a time, and Bellman-Ford ends after a
few rounds without a change. The numbers are the same.

Paths of equal weight occur, and what the official scorer does beside its definition decides between them. It is
reproduced here: an arc that is in both matrices, or for which a shorter merge is discovered later, is in its list
twice and pays the epsilon twice; of neighbouring merged matches every second one stays in the list; sums have the
rounding of floating-point numbers. Matches before the first change and after the last are not in the graph, only
counted.

Where a hypothesis has so little in common with its source that the arcs would be too many, `maxmatch_large` searches
without listing them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from btr.corpus.m2 import Edit
from btr.metrics.edit_lattice import Lattice, bits

MAX_UNCHANGED = 2  # words within one edit
EPSILON = 0.001
MAX_ARCS = 100_000  # beyond, the official scorer does not end
MAX_NODES = 20_000


class Span(NamedTuple):
    """Source words `start` to `end` against hypothesis words `left` to `right`."""

    start: int
    left: int
    end: int
    right: int


Arc = tuple[int, int]  # from one node to another, by their numbers

# What an arc merges, as one integer: its number of direct arcs times ONE_ARC, plus how many of these are matches
# (unchanged words). Two such integers add up, and the one with fewer arcs is smaller.
ONE_ARC = 1 << 16
UNCHANGED_BITS = ONE_ARC - 1


@dataclass(slots=True)
class Graph:
    """Nodes (i, j), and all arcs in the order of the official scorer's list, with their weights if no edit is gold."""

    nodes: list[tuple[int, int]]  # from the first change to the last, with MAX_UNCHANGED words around them
    merges: list[dict[int, int]]  # what an arc merges, by its target and then its start
    arcs: list[Arc]
    weights: list[float]
    repeats: dict[Arc, int]  # how often an edit is in the list, if more than once
    list_length: int  # the length of the official scorer's list, repeated arcs included

    def is_edit(self, arc: Arc) -> bool:
        """Return whether an arc changes anything: not all that it merges are matches."""
        merge = self.merges[arc[1]][arc[0]]
        return merge // ONE_ARC > merge & UNCHANGED_BITS


def build_graph(lattice: Lattice) -> Graph | None:
    """Add merged arcs to the lattice; return None if they are too many."""
    if sum(lattice.nodes(row).bit_count() for row in range(len(lattice.match))) > MAX_NODES:
        return None
    first, last = _changed_rows(lattice)
    graph, outgoing = _direct_graph(lattice, first, last)
    merges, repeats, merged = graph.merges, graph.repeats, list[Arc]()
    for k, after in enumerate(outgoing):
        into = merges[k]
        for u in sorted(into) if len(into) > 1 else into:
            for v, step in after:
                merge = into[u] + step
                if merge & UNCHANGED_BITS <= MAX_UNCHANGED:
                    known = merges[v].get(u)
                    if known is None:
                        merges[v][u] = merge
                        merged.append((u, v))
                    elif merge | UNCHANGED_BITS < known:
                        merges[v][u] = merge
                        repeats[u, v] = repeats.get((u, v), 1) + 1
                        merged.append((u, v))
        if len(merged) > MAX_ARCS:
            return None
    _list_merged(graph, merged, first, len(lattice.match) - 1 - last)
    for arc in graph.arcs:
        merge = merges[arc[1]][arc[0]]
        weight = float(merge // ONE_ARC)
        if weight > merge & UNCHANGED_BITS:
            weight += EPSILON
            if arc in repeats:
                for _ in range(1, repeats[arc]):
                    weight += EPSILON
        graph.weights.append(weight)
    return graph


def _changed_rows(lattice: Lattice) -> tuple[int, int]:
    """Return the first and last row with anything but a plain match, and the matches around that an edit may merge."""
    rows = range(1, len(lattice.match))
    first = 0 if lattice.insert[0] else next(i for i in rows if not lattice.is_plain_match(i)) - 1
    last = next((i for i in reversed(rows) if not lattice.is_plain_match(i)), 0)
    return max(first - MAX_UNCHANGED, 0), min(last + MAX_UNCHANGED, len(lattice.match) - 1)


def _list_merged(graph: Graph, merged: Sequence[Arc], before: int, after: int) -> None:
    """Add the merged arcs to the graph's, except those that merge matches only.

    The official scorer removes the latter from its list while it iterates over the list, and so skips the arc after
    each one that it removes. Each of the `before` and `after` words outside the graph stands for one such arc.
    """
    skips_next = before % 2 == 1
    graph.list_length += before // 2
    seen: set[Arc] = set()
    for arc in merged:
        if not skips_next and not graph.is_edit(arc):
            skips_next = True
            continue
        skips_next = False
        graph.list_length += 1
        if arc not in seen:
            graph.arcs.append(arc)
            if arc in graph.repeats:
                seen.add(arc)
    graph.list_length += (after + skips_next) // 2


def _direct_graph(lattice: Lattice, first: int, last: int) -> tuple[Graph, list[list[tuple[int, int]]]]:
    """Return the graph without merged arcs, and the arcs out of each node: the target, and what the arc merges."""
    nodes = [(first, first)]
    outgoing: list[list[tuple[int, int]]] = [[]]
    merges: list[dict[int, int]] = [{}]
    repeats: dict[Arc, int] = {}
    list_length = 2 * (first + len(lattice.match) - 1 - last)  # a plain match is in both matrices
    above: dict[int, int] = {}  # column → number of the node, in the row above
    here = {first: 0}
    for i in range(first, last + 1):
        match, substitute, delete, insert = lattice.row(i)
        if i > first:
            above, here = here, {}
        elif i:
            continue
        in_both = lattice.in_both.row(i)
        list_length += sum(map(int.bit_count, in_both))
        for j in bits(match | substitute | delete | insert):
            v = here[j] = len(nodes)
            nodes.append((i, j))
            outgoing.append([])
            into: dict[int, int] = {}
            merges.append(into)
            if match >> j & 1:
                u = above[j - 1]
                into[u] = ONE_ARC + 1
                outgoing[u].append((v, ONE_ARC + 1))
            for kind, arcs in enumerate((substitute, delete, insert), 1):
                if arcs >> j & 1:
                    u = (above[j - 1] if kind == 1 else above[j]) if kind < 3 else here[j - 1]
                    into[u] = ONE_ARC
                    outgoing[u].append((v, ONE_ARC))
                    if in_both[kind] >> j & 1:
                        repeats[u, v] = 2
            list_length += len(into)
    direct = [(u, v) for u, after in enumerate(outgoing) for v, _ in after]
    return Graph(nodes, merges, direct, [], repeats, list_length), outgoing


def shortest_path(graph: Graph, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[Span]:
    """Return the edits on the lightest path, the one that agrees best with the gold."""
    weights = _weigh_gold(graph, hypothesis, gold) if gold else graph.weights
    distances = [inf] * len(graph.nodes)
    distances[0] = float(graph.nodes[0][0])
    back = [0] * len(graph.nodes)
    changed = True
    while changed:
        changed = False
        for (u, v), weight in zip(graph.arcs, weights, strict=True):
            distance = distances[u] + weight
            if distance < distances[v]:
                distances[v] = distance
                back[v] = u
                changed = True
    path = []
    v = len(graph.nodes) - 1
    while v:
        u = back[v]
        if graph.is_edit((u, v)):
            path.append(Span(*graph.nodes[u], *graph.nodes[v]))
        v = u
    return path[::-1]


def _weigh_gold(graph: Graph, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[float]:
    """Return the weights of all arcs, where an arc that equals a gold edit outweighs any path without it."""
    spans: dict[tuple[int, int], list[Edit]] = {}
    for edit in gold:
        spans.setdefault((edit.start, edit.end), []).append(edit)
    nodes, weights = graph.nodes, graph.weights.copy()
    insertions: dict[int, list[tuple[int, int, int, int]]] = {}
    for number, (u, v) in enumerate(graph.arcs):
        span = nodes[u][0], nodes[v][0]
        if span not in spans:
            continue
        left, right = nodes[u][1], nodes[v][1]
        if span[0] == span[1]:
            insertions.setdefault(span[0], []).append((left, right, number, graph.repeats.get((u, v), 1)))
        elif any(" ".join(hypothesis[left:right]) in edit.corrections for edit in spans[span]):
            weights[number] = -graph.list_length
    for start, row in insertions.items():
        listed = [(left, right) for left, right, _, repeats in sorted(row) for _ in range(repeats)]
        matched, skipped = match_insertions(listed, hypothesis, spans[start, start])
        for left, right, number, _ in row:
            weights[number] = -graph.list_length if (left, right) in matched else float(right - left)
            for _ in range(skipped[left, right]):
                weights[number] += EPSILON
    return weights


def match_insertions(
    arcs: Sequence[tuple[int, int]], hypothesis: Sequence[str], gold: Sequence[Edit]
) -> tuple[set[tuple[int, int]], Counter[tuple[int, int]]]:
    """Match insertions at one offset to the gold, from both ends inwards, each gold edit to one arc.

    Return the matched arcs, and how often each arc was skipped since (each time costs an epsilon, matched or not).
    """
    matched: set[tuple[int, int]] = set()
    skipped: Counter[tuple[int, int]] = Counter()
    sizes = {len(text.split()) for edit in gold for text in edit.corrections}

    left, right, current = 0, len(arcs) - 1, 0
    first, last = 0, len(gold) - 1
    while left <= right and first <= last:
        from_left = current == left
        start, end = arcs[current]
        matching = None
        if end - start in sizes:
            text = " ".join(hypothesis[start:end])
            order = range(first, last + 1) if from_left else range(last, first - 1, -1)
            matching = next((k for k in order if text in gold[k].corrections), None)
        if matching is None:
            skipped[start, end] += 1
            left, right = (left + 1, right) if from_left else (left, right - 1)
            current = right if from_left else left
            continue
        matched.add((start, end))
        del skipped[start, end]
        if from_left:  # go on with the insertions that start where this one ends
            first, left = matching + 1, left + 1
            while left < len(arcs) and arcs[left][0] != end:
                skipped[arcs[left]] += 1
                left += 1
            current = left
        else:  # go on with those that end where this one starts
            last, right = matching - 1, right - 1
            while right >= 0 and arcs[right][1] != start:
                skipped[arcs[right]] += 1
                right -= 1
            current = right
    skipped.update(arcs[left : right + 1])
    return matched, skipped
