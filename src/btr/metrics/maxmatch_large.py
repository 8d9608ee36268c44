"""MaxMatch for hypotheses that have little in common with their source, where merged edits are too many to list.

A merged edit that equals no gold edit costs its length and an epsilon, wherever it ends. So the search need not know
such edits: a path carries an open edit along, with its unchanged words counted, and may close it at any node. Only
merged edits that equal a gold edit are looked up. The cost grows with the nodes of the lattice, at worst the source's
words times the hypothesis'.
"""

from collections.abc import Iterator, Sequence

from btr.corpus.m2 import Edit
from btr.metrics.edit_lattice import Lattice, bits
from btr.metrics.maxmatch import MAX_UNCHANGED, Span

# A path's weight is a whole number: as many gold edits as possible, then as few arcs, then as few other edits.
EDIT = 1
LENGTH = 1 << 20
GOLD = 1 << 40


def _gold_arcs(lattice: Lattice, hypothesis: Sequence[str], edits: Sequence[Edit]) -> set[Span]:
    """The arcs, merged ones included, that equal a gold edit."""
    arcs: set[Span] = set()
    insertions: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.start == edit.end:
            insertions.setdefault(edit.start, []).append(edit)
            continue
        for correction in edit.corrections:
            for left, right in _places(lattice, hypothesis, edit, correction.split(" ") if correction else []):
                span = Span(edit.start, left, edit.end, right)
                if _is_arc(lattice, span):
                    arcs.add(span)
    for row, gold in insertions.items():
        arcs.update(
            Span(row, left, row, right) for left, right in _gold_insertions(lattice.insert[row], hypothesis, gold)
        )
    return arcs


