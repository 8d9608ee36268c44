"""MaxMatch, the alignment behind the M2 score: of all edits that make a hypothesis from its source, those that agree
best with an annotator's.

The official scorer adds merged edits to the lattice as arcs, by trying all triples of nodes, and runs Bellman-Ford over
all arcs as often as there are nodes. The same numbers come out here at a fraction of the cost, because the nodes are in
topological order: merged arcs grow by one direct arc at a time, and Bellman-Ford settles after a few rounds.

Ties between paths are real, and decided by what the official scorer does beside its definition: an arc that stands in
both matrices, or to which a shorter way turns up later, is listed twice and pays epsilon twice; every second one of
neighbouring merged matches stays in the list; sums are rounded as floating-point sums are. All of this is kept.

Plain matches before the first change and after the last take no part in this, but for their number.

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

# What an arc merges, as one number: how many direct arcs, in units of STEP, and how many of them are unchanged words.
STEP = 1 << 16
UNCHANGED = STEP - 1


@dataclass(slots=True)
class Graph:
    """Nodes (i, j), and all arcs in the official scorer's order, with their weights where nothing is gold."""

    nodes: list[tuple[int, int]]  # from the first change to the last, with MAX_UNCHANGED words around them
    ways: list[dict[int, int]]  # by target, then source: what the arc merges
    arcs: list[Arc]
    weights: list[float]
    times: dict[Arc, int]  # how often an edit is listed, if more than once
    listings: int  # arcs in the official scorer's list, repetitions included

    def is_edit(self, arc: Arc) -> bool:
        """Whether an arc changes anything."""
        way = self.ways[arc[1]][arc[0]]
        return way // STEP > way & UNCHANGED


