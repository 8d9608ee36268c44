"""English words, and what a misspelt one may stand for.

Words and their frequencies are those of symspellpy (MIT licence; 82,834 words, American and British). Further words,
which are right but rarely meant, are those of ERRANT's British list (from SCOWL, with its permissive licence).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import log10

FREQUENCIES = "frequency_dictionary_en_82_765.txt"
MAX_SUGGESTIONS = 5
SHORT = 4  # letters; a word as short as that is changed by one letter at most
MIN_PART = 50_000_000  # how often each half of "a lot" must occur, so that "alot" may stand for it
NEW_INITIAL = 0.7  # a misspelling rarely begins with another letter: as bad as this part of a changed letter
SAME_LETTERS = 0.7  # letters in another order ("tounge") make up for this part of a changed letter
PER_MAGNITUDE = 0.25  # a word ten times as frequent makes up for this part of a changed letter
MAX_WORSE = 0.8  # a word that is worse than the best one by more than this part of a changed letter is not meant
CACHED_WORDS = 10_000


@dataclass(frozen=True, slots=True)
class WordList:
    """English words in small letters, and how often those occur that may be suggested, as they are written."""

    known: frozenset[str]
    frequencies: Mapping[str, int]

    def __contains__(self, word: str) -> bool:
        return word.lower() in self.known


@cache
def load_words() -> WordList:
    """Read the lists of words."""
    lines = (files("symspellpy") / FREQUENCIES).read_text(encoding="utf-8-sig").split("\n")
    counts = {word: int(count) for word, _, count in (line.partition(" ") for line in lines) if count}
    british = (files("errant") / "en" / "resources" / "en_GB-large.txt").read_text(encoding="utf-8").split()
    listed = set(british)
    names = {word.lower(): word for word in listed if word.istitle() and word.lower() not in listed}
    written = {names.get(word, word): count for word, count in counts.items() if word.isalpha()}
    return WordList(frozenset(counts) | {word.lower() for word in listed}, written)


@lru_cache(CACHED_WORDS)
def suggest(word: str) -> tuple[str, ...]:
    """Return a few words that a word in small letters may be a misspelling of, the most likely first."""
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    words = load_words()
    letters = sorted(word)
    most = 1 if len(word) <= SHORT else 2
    close = extract(word, words.frequencies.keys(), scorer=OSA.distance, score_cutoff=most, limit=None)

    def badness(suggestion: str, distance: float) -> float:
        initial = NEW_INITIAL * (suggestion[0] != word[0])
        order = SAME_LETTERS * (sorted(suggestion) == letters)
        return distance + initial - order - PER_MAGNITUDE * log10(words.frequencies[suggestion])

    ranked = sorted((badness(suggestion, distance), suggestion) for suggestion, distance, _ in close)
    best = [suggestion for value, suggestion in ranked if value <= ranked[0][0] + MAX_WORSE][:MAX_SUGGESTIONS]
    return (*best[: MAX_SUGGESTIONS - 1], split) if (split := split_word(word)) else tuple(best)


def forget_suggestions() -> None:
    """Forget all words that were looked up."""
    suggest.cache_clear()


def split_word(word: str) -> str | None:
    """Return two frequent words that were written as one, e.g. "a lot" for "alot"; None if there are none."""
    frequencies = load_words().frequencies
    rarest = {
        f"{word[:k]} {word[k:]}": min(frequencies.get(word[:k], 0), frequencies.get(word[k:], 0))
        for k in range(1, len(word))
        if word[:k] == "a" or k > 1
        if len(word) - k > 1
    }
    best = max(rarest, key=rarest.__getitem__, default=None)
    return best if best is not None and rarest[best] > MIN_PART else None