def _places(
    lattice: Lattice, hypothesis: Sequence[str], edit: Edit, correction: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Where in the hypothesis a correction stands, at nodes of the edit's first and last row."""
    nodes_start, nodes_end = lattice.nodes(edit.start), lattice.nodes(edit.end)
    for left in bits(nodes_start & nodes_end >> len(correction)):
        right = left + len(correction)
        if list(hypothesis[left:right]) == correction:
            yield left, right


def _is_arc(lattice: Lattice, span: Span) -> bool:
    """Whether arcs can be merged into this one edit.

    As in the official scorer, a node keeps the first shortest way to it that has few enough unchanged words, and
    forgets the others.
    """
    start = (span.start, span.left)
    ways: dict[tuple[int, int], tuple[int, int]] = {}  # node → arcs, unchanged words
    for i in range(span.start, span.end + 1):
        inside = (1 << (span.right + 1)) - (1 << span.left)
        match = lattice.match[i]
        diagonal, delete, insert = match | lattice.substitute[i], lattice.delete[i], lattice.insert[i]
        for j in bits((diagonal | delete | insert) & inside):
            best: tuple[int, int] | None = None
            same = match >> j & 1
            for arcs, node, kept in (
                (diagonal, (i - 1, j - 1), same),
                (delete, (i - 1, j), 0),
                (insert, (i, j - 1), 0),
            ):
                length, unchanged = (0, 0) if node == start else ways.get(node, (0, MAX_UNCHANGED + 1))
                if arcs >> j & 1 and (best is None or length + 1 < best[0]):
                    unchanged += kept
                    if unchanged <= MAX_UNCHANGED:
                        best = length + 1, unchanged
            if best:
                ways[i, j] = best
    length, unchanged = ways.get((span.end, span.right), (0, 0))
    return length > unchanged or (length, unchanged) == (1, 1)


def _gold_insertions(insert: int, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[tuple[int, int]]:
    """Match the insertions of a row to the gold, each gold edit to one, without listing them all.

    The official scorer goes through the sorted insertions from both ends inwards, and takes the first that it meets.
    """
    ends: dict[int, int] = {}  # first column → last column of the stretch of insertions that it stands in
    for column in reversed(list(bits(insert))):
        ends[column - 1] = ends.get(column, column)
    before, total = dict[int, int](), 0  # how many insertions, single and merged, start further left
    for column in sorted(ends):
        before[column] = total
        total += ends[column] - column
    taken: list[tuple[int, int]] = []
    for edit in gold:
        met = []
        for words in (correction.split(" ") for correction in edit.corrections if correction):
            for left, end in ends.items():
                right = left + len(words)
                free = all(right <= start or stop <= left for start, stop in taken)
                if right <= end and free and list(hypothesis[left:right]) == words:
                    place = before[left] + len(words) - 1
                    met.append((min(2 * place, 2 * (total - 1 - place) + 1), left, right))
        if met:
            taken.append(min(met)[1:])
    return taken


# The edits of a path so far, last first; an edit that is still open has its first node only.
_Trail = tuple["_Trail", tuple[int, ...]] | None
_INFINITY = 1 << 62


class _Row:
    """The lightest paths to the nodes of one row: with no edit open, and with one open that has q unchanged words."""

    def __init__(self, columns: int) -> None:
        self.closed = [_INFINITY] * columns
        self.trails: list[_Trail] = [None] * columns
        self.open = [[_INFINITY] * columns for _ in range(MAX_UNCHANGED + 1)]
        self.open_trails: list[list[_Trail]] = [[None] * columns for _ in range(MAX_UNCHANGED + 1)]

    def carry(self, j: int, before: "_Row", node: tuple[int, int], unchanged: int) -> None:
        """Go along an arc from a node, with the edits that are open there, or with one that opens there."""
        k = node[1]
        for q in range(unchanged, MAX_UNCHANGED + 1):
            weight = before.open[q - unchanged][k] + LENGTH
            if weight < self.open[q][j]:
                self.open[q][j] = weight
                self.open_trails[q][j] = before.open_trails[q - unchanged][k]
        weight = before.closed[k] + LENGTH + EDIT
        if weight < self.open[unchanged][j]:
            self.open[unchanged][j] = weight
            self.open_trails[unchanged][j] = before.trails[k], node

    def close(self, i: int, j: int) -> None:
        """End the edit that is open here, if that is the lightest path."""
        for weights, trails in zip(self.open, self.open_trails, strict=True):
            if weights[j] < self.closed[j]:
                self.closed[j] = weights[j]
                trail = trails[j]
                assert trail
                self.trails[j] = trail[0], (*trail[1], i, j)


def shortest_path(lattice: Lattice, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[Span]:
    """The edits on a path that agrees best with the gold."""
    columns = len(hypothesis) + 1
    into: dict[tuple[int, int], list[Span]] = {}
    for span in _gold_arcs(lattice, hypothesis, gold):
        into.setdefault((span.end, span.right), []).append(span)
    starts = {(span.start, span.left) for spans in into.values() for span in spans}
    known: dict[tuple[int, int], tuple[int, _Trail]] = {}  # lightest paths to the first nodes of gold edits

    row = _Row(columns)
    row.closed[0] = 0
    for i in range(len(lattice.match)):
        match, substitute, delete, insert = lattice.row(i)
        above, row = (row, _Row(columns)) if i else (row, row)
        for j in bits(lattice.nodes(i)):
            if match >> j & 1:
                row.closed[j], row.trails[j] = above.closed[j - 1] + LENGTH, above.trails[j - 1]
                row.carry(j, above, (i - 1, j - 1), 1)
            if substitute >> j & 1:
                row.carry(j, above, (i - 1, j - 1), 0)
            if delete >> j & 1:
                row.carry(j, above, (i - 1, j), 0)
            if insert >> j & 1:
                row.carry(j, row, (i, j - 1), 0)
            row.close(i, j)
            for span in into.get((i, j), ()):
                weight, trail = known[span.start, span.left]
                if weight - GOLD < row.closed[j]:
                    is_match = match >> j & 1 and (span.start, span.left) == (i - 1, j - 1)
                    row.closed[j], row.trails[j] = weight - GOLD, trail if is_match else (trail, span)
            if (i, j) in starts:
                known[i, j] = row.closed[j], row.trails[j]
    path: list[Span] = []
    trail = row.trails[-1]
    while trail:
        trail, edit = trail
        path.append(Span(*edit))
    return path[::-1]
