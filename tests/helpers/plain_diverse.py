"""Diverse beam search written out plainly, for one source: lists, loops and sorting, nothing shared with ours."""

import math


def search(next_log_probs, end, beams, groups, penalty, longest, early=False):
    """`next_log_probs(prefix)` is a list, one log-probability for each token of the vocabulary."""
    width = beams // groups
    live = {group: [((), 0.0)] for group in range(groups)}
    complete = {group: [] for group in range(groups)}
    for length in range(1, longest + 1):
        chosen_before = []
        for group in range(groups):
            if live[group] is None:
                continue
            every = [
                ((*prefix, token), score + log_prob - penalty * chosen_before.count(token))
                for prefix, score in live[group]
                for token, log_prob in enumerate(next_log_probs(prefix))
            ]
            every.sort(key=lambda pair: -pair[1])
            best = every[: 2 * width]
            for sequence, score in best[:width]:
                if sequence[-1] == end or length == longest:
                    complete[group].append((score / length, sequence))
            complete[group] = sorted(complete[group], key=lambda pair: -pair[0])[:width]
            going_on = [pair for pair in best if pair[0][-1] != end][:width]
            chosen_before += [sequence[-1] for sequence, _ in going_on]
            full = len(complete[group]) == width
            hopeless = full and going_on[0][1] / length <= complete[group][-1][0]
            live[group] = None if full and (early or hopeless) else going_on
    ranked = sorted((pair for own in complete.values() for pair in own), key=lambda pair: -pair[0])
    return [list(sequence) for _, sequence in ranked]


def toy(seed, vocabulary):
    """A language model in which every prefix has a distribution of its own."""

    def next_log_probs(prefix):
        weights = [
            math.exp(3 * math.sin(seed + 7.3 * token + sum((k + 1.7) * t * t for k, t in enumerate(prefix))))
            for token in range(vocabulary)
        ]
        return [math.log(weight / sum(weights)) for weight in weights]

    return next_log_probs
