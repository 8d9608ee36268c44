"""How good candidates could be: the oracle's choice among them, and how often it has one."""

from collections.abc import Sequence


def fold_spaces(text: str) -> str:
    """The text with each stretch of white space made one space."""
    return " ".join(text.split())


def oracle_choice(candidates: Sequence[str], references: Sequence[str]) -> str:
    """The first candidate that equals any reference, else the base model's own choice."""
    wanted = set(map(fold_spaces, references))
    return next((candidate for candidate in candidates if fold_spaces(candidate) in wanted), candidates[0])


def has_gold(candidates: Sequence[str], references: Sequence[str]) -> bool:
    """Whether any candidate equals any reference."""
    return not set(map(fold_spaces, candidates)).isdisjoint(map(fold_spaces, references))


def gold_percent(candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """The share of sentences whose candidates contain a reference."""
    return 100 * sum(map(has_gold, candidates, references)) / len(candidates)


def unique_percent(candidates: Sequence[Sequence[str]]) -> float:
    """The share of unique strings among all candidates of all sentences together, as in the paper's Table 2."""
    return 100 * len({text for row in candidates for text in row}) / sum(map(len, candidates))
