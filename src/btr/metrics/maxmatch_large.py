"""MaxMatch for hypotheses that have little in common with their source, where merged arcs are too many to list.

`maxmatch` lists an arc for every pair of nodes that one edit may join. Here no such list is needed: an edit that is not
gold costs its number of arcs and an epsilon, whatever it is. So the search goes through the nodes once, row by row, and
knows for each node the lightest path on which no edit is open, and the lightest ones on which an edit is open that has
0, 1 or 2 unchanged words so far. At each node the open edit may end. Only edits that equal a gold edit are listed.

The cost grows with the number of nodes: at worst the words of the source times the words of the hypothesis. Paths of
equal weight may be decided otherwise than in `maxmatch`, because no arc is in a list twice.
"""

from collections.abc import Iterator, Sequence

from btr.corpus.m2 import Edit
from btr.metrics.edit_lattice import Lattice, bits
from btr.metrics.maxmatch import MAX_UNCHANGED, Span

# The weight of a path is an integer: as many gold edits as possible, then as few arcs, then as few other edits.
EDIT = 1
ARC = 1 << 20
GOLD = 1 << 40


def _gold_arcs(lattice: Lattice, hypothesis: Sequence[str], edits: Sequence[Edit]) -> set[Span]:
    """Return the arcs, merged ones included, that equal a gold edit."""
    arcs: set[Span] = set()
    insertions: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.start == edit.end:
            insertions.setdefault(edit.start, []).append(edit)
            continue
        for correction in edit.corrections:
            for left, right in _occurrences(lattice, hypothesis, edit, correction.split(" ") if correction else []):
                span = Span(edit.start, left, edit.end, right)
                if _can_merge(lattice, span):
                    arcs.add(span)
    for row, gold in insertions.items():
        arcs.update(
            Span(row, left, row, right) for left, right in _gold_insertions(lattice.insert[row], hypothesis, gold)
        )
    return arcs


