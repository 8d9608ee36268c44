"""What is hidden from a model: masked tokens, and spans for pre-training. Random numbers come from the caller."""

from collections.abc import Sequence

import numpy as np

Tokens = list[int]
UNCHANGED, REPLACED = 0.1, 0.1  # shares of the masked tokens; the rest get the mask
MEAN_SPAN = 3.0  # tokens, in T5's pre-training


def number_of_masks(length: int, share: float) -> int:
    """Return how many tokens of a row are masked: a share, at least one."""
    return max(1, round(share * length))


def draw_positions(
    length: int, share: float, random: np.random.Generator, preferred: Sequence[int] = (), focus: float = 0.0
) -> list[int]:
    """Choose the tokens of a row to mask: a share, at least one. Each is a preferred one with probability `focus`."""
    count = number_of_masks(length, share)
    order = list(map(int, random.permutation(length)))
    if focus and preferred:
        first = list(map(int, random.permutation(preferred)))[: int(random.binomial(count, focus))]
        order = [*first, *(position for position in order if position not in set(first))]
    return sorted(order[:count])


def mask(
    tokens: Sequence[int],
    positions: Sequence[int],
    random: np.random.Generator,
    mask_token: int,
    replacements: Sequence[int],
) -> Tokens:
    """Hide the tokens at these positions: 8 in 10 by the mask, 1 by any of the replacements, and 1 stays."""
    masked = list(tokens)
    for position in positions:
        number = random.random()
        if number < REPLACED:
            masked[position] = int(replacements[int(random.integers(len(replacements)))])
        elif number >= REPLACED + UNCHANGED:
            masked[position] = mask_token
    return masked


def corrupt_spans(
    tokens: Sequence[int], share: float, random: np.random.Generator, sentinels: Sequence[int], end: int, style: str
) -> tuple[Tokens, Tokens]:
    """Return source and target of span corruption: spans are removed from the source, and are the target.

    With the style `independent`, each token is drawn by itself and neighbours make one span, as in the paper's
    experiments; with `mean-3`, spans are three tokens long on average, as in T5, and a last sentinel closes the target.
    """
    hidden = hide_independently(len(tokens), share, random) if style == "independent" else None
    if hidden is None:
        hidden = hide_spans(len(tokens), share, random)
    source: Tokens = []
    target: Tokens = []
    spans = 0
    for position, token in enumerate(tokens):
        if not hidden[position]:
            source.append(token)
            continue
        if position == 0 or not hidden[position - 1]:
            if spans == len(sentinels):  # no more names for spans: the rest stays
                source.extend(tokens[position:])
                break
            source.append(sentinels[spans])
            target.append(sentinels[spans])
            spans += 1
        target.append(token)
    if style == "mean-3" and spans < len(sentinels):
        target.append(sentinels[spans])
    return [*source, end], [*target, end]


def span_lengths(length: int, share: float, style: str) -> tuple[int, int]:
    """Return how long the source and the target of `corrupt_spans` are on average."""
    if style == "independent":
        hidden = share * length
        spans = share + (length - 1) * share * (1 - share)  # a span starts at a hidden token after a visible one
        closing = 0
    else:
        hidden = max(round(length * share), 1)
        spans, closing = max(1, round(hidden / MEAN_SPAN)), 1
    return round(length - hidden + spans + 1), round(hidden + spans + closing + 1)


def hide_independently(length: int, share: float, random: np.random.Generator) -> list[bool]:
    """Hide each token with the same probability, at least one."""
    hidden = random.random(length) < share
    if not hidden.any():
        hidden[random.integers(length)] = True
    return [bool(value) for value in hidden]


def hide_spans(length: int, share: float, random: np.random.Generator, mean: float = MEAN_SPAN) -> list[bool]:
    """Hide as T5 does: a fixed number of tokens, in spans of a mean length, the first token visible."""
    noise = min(max(round(length * share), 1), max(1, length - 1))
    spans = max(1, min(round(noise / mean), noise, length - noise))
    inside, outside = split(noise, spans, random), split(length - noise, spans, random)
    hidden = [value for visible, span in zip(outside, inside) for value in [False] * visible + [True] * span]
    return hidden[:length]


def split(total: int, parts: int, random: np.random.Generator) -> list[int]:
    """Split a number into so many positive parts, each way as likely as another."""
    if total < parts:
        return [1] * total + [0] * (parts - total)
    cuts = np.sort(random.permutation(total - 1)[: parts - 1]) + 1
    return [int(part) for part in np.diff([0, *cuts, total])]
