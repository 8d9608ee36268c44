"""What is hidden from a model: masked tokens, and spans for pre-training. All draws come from a given generator."""

from collections.abc import Sequence

import numpy as np

Tokens = list[int]
KEEP, REPLACE = 0.1, 0.1  # of the masked tokens: as they are, and another token; the rest get the mask


def draw_places(
    length: int, share: float, random: np.random.Generator, near: Sequence[int] = (), focus: float = 0.0
) -> list[int]:
    """Which tokens of a row are masked: a share, at least one. Each is drawn from `near` with the chance `focus`."""
    count = max(1, round(share * length))
    order = list(map(int, random.permutation(length)))
    if focus and near:
        first = list(map(int, random.permutation(near)))[: int(random.binomial(count, focus))]
        order = [*first, *(place for place in order if place not in set(first))]
    return sorted(order[:count])


def mask(
    tokens: Sequence[int], places: Sequence[int], random: np.random.Generator, mask_token: int, others: Sequence[int]
) -> Tokens:
    """Tokens with those at the places hidden: 8 in 10 by the mask, 1 by any of `others`, and 1 left as it is."""
    masked = list(tokens)
    for place in places:
        luck = random.random()
        if luck < REPLACE:
            masked[place] = int(others[int(random.integers(len(others)))])
        elif luck >= REPLACE + KEEP:
            masked[place] = mask_token
    return masked


def corrupt_spans(
    tokens: Sequence[int], share: float, random: np.random.Generator, sentinels: Sequence[int], end: int, style: str
) -> tuple[Tokens, Tokens]:
    """Source and target of span corruption: spans are taken out of the source, and are the target.

    With the style `independent`, each token is drawn by itself and neighbours make one span, as in the paper's
    experiments; with `mean-3`, spans are three tokens long on average, as in T5, and a last sentinel closes the target.
    """
    hidden = hide_independently(len(tokens), share, random) if style == "independent" else None
    if hidden is None:
        hidden = hide_spans(len(tokens), share, random)
    source: Tokens = []
    target: Tokens = []
    spans = 0
    for place, token in enumerate(tokens):
        if not hidden[place]:
            source.append(token)
            continue
        if place == 0 or not hidden[place - 1]:
            if spans == len(sentinels):  # no more names for spans: the rest stays
                source.extend(tokens[place:])
                break
            source.append(sentinels[spans])
            target.append(sentinels[spans])
            spans += 1
        target.append(token)
    if style == "mean-3" and spans < len(sentinels):
        target.append(sentinels[spans])
    return [*source, end], [*target, end]


def hide_independently(length: int, share: float, random: np.random.Generator) -> list[bool]:
    """Each token with the same chance, at least one."""
    hidden = random.random(length) < share
    if not hidden.any():
        hidden[random.integers(length)] = True
    return [bool(value) for value in hidden]


def hide_spans(length: int, share: float, random: np.random.Generator, mean: float = 3.0) -> list[bool]:
    """T5's way: a fixed number of tokens in spans of a mean length, at random places, the first token visible."""
    noise = min(max(round(length * share), 1), max(1, length - 1))
    spans = max(1, min(round(noise / mean), noise, length - noise))
    inside, outside = split(noise, spans, random), split(length - noise, spans, random)
    hidden = [value for gap, span in zip(outside, inside) for value in [False] * gap + [True] * span]
    return hidden[:length]


def split(total: int, parts: int, random: np.random.Generator) -> list[int]:
    """A number as a sum of so many positive parts, each way as likely as another."""
    if total < parts:
        return [1] * total + [0] * (parts - total)
    cuts = np.sort(random.permutation(total - 1)[: parts - 1]) + 1
    return [int(part) for part in np.diff([0, *cuts, total])]
