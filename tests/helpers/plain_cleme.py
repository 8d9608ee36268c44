"""CLEME's chunks by their definition, place by place, to compare the package's with.

Of n words, place 2 k is the gap before word k, and place 2 k + 1 is word k. An edit covers its words and the gaps on
both sides; places that an edit covers together are in one chunk.
"""

from btr.metrics.chunks import Outcomes


def places_of(edit):
    return range(2 * edit.start, 2 * edit.end + 1)


def covered(edits):
    return {place for edit in edits for place in places_of(edit)}


def written(words, edits):
    """Return what stands at each place after the edits."""
    places = ["" if place % 2 == 0 else words[place // 2] for place in range(2 * len(words) + 1)]
    for edit in edits:
        for place in places_of(edit):
            places[place] = "" if place % 2 else places[place]
        first = 2 * edit.start + (edit.end > edit.start)
        places[first] = f"{places[first]} {edit.corrections[0]}"
    return places


def chunks_of(edits):
    """Return the places of each chunk."""
    joined = {(place, place + 1) for edit in edits for place in places_of(edit)[:-1]}
    chunks = []
    for place in sorted(covered(edits)):
        if chunks and (chunks[-1][-1], place) in joined:
            chunks[-1].append(place)
        else:
            chunks.append([place])
    return chunks


def outcomes(words, proposed, annotators):
    results = []
    for gold in annotators:
        counts = dict.fromkeys(Outcomes._fields, 0)
        for chunk in chunks_of([edit for edits in (proposed, *annotators) for edit in edits]):
            ours, theirs = (" ".join(written(words, edits)[k] for k in chunk).split() for edits in (proposed, gold))
            we, they = (not covered(edits).isdisjoint(chunk) for edits in (proposed, gold))
            if we and they:
                counts["hit" if ours == theirs else "wrong"] += 1
            elif we or they:
                counts["over" if we else "under"] += 1
        results.append(Outcomes(**counts))
    return results
