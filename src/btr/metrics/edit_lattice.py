"""The lattice of MaxMatch: every optimal way to make a hypothesis from its source, word by word.

The optimal cells of a Levenshtein matrix are bits here: one row is a handful of operations on Python's whole numbers,
so that even ten thousand words against ten thousand take seconds, and a sentence takes microseconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import and_, or_


@dataclass(slots=True)
class Arcs:
    """Which arcs of a matrix lead into node (i, j): bit j of row i, for each kind of arc."""

    match: list[int]
    substitute: list[int]
    delete: list[int]
    insert: list[int]

    def row(self, i: int) -> tuple[int, int, int, int]:
        """The arcs into a row, by kind."""
        return self.match[i], self.substitute[i], self.delete[i], self.insert[i]

    def nodes(self, row: int) -> int:
        """The nodes of a row, as bits; the start node has no arc into it."""
        return self.match[row] | self.substitute[row] | self.delete[row] | self.insert[row] | (row == 0)

    def plain(self, row: int) -> bool:
        """Whether the row has one node, entered by a match only."""
        into = self.match[row]
        return bool(into) and not (into & (into - 1) or self.substitute[row] or self.delete[row] or self.insert[row])


@dataclass(slots=True)
class Lattice(Arcs):
    """The arcs of both matrices united, and those that stand in both."""

    twice: Arcs


def build_lattice(source: Sequence[str], hypothesis: Sequence[str]) -> Lattice:
    """Unite the optimal arcs of two Levenshtein matrices, one with substitutions at 1 and one with them at 2."""
    m = len(hypothesis)
    full = (1 << (m + 1)) - 1
    words = full & ~1  # the columns that end a word of the hypothesis
    columns: dict[str, int] = {}
    for j, word in enumerate(hypothesis, 1):
        columns[word] = columns.get(word, 0) | 1 << j
    match = [0] + [columns.get(word, 0) for word in source]

    # Substitution at 1: differences between neighbouring cells, a row at a time (Myers 1999, Hyyrö 2003).
    unit = Arcs(match, [0], [0], [words])
    up, down = words, 0  # columns where the distance is one more, one less, than to their left
    # Substitution at 2: the longest common subsequence (Crochemore et al. 2001).
    indel = Arcs(match, [0], [0], [words])
    flat = words  # columns where the subsequence is no longer than to their left
    for equal in match[1:]:
        same = ((((equal & up) + up) ^ up) | equal | down) & full  # as cheap as the cell up and left
        rise = down | (full & ~(same | up))  # one more than the cell above
        shifted = rise << 1
        up, down = (((up & same) << 1) | ~(same | shifted)) & words, shifted & same & full
        unit.substitute.append(words & ~same)
        unit.delete.append(rise)
        unit.insert.append(up)

        hits = flat & equal
        total = flat + hits
        longer = (total ^ flat ^ hits) >> 1  # where the sum carries, the subsequence grew by one
        indel.substitute.append(flat & ~longer & ~equal)
        indel.delete.append(full & ~longer)
        flat = (total | (flat & ~equal)) & words
        indel.insert.append(flat)
    one, two = _reachable(unit, 1 << m), _reachable(indel, 1 << m)
    return Lattice(
        list(map(or_, one.match, two.match)),
        list(map(or_, one.substitute, two.substitute)),
        list(map(or_, one.delete, two.delete)),
        list(map(or_, one.insert, two.insert)),
        twice=Arcs(
            list(map(and_, one.match, two.match)),
            list(map(and_, one.substitute, two.substitute)),
            list(map(and_, one.delete, two.delete)),
            list(map(and_, one.insert, two.insert)),
        ),
    )


def _reachable(arcs: Arcs, end: int) -> Arcs:
    """Keep the arcs from which the end node is reached."""
    rows = len(arcs.match)
    kept = Arcs([0] * rows, [0] * rows, [0] * rows, [0] * rows)
    nodes = end
    for i in range(rows - 1, -1, -1):
        if new := nodes & arcs.insert[i]:
            while new:
                before = new >> 1 & ~nodes
                nodes |= before
                new = before & arcs.insert[i]
            kept.insert[i] = nodes & arcs.insert[i]
        kept.match[i] = match = nodes & arcs.match[i]
        kept.substitute[i] = substitute = nodes & arcs.substitute[i]
        kept.delete[i] = delete = nodes & arcs.delete[i]
        nodes = (match | substitute) >> 1 | delete
    return kept


def bits(mask: int) -> Iterator[int]:
    """The positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
