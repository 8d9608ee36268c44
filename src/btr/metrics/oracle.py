"""The oracle: the best choice among candidates, and how often a reference is among them."""

from collections.abc import Sequence


def normalize_spaces(text: str) -> str:
    """Replace each run of white space by one space."""
    return " ".join(text.split())


def oracle_choice(candidates: Sequence[str], references: Sequence[str]) -> str:
    """Return the first candidate that equals a reference, or else the base candidate."""
    correct = set(map(normalize_spaces, references))
    return next((candidate for candidate in candidates if normalize_spaces(candidate) in correct), candidates[0])


def has_gold(candidates: Sequence[str], references: Sequence[str]) -> bool:
    """Return whether a candidate equals a reference."""
    return not set(map(normalize_spaces, candidates)).isdisjoint(map(normalize_spaces, references))


def gold_percent(candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return the percentage of sentences whose candidates contain a reference."""
    return 100 * sum(map(has_gold, candidates, references)) / len(candidates)


def unique_percent(candidates: Sequence[Sequence[str]]) -> float:
    """Return the percentage of unique texts among the candidates of all sentences, as in the paper's Table 2."""
    return 100 * len({text for row in candidates for text in row}) / sum(map(len, candidates))