def build_graph(lattice: Lattice) -> Graph | None:
    """The lattice with merged arcs, or None if they are too many."""
    if sum(lattice.nodes(row).bit_count() for row in range(len(lattice.match))) > MAX_NODES:
        return None
    first, last = _changed_rows(lattice)
    graph, follow = _direct_graph(lattice, first, last)
    ways, times, merged = graph.ways, graph.times, list[Arc]()
    for k, after in enumerate(follow):
        into = ways[k]
        for u in sorted(into) if len(into) > 1 else into:
            for v, step in after:
                way = into[u] + step
                if way & UNCHANGED <= MAX_UNCHANGED:
                    known = ways[v].get(u)
                    if known is None:
                        ways[v][u] = way
                        merged.append((u, v))
                    elif way | UNCHANGED < known:
                        ways[v][u] = way
                        times[u, v] = times.get((u, v), 1) + 1
                        merged.append((u, v))
        if len(merged) > MAX_ARCS:
            return None
    _list_merged(graph, merged, first, len(lattice.match) - 1 - last)
    for arc in graph.arcs:
        way = ways[arc[1]][arc[0]]
        weight = float(way // STEP)
        if weight > way & UNCHANGED:
            weight += EPSILON
            if arc in times:
                for _ in range(1, times[arc]):
                    weight += EPSILON
        graph.weights.append(weight)
    return graph


def _changed_rows(lattice: Lattice) -> tuple[int, int]:
    """The rows between which anything but plain matches happens, with the matches that an edit there may merge."""
    rows = range(1, len(lattice.match))
    first = 0 if lattice.insert[0] else next(i for i in rows if not lattice.plain(i)) - 1
    last = next((i for i in reversed(rows) if not lattice.plain(i)), 0)
    return max(first - MAX_UNCHANGED, 0), min(last + MAX_UNCHANGED, len(lattice.match) - 1)


def _list_merged(graph: Graph, merged: Sequence[Arc], before: int, after: int) -> None:
    """Add the merged arcs to the graph's, without those of matches alone.

    The official scorer drops the latter from the list while it goes through it, and so passes over whatever follows
    each. Every word in the plain stretches before and after the graph stands for one such arc.
    """
    passing = before % 2 == 1
    graph.listings += before // 2
    seen: set[Arc] = set()
    for arc in merged:
        if not passing and not graph.is_edit(arc):
            passing = True
            continue
        passing = False
        graph.listings += 1
        if arc not in seen:
            graph.arcs.append(arc)
            if arc in graph.times:
                seen.add(arc)
    graph.listings += (after + passing) // 2


def _direct_graph(lattice: Lattice, first: int, last: int) -> tuple[Graph, list[list[tuple[int, int]]]]:
    """The graph without merged arcs, and the arcs out of each node: target, and what a step along it adds to a way."""
    nodes = [(first, first)]
    follow: list[list[tuple[int, int]]] = [[]]
    ways: list[dict[int, int]] = [{}]
    times: dict[Arc, int] = {}
    listings = 2 * (first + len(lattice.match) - 1 - last)  # a plain match stands in both matrices
    above: dict[int, int] = {}  # column → number of the node in the row above
    here = {first: 0}
    for i in range(first, last + 1):
        match, substitute, delete, insert = lattice.row(i)
        if i > first:
            above, here = here, {}
        elif i:
            continue
        twice = lattice.twice.row(i)
        listings += sum(map(int.bit_count, twice))
        for j in bits(match | substitute | delete | insert):
            v = here[j] = len(nodes)
            nodes.append((i, j))
            follow.append([])
            into: dict[int, int] = {}
            ways.append(into)
            if match >> j & 1:
                u = above[j - 1]
                into[u] = STEP + 1
                follow[u].append((v, STEP + 1))
            for kind, arcs in enumerate((substitute, delete, insert), 1):
                if arcs >> j & 1:
                    u = (above[j - 1] if kind == 1 else above[j]) if kind < 3 else here[j - 1]
                    into[u] = STEP
                    follow[u].append((v, STEP))
                    if twice[kind] >> j & 1:
                        times[u, v] = 2
            listings += len(into)
    direct = [(u, v) for u, after in enumerate(follow) for v, _ in after]
    return Graph(nodes, ways, direct, [], times, listings), follow


def shortest_path(graph: Graph, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[Span]:
    """The edits on the path that agrees best with the gold."""
    weights = _weigh_gold(graph, hypothesis, gold) if gold else graph.weights
    distances = [inf] * len(graph.nodes)
    distances[0] = float(graph.nodes[0][0])
    back = [0] * len(graph.nodes)
    settled = False
    while not settled:
        settled = True
        for (u, v), weight in zip(graph.arcs, weights, strict=True):
            distance = distances[u] + weight
            if distance < distances[v]:
                distances[v] = distance
                back[v] = u
                settled = False
    path = []
    v = len(graph.nodes) - 1
    while v:
        u = back[v]
        if graph.is_edit((u, v)):
            path.append(Span(*graph.nodes[u], *graph.nodes[v]))
        v = u
    return path[::-1]


def _weigh_gold(graph: Graph, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[float]:
    """The weights of all arcs, where those that equal a gold edit are better than any without."""
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
            insertions.setdefault(span[0], []).append((left, right, number, graph.times.get((u, v), 1)))
        elif any(" ".join(hypothesis[left:right]) in edit.corrections for edit in spans[span]):
            weights[number] = -graph.listings
    for start, row in insertions.items():
        listed = [(left, right) for left, right, _, times in sorted(row) for _ in range(times)]
        matched, passed = match_insertions(listed, hypothesis, spans[start, start])
        for left, right, number, _ in row:
            weights[number] = -graph.listings if (left, right) in matched else float(right - left)
            for _ in range(passed[left, right]):
                weights[number] += EPSILON
    return weights


def match_insertions(
    arcs: Sequence[tuple[int, int]], hypothesis: Sequence[str], gold: Sequence[Edit]
) -> tuple[set[tuple[int, int]], Counter[tuple[int, int]]]:
    """Match insertions at one offset to the gold, from both ends inwards, each gold edit to one arc.

    Gives the matched arcs, and how often each arc was passed by since (each costs an epsilon, matched or not).
    """
    matched: set[tuple[int, int]] = set()
    passed: Counter[tuple[int, int]] = Counter()
    sizes = {len(text.split()) for edit in gold for text in edit.corrections}

    left, right, current = 0, len(arcs) - 1, 0
    first, last = 0, len(gold) - 1
    while left <= right and first <= last:
        from_left = current == left
        start, end = arcs[current]
        hit = None
        if end - start in sizes:
            text = " ".join(hypothesis[start:end])
            order = range(first, last + 1) if from_left else range(last, first - 1, -1)
            hit = next((k for k in order if text in gold[k].corrections), None)
        if hit is None:
            passed[start, end] += 1
            left, right = (left + 1, right) if from_left else (left, right - 1)
            current = right if from_left else left
            continue
        matched.add((start, end))
        del passed[start, end]
        if from_left:  # go on with the insertions that start where this one ends
            first, left = hit + 1, left + 1
            while left < len(arcs) and arcs[left][0] != end:
                passed[arcs[left]] += 1
                left += 1
            current = left
        else:  # go on with those that end where this one starts
            last, right = hit - 1, right - 1
            while right >= 0 and arcs[right][1] != start:
                passed[arcs[right]] += 1
                right -= 1
            current = right
    passed.update(arcs[left : right + 1])
    return matched, passed
