"""MaxMatch in the official scorer's own steps, written out plainly from their description: slow, and easy to check."""

from itertools import product

INFINITY = float("inf")
EPSILON = 0.001


def levenshtein_arcs(source, hypothesis, substitution):
    """Every optimal arc of one Levenshtein matrix from which the end is reached."""
    n, m = len(source), len(hypothesis)
    cost = {(0, 0): 0}
    back = {(0, 0): []}
    for i, j in product(range(n + 1), range(m + 1)):
        options = []
        if i and j:
            same = source[i - 1] == hypothesis[j - 1]
            options.append((cost[i - 1, j - 1] + (0 if same else substitution), (i - 1, j - 1)))
        if i:
            options.append((cost[i - 1, j] + 1, (i - 1, j)))
        if j:
            options.append((cost[i, j - 1] + 1, (i, j - 1)))
        if options:
            cost[i, j] = min(options)[0]
            back[i, j] = [node for value, node in options if value == cost[i, j]]
    arcs, seen, stack = set(), set(), [(n, m)]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            arcs.update((before, node) for before in back[node])
            stack += back[node]
    return arcs


def list_arcs(source, hypothesis, max_unchanged):
    """The official scorer's list of arcs, in its order and with its repetitions, and arc → (kind, length, unchanged).

    An arc that stands in both matrices is listed twice, and a merged arc once more for each shorter way found.
    """
    listed = sorted([*levenshtein_arcs(source, hypothesis, 1), *levenshtein_arcs(source, hypothesis, 2)])
    edits = {}
    for u, v in listed:
        if u[0] == v[0]:
            kind = "insert"
        elif u[1] == v[1]:
            kind = "delete"
        else:
            kind = "match" if source[u[0]] == hypothesis[u[1]] else "substitute"
        edits[u, v] = (kind, 1, int(kind == "match"))
    nodes = sorted({node for arc in edits for node in arc})
    for k in nodes:
        before = [i for i in nodes if (i, k) in edits]
        after = [j for j in nodes if (k, j) in edits]
        for i, j in product(before, after):
            (kind, length, unchanged), (kind2, length2, unchanged2) = edits[i, k], edits[k, j]
            shorter = length + length2 < edits.get((i, j), (None, INFINITY))[1]
            if shorter and unchanged + unchanged2 <= max_unchanged:
                listed.append((i, j))
                edits[i, j] = (kind if kind == kind2 else "substitute", length + length2, unchanged + unchanged2)
    at = 0
    while at < len(
        listed
    ):  # drop merged matches; the next arc takes the place of one that is dropped, and is passed over
        kind, length, _ = edits[listed[at]]
        if kind == "match" and length > 1:
            del listed[at]
        at += 1
    return listed, edits


def weigh(listed, edits, hypothesis, gold):
    """Arc → weight, where arcs that equal a gold edit are as good as free, and each other listing costs an epsilon."""

    def equals(arc, edit):
        (i, j), (i2, j2) = arc
        return (i, i2) == (edit.start, edit.end) and " ".join(hypothesis[j:j2]) in edit.corrections

    weights, offsets = {}, {}
    for arc in listed:
        weights[arc] = edits[arc][1]
        offsets.setdefault((arc[0][0], arc[1][0]), []).append(arc)
    bonus = -len(listed)
    for (start, end), here in offsets.items():
        golds = [edit for edit in gold if (edit.start, edit.end) == (start, end)]
        if start != end:
            for arc in here:
                if any(equals(arc, edit) for edit in golds):
                    weights[arc] = bonus
                elif edits[arc][0] != "match":
                    weights[arc] += EPSILON
            continue
        here.sort()
        low, high = 0, len(here) - 1
        at = low
        while low <= high:
            from_left, arc = at == low, here[at]
            found = [k for k, edit in enumerate(golds) if equals(arc, edit)]
            if not found:
                weights[arc] += EPSILON
                low, high = (low + 1, high) if from_left else (low, high - 1)
                at = high if from_left else low
                continue
            weights[arc] = bonus
            if from_left:
                golds = golds[found[0] + 1 :]
                low += 1
                while low < len(here) and here[low][0] != arc[1]:
                    weights[here[low]] += EPSILON
                    low += 1
                at = low
            else:
                golds = golds[: found[-1]]
                high -= 1
                while high >= 0 and here[high][1] != arc[0]:
                    weights[here[high]] += EPSILON
                    high -= 1
                at = high
    return weights


def lightest_path(listed, edits, weights, end):
    """Bellman-Ford over the arcs as listed; only a strictly smaller weight replaces."""
    distance, before = {(0, 0): 0}, {}
    changed = True
    while changed:
        changed = False
        for u, v in listed:
            if u in distance and distance[u] + weights[u, v] < distance.get(v, INFINITY):
                distance[v], before[v] = distance[u] + weights[u, v], u
                changed = True
    path = []
    while end in before:
        if edits[before[end], end][0] != "match":
            path.append((before[end], end))
        end = before[end]
    return path[::-1]


def count_edits(source, hypothesis, annotations, max_unchanged=2):
    source, hypothesis = source.split(), hypothesis.split()
    listed, edits = list_arcs(source, hypothesis, max_unchanged)
    counts = []
    for gold in annotations:
        weights = weigh(listed, edits, hypothesis, gold)
        path = lightest_path(listed, edits, weights, (len(source), len(hypothesis)))
        correct = first = 0
        for (i, j), (i2, j2) in path:
            text = " ".join(hypothesis[j:j2])
            for k in range(first, len(gold)):
                if (i, i2) == (gold[k].start, gold[k].end) and text in gold[k].corrections:
                    correct, first = correct + 1, k + 1
        counts.append((correct, len(path), len(gold)))
    return counts
