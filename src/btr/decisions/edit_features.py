"""The features of an edit: what the judge knows of it.

| feature | meaning |
| --- | --- |
| `posterior` | log-odds that a candidate has the edit, if candidates are drawn by their probabilities |
| `log_ratio` | best log-probability of a candidate with the edit minus the best of one without it |
| `rival` | the probability of the most probable other edit that can't be made beside it |
| `unchanged` | log-odds that a candidate is the source as it is |
| `rank_posterior` | as `posterior`, by the candidates' ranks: for candidates without log-probabilities |
| `system_1_of_3`, … | whether that one of three systems makes the edit: for systems' outputs (`btr combine`) |
| `base` | whether the base candidate makes the edit |
| `length` | the logarithm of the number of the source's tokens |
| a reranker's kind | its log-odds of the sentence with the edit against the sentence without it |

Systems are ranked by their order, and each counts, also where it repeats the output of another.

The edit's type (ERRANT's) and its operation count too; they are no numbers, so the judge has a weight for each.
"""

import math
from collections.abc import Sequence

import numpy as np

from btr.corpus.candidates import SYSTEM
from btr.corpus.edits import EditTable
from btr.decisions.edit_table import find_voters, is_in_conflict
from btr.metrics.base import Array

MAX_LOG_RATIO = 3.0  # of a candidate's log-probability over another's
MAX_LOG_ODDS = 8.0  # of a reranker
MIN_POSTERIOR = 1e-3
RANK_EXPONENT = 1.5  # the weight of the candidate of rank k (from 1) is k to the power of minus this

WITH_LOG_PROBS = "posterior", "log_ratio", "rival", "unchanged", "base", "length"
WITHOUT_LOG_PROBS = "rank_posterior", "base", "length"


def has_log_probs(table: EditTable) -> bool:
    """Return whether the base model's log-probabilities of all usable candidates are known."""
    log_probs = table.candidates.log_probs
    return log_probs is not None and all(log_probs[index] is not None for index in table.usable)


def available_features(table: EditTable, rerankers: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the features that are known of a table's edits."""
    base = WITH_LOG_PROBS if has_log_probs(table) else WITHOUT_LOG_PROBS
    systems = name_system_features(count_systems(table))
    return (*systems, *dict.fromkeys((*base, *WITHOUT_LOG_PROBS)), *dict.fromkeys(rerankers))


def count_systems(table: EditTable) -> int:
    """Return how many systems' outputs the candidates are; 0 if they are those of one model."""
    count = len(table.candidates.texts)
    return count if set(table.candidates.flags.get(SYSTEM, ())) == set(range(count)) else 0


def name_system_features(count: int) -> tuple[str, ...]:
    """Return the names of the features that say which of so many systems make an edit.

    The number is part of the names, so that no judge decides about the edits of more or fewer systems than it knows.
    """
    return tuple(f"system_{number}_of_{count}" for number in range(1, count + 1))


def compute_features(table: EditTable, names: Sequence[str], rerankers: Sequence[str]) -> Array:
    """Return the features of a table's edits by name, one row per edit; NaN where a reranker gave no log-odds.

    `rerankers` are the kinds that the log-odds come from; several models of one kind are averaged.
    """
    rows = np.zeros((len(table.edits), len(names)))
    if not table.edits:
        return rows
    log_probs = table.candidates.log_probs
    members = np.array([[index in edit.candidates for index in table.usable] for edit in table.edits])
    known = np.array([log_probs[index] for index in table.usable]) if has_log_probs(table) and log_probs else None
    systems = name_system_features(count_systems(table))
    ranked = members
    if systems:
        ranked = np.array([[k in voters for k in range(len(systems))] for voters in find_voters(table)])
    for column, name in enumerate(names):
        if name == "posterior" and known is not None:
            rows[:, column] = posterior(members, known)
        elif name == "log_ratio" and known is not None:
            rows[:, column] = log_ratio(members, known)
        elif name == "rival" and known is not None:
            rows[:, column] = rivals(table, share_of_probability(members, known))
        elif name == "unchanged" and known is not None:
            rows[:, column] = posterior(is_source(table), known)[0]
        elif name == "rank_posterior":
            rows[:, column] = posterior(ranked, rank_weights(ranked.shape[1]))
        elif name in systems:
            rows[:, column] = ranked[:, systems.index(name)]
        elif name == "base":
            rows[:, column] = [0 in edit.candidates for edit in table.edits]
        elif name == "length":
            rows[:, column] = math.log(max(1, len(table.words)))
        elif name in rerankers:
            rows[:, column] = mean_log_odds(table, [k for k, kind in enumerate(rerankers) if kind == name])
        else:
            raise KeyError(name)
    return rows


def rank_weights(count: int) -> Array:
    """Return what stands for the log-probabilities of so many candidates where these are not known."""
    weights: Array = -RANK_EXPONENT * np.log(np.arange(1, count + 1))
    return weights


def posterior(members: Array, log_probs: Array) -> Array:
    """Return the log-odds of each edit if a candidate is drawn by its probability."""
    share = np.clip(share_of_probability(members, log_probs), MIN_POSTERIOR, 1 - MIN_POSTERIOR)
    odds: Array = np.log(share / (1 - share))
    return odds


def share_of_probability(members: Array, log_probs: Array) -> Array:
    """Return the share of the candidates' probability that those which make each edit have."""
    powers = np.exp(log_probs - log_probs.max())
    share: Array = members @ powers / powers.sum()
    return share


def rivals(table: EditTable, shares: Array) -> list[float]:
    """Return for each edit the largest share of another one that can't be made beside it."""
    keys = [edit.key for edit in table.edits]
    return [
        max(
            (float(shares[k]) for k, other in enumerate(keys) if other != key and is_in_conflict(key, other, table)),
            default=0.0,
        )
        for key in keys
    ]


def is_source(table: EditTable) -> Array:
    """Return which of the usable candidates are the source as it is, as one row."""
    row: Array = np.array([[table.candidates.texts[index].split() == table.words for index in table.usable]])
    return row


def log_ratio(members: Array, log_probs: Array) -> Array:
    """Return how much more probable the best candidate with each edit is than the best without it."""
    with_edit = np.where(members, log_probs, -np.inf).max(1)
    without = np.where(members, -np.inf, log_probs).max(1)
    clipped: Array = np.clip(with_edit - without, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    return clipped


def mean_log_odds(table: EditTable, columns: Sequence[int]) -> Array:
    """Return the mean of some rerankers' log-odds; NaN where one of them gave none."""
    odds = np.array(
        [
            [math.nan if (value := edit.log_odds[k] if edit.log_odds else None) is None else value for k in columns]
            for edit in table.edits
        ]
    )
    clipped: Array = np.clip(odds.mean(1), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return clipped
