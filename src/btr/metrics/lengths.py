"""How long texts may be: what keeps the time and the memory of every metric bounded, whatever the shape of its input.

The limits leave room for real corpora, whose longest line has 982 words and whose most rewritten sentence differs from
its correction by 211 words, and refuse whole pages on one line.
"""

from collections.abc import Sequence

MAX_WORDS = 10_000  # per text, for any metric, and for rerankers that compare candidates
MAX_WORD_PAIRS = 4_000_000  # M2: words of the source times words of the hypothesis; this many take half a minute
MAX_ERRANT_WORDS = 1_000  # ERRANT: words per text, since it compares all pairs of words in Python
MAX_ERRANT_WORK = 75_000  # ERRANT: words of the longer text times words that differ; it tries all spans of changes


def too_long(*texts: str) -> str | None:
    """Say that a text has more words than can be compared at all; None if all are short enough."""
    return _too_many_words(max(len(text.split()) for text in texts), MAX_WORDS)


def too_long_for_m2(source: str, hypothesis: str) -> str | None:
    """Say why M2 can't align two texts; None if it can. Equal texts are never too long: nothing is aligned."""
    words, others = source.split(), hypothesis.split()
    if words == others:
        return None
    if reason := too_long(source, hypothesis):
        return reason
    if len(words) * len(others) <= MAX_WORD_PAIRS:
        return None
    return (
        f"{len(words):,} words against {len(others):,} are too many for M2 (at most {MAX_WORD_PAIRS:,} pairs of "
        "words); put one sentence on each line."
    )


def too_long_for_errant(source: str, hypothesis: str) -> str | None:
    """Say why ERRANT can't align two texts; None if it can. Equal texts are never too long: nothing is aligned."""
    words, others = source.split(), hypothesis.split()
    if words == others:
        return None
    if reason := _too_many_words(max(len(words), len(others)), MAX_ERRANT_WORDS, " for ERRANT"):
        return reason
    longer, changes = max(len(words), len(others)), count_changes(words, others)
    if longer * changes <= MAX_ERRANT_WORK:
        return None
    return (
        f"{changes:,} words differ between source and output, too many for ERRANT (at most "
        f"{MAX_ERRANT_WORK // longer:,} of {longer:,}); put one sentence on each line, or choose --metric m2."
    )


def count_changes(words: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words must be deleted and inserted to turn one text into the other.

    That is all words but those of the longest common subsequence, whose rows are the bits of one integer (Hyyrö 2004).
    """
    columns: dict[str, int] = {}
    for j, word in enumerate(others):
        columns[word] = columns.get(word, 0) | 1 << j
    full = (1 << len(others)) - 1
    row = full
    for word in words:
        hits = row & columns.get(word, 0)
        row = ((row + hits) | (row - hits)) & full
    return len(words) - len(others) + 2 * row.bit_count()


def _too_many_words(words: int, limit: int, reader: str = "") -> str | None:
    if words <= limit:
        return None
    return f"a text of {words:,} words is too long{reader} (at most {limit:,}); put one sentence on each line."