def _occurrences(
    lattice: Lattice, hypothesis: Sequence[str], edit: Edit, correction: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield where a correction occurs in the hypothesis, from a node of the edit's first row to one of its last."""
    nodes_start, nodes_end = lattice.nodes(edit.start), lattice.nodes(edit.end)
    for left in bits(nodes_start & nodes_end >> len(correction)):
        right = left + len(correction)
        if list(hypothesis[left:right]) == correction:
            yield left, right


def _can_merge(lattice: Lattice, span: Span) -> bool:
    """Return whether arcs can be merged into this one edit.

    As in the official scorer, only the first of the shortest merges to a node counts, among those with few enough
    unchanged words.
    """
    start = (span.start, span.left)
    shortest: dict[tuple[int, int], tuple[int, int]] = {}  # node → arcs and unchanged words of the shortest merge to it
    for i in range(span.start, span.end + 1):
        inside = (1 << (span.right + 1)) - (1 << span.left)
        match = lattice.match[i]
        diagonal, delete, insert = match | lattice.substitute[i], lattice.delete[i], lattice.insert[i]
        for j in bits((diagonal | delete | insert) & inside):
            best: tuple[int, int] | None = None
            same = match >> j & 1
            for arcs, node, matches in (
                (diagonal, (i - 1, j - 1), same),
                (delete, (i - 1, j), 0),
                (insert, (i, j - 1), 0),
            ):
                length, unchanged = (0, 0) if node == start else shortest.get(node, (0, MAX_UNCHANGED + 1))
                if arcs >> j & 1 and (best is None or length + 1 < best[0]):
                    unchanged += matches
                    if unchanged <= MAX_UNCHANGED:
                        best = length + 1, unchanged
            if best:
                shortest[i, j] = best
    length, unchanged = shortest.get((span.end, span.right), (0, 0))
    return length > unchanged or (length, unchanged) == (1, 1)


def _gold_insertions(insert: int, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[tuple[int, int]]:
    """Match the insertions of a row to the gold, each gold edit to one, without listing all insertions.

    The official scorer goes through the sorted insertions from both ends inwards, and takes the first that matches. So
    among several, the one nearest to an end of the sorted list is taken.
    """
    ends: dict[int, int] = {}  # first column → last column of the run of insertions that it is in
    for column in reversed(list(bits(insert))):
        ends[column - 1] = ends.get(column, column)
    before, total = dict[int, int](), 0  # how many insertions, single and merged, start further left
    for column in sorted(ends):
        before[column] = total
        total += ends[column] - column
    taken: list[tuple[int, int]] = []
    for edit in gold:
        matches = []
        for words in (correction.split(" ") for correction in edit.corrections if correction):
            for left, end in ends.items():
                right = left + len(words)
                free = all(right <= start or stop <= left for start, stop in taken)
                if right <= end and free and list(hypothesis[left:right]) == words:
                    position = before[left] + len(words) - 1  # in the sorted list
                    matches.append((min(2 * position, 2 * (total - 1 - position) + 1), left, right))
        if matches:
            taken.append(min(matches)[1:])
    return taken


# A path as a linked list: the path before its last edit, and that edit as (i, j) of its first and of its last node. An
# edit that is still open has its first node only.
_Path = tuple["_Path", tuple[int, ...]] | None
_INFINITY = 1 << 62


class _Row:
    """The lightest paths to the nodes of a row: with no edit open, and with an open edit of q unchanged words."""

    def __init__(self, columns: int) -> None:
        self.closed = [_INFINITY] * columns
        self.paths: list[_Path] = [None] * columns
        self.open = [[_INFINITY] * columns for _ in range(MAX_UNCHANGED + 1)]
        self.open_paths: list[list[_Path]] = [[None] * columns for _ in range(MAX_UNCHANGED + 1)]

    def extend(self, j: int, before: "_Row", node: tuple[int, int], unchanged: int) -> None:
        """Extend paths by an arc from a node to column j: open edits go on, or a new edit opens at the node."""
        k = node[1]
        for q in range(unchanged, MAX_UNCHANGED + 1):
            weight = before.open[q - unchanged][k] + ARC
            if weight < self.open[q][j]:
                self.open[q][j] = weight
                self.open_paths[q][j] = before.open_paths[q - unchanged][k]
        weight = before.closed[k] + ARC + EDIT
        if weight < self.open[unchanged][j]:
            self.open[unchanged][j] = weight
            self.open_paths[unchanged][j] = before.paths[k], node

    def end_edit(self, i: int, j: int) -> None:
        """End the open edit at this node, if that gives the lightest path without an open edit."""
        for weights, paths in zip(self.open, self.open_paths, strict=True):
            if weights[j] < self.closed[j]:
                self.closed[j] = weights[j]
                path = paths[j]
                assert path
                self.paths[j] = path[0], (*path[1], i, j)


def shortest_path(lattice: Lattice, hypothesis: Sequence[str], gold: Sequence[Edit]) -> list[Span]:
    """Return the edits on a path that agrees best with the gold."""
    columns = len(hypothesis) + 1
    into: dict[tuple[int, int], list[Span]] = {}
    for span in _gold_arcs(lattice, hypothesis, gold):
        into.setdefault((span.end, span.right), []).append(span)
    starts = {(span.start, span.left) for spans in into.values() for span in spans}
    to_gold_edits: dict[tuple[int, int], tuple[int, _Path]] = {}  # lightest paths to the first nodes of gold edits

    row = _Row(columns)
    row.closed[0] = 0
    for i in range(len(lattice.match)):
        match, substitute, delete, insert = lattice.row(i)
        above, row = (row, _Row(columns)) if i else (row, row)
        for j in bits(lattice.nodes(i)):
            if match >> j & 1:
                row.closed[j], row.paths[j] = above.closed[j - 1] + ARC, above.paths[j - 1]
                row.extend(j, above, (i - 1, j - 1), 1)
            if substitute >> j & 1:
                row.extend(j, above, (i - 1, j - 1), 0)
            if delete >> j & 1:
                row.extend(j, above, (i - 1, j), 0)
            if insert >> j & 1:
                row.extend(j, row, (i, j - 1), 0)
            row.end_edit(i, j)
            for span in into.get((i, j), ()):
                weight, path = to_gold_edits[span.start, span.left]
                if weight - GOLD < row.closed[j]:
                    is_match = match >> j & 1 and (span.start, span.left) == (i - 1, j - 1)
                    row.closed[j], row.paths[j] = weight - GOLD, path if is_match else (path, span)
            if (i, j) in starts:
                to_gold_edits[i, j] = row.closed[j], row.paths[j]
    spans: list[Span] = []
    path = row.paths[-1]
    while path:
        path, edit = path
        spans.append(Span(*edit))
    return spans[::-1]
