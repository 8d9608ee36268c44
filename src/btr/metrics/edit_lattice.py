"""The edit lattice of MaxMatch: all cheapest ways to turn a source into a hypothesis, word by word.

Node (i, j) of the lattice means: the first i words of the source have become the first j words of the hypothesis. An
arc into it is one step: a word matches or is substituted (from node (i-1, j-1)), deleted (from (i-1, j)) or inserted
(from (i, j-1)). A path from (0, 0) to the last node is one way to make the hypothesis.

Which arcs lie on a cheapest path is the question that a Levenshtein matrix answers. Here a row of the matrix is one
Python integer per kind of arc, in which bit j stands for the arc into node (i, j); a row takes a few operations on
integers. So a sentence takes microseconds, and ten thousand words against ten thousand take seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import and_, or_


@dataclass(slots=True)
class Arcs:
    """A set of arcs: for each kind and each row i, an integer whose bit j stands for the arc into node (i, j)."""

    match: list[int]
    substitute: list[int]
    delete: list[int]
    insert: list[int]

    def row(self, i: int) -> tuple[int, int, int, int]:
        """Return the arcs into a row, by kind."""
        return self.match[i], self.substitute[i], self.delete[i], self.insert[i]

    def nodes(self, row: int) -> int:
        """Return the nodes of a row as bits: those with an arc into them, and the start node (0, 0)."""
        return self.match[row] | self.substitute[row] | self.delete[row] | self.insert[row] | (row == 0)

    def is_plain_match(self, row: int) -> bool:
        """Return whether the row has one node only, with one arc into it, a match."""
        into = self.match[row]
        return bool(into) and not (into & (into - 1) or self.substitute[row] or self.delete[row] or self.insert[row])


@dataclass(slots=True)
class Lattice(Arcs):
    """The arcs of either of the two matrices, and those that are in both."""

    in_both: Arcs


def build_lattice(source: Sequence[str], hypothesis: Sequence[str]) -> Lattice:
    """Unite the arcs of all cheapest paths of two Levenshtein matrices, where a substitution costs 1, and costs 2."""
    m = len(hypothesis)
    full = (1 << (m + 1)) - 1
    words = full & ~1  # the columns that end a word of the hypothesis
    columns: dict[str, int] = {}
    for j, word in enumerate(hypothesis, 1):
        columns[word] = columns.get(word, 0) | 1 << j
    match = [0] + [columns.get(word, 0) for word in source]

    # Substitution costs 1: differences between neighbouring cells, row by row (Myers 1999, Hyyrö 2003).
    unit = Arcs(match, [0], [0], [words])
    up, down = words, 0  # columns where the distance is one more, and one less, than in the column to their left
    # Substitution costs 2: the longest common subsequence (Crochemore et al. 2001).
    indel = Arcs(match, [0], [0], [words])
    flat = words  # columns where the subsequence is no longer than in the column to their left
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
        in_both=Arcs(
            list(map(and_, one.match, two.match)),
            list(map(and_, one.substitute, two.substitute)),
            list(map(and_, one.delete, two.delete)),
            list(map(and_, one.insert, two.insert)),
        ),
    )


def _reachable(arcs: Arcs, end: int) -> Arcs:
    """Return the arcs from which the end node is reached (`end` has its bit in the last row)."""
    rows = len(arcs.match)
    reachable = Arcs([0] * rows, [0] * rows, [0] * rows, [0] * rows)
    nodes = end
    for i in range(rows - 1, -1, -1):
        if new := nodes & arcs.insert[i]:
            while new:
                before = new >> 1 & ~nodes
                nodes |= before
                new = before & arcs.insert[i]
            reachable.insert[i] = nodes & arcs.insert[i]
        reachable.match[i] = match = nodes & arcs.match[i]
        reachable.substitute[i] = substitute = nodes & arcs.substitute[i]
        reachable.delete[i] = delete = nodes & arcs.delete[i]
        nodes = (match | substitute) >> 1 | delete
    return reachable


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are 1, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
