"""English words, and what a misspelt one may stand for.

Words and their frequencies are those of symspellpy (MIT licence; 82,834 words, mostly British). Further words, which
are right but rarely meant, are those of ERRANT's British list (from SCOWL, with its permissive licence), those of the
lexicon of lemminflect (MIT licence; American and British), and a few of ours that are newer (new_words.txt).
"""

import gzip
import re
from collections.abc import Mapping, Set
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from math import log10
from pathlib import Path

FREQUENCIES = "frequency_dictionary_en_82_765.txt"
COUNTED_WORD = re.compile("^([^ \\n]*) [^\\n]", re.MULTILINE)  # of a line of that file
NEW_WORDS = "new_words.txt"
LEXICON = "resources/lemma_lu.csv.gz"  # of lemminflect: "behaviors,noun,behavior"
MISSPELT_IN_LEXICON = frozenset(("occured", "occuring", "refered", "refering"))
MAX_SUGGESTIONS = 5
# What a known word may begin with, and be right though no list has it: deduplicate, unfollow.
PREFIXES = (
    "anti", "auto", "bio", "co", "counter", "cyber", "de", "eco", "geo", "inter", "mega", "meta", "micro", "mini",
    "mis", "multi", "nano", "non", "out", "over", "post", "pre", "re", "self", "semi", "sub", "super", "trans", "ultra",
    "un", "under",
)  # fmt: skip
OTHER_NEGATIONS = "in", "im", "il", "ir", "dis"  # what many words have in place of un-: impossible, not unpossible
MIN_STEM = 5  # letters after a prefix; shorter ones are often a misspelling: "desing", "untill"
SHORT = 4  # letters; a word as short as that is changed by one letter at most
MIN_PART = 50_000_000  # how often each half of "a lot" must occur, so that "alot" may stand for it
NEW_INITIAL = 0.7  # a misspelling rarely begins with another letter: as bad as this part of a changed letter
SAME_LETTERS = 0.7  # letters in another order ("tounge") make up for this part of a changed letter
PER_MAGNITUDE = 0.25  # a word ten times as frequent makes up for this part of a changed letter
MAX_WORSE = 0.8  # a word that is worse than the best one by more than this part of a changed letter is not meant
CACHED_WORDS = 10_000


def is_known(word: str) -> bool:
    """Return whether a list has a word, in small letters or with capitals, or has it without a prefix."""
    lower = word.lower()
    return lower in load_words() or lower in load_lexicon() or has_known_stem(lower)


def needs_capital(word: str) -> bool:
    """Return whether a word in small letters is written with a capital: paris, i."""
    return word == "i" or word.capitalize() in load_frequencies()


def has_known_stem(word: str) -> bool:
    """Return whether a word is a prefix and a word that may be suggested."""
    stems = [word.removeprefix(prefix) for prefix in PREFIXES if word.startswith(prefix)]
    has_stem = any(len(stem) >= MIN_STEM and stem in load_frequencies() for stem in stems)
    return has_stem and not other_negations(word)


def other_negations(word: str) -> list[str]:
    """Return the words that are meant by a word in small letters that no list has: unpossible, impossible."""
    stem = word.removeprefix("un")
    if stem == word or stem.endswith("ed") or len(stem) < MIN_STEM or stem not in load_frequencies():
        return []
    return [other for prefix in OTHER_NEGATIONS if (other := prefix + stem) in load_frequencies()]


@cache
def load_words() -> Set[str]:
    """Read the words of symspellpy's, ERRANT's and our own list, in small letters."""
    words = set(read_british().lower().split())
    words.update((files("btr") / "corpus" / NEW_WORDS).read_text(encoding="utf-8").split())
    words.update(COUNTED_WORD.findall(read_counts()))
    return words


@cache
def load_lexicon() -> Mapping[str, str]:
    """Read lemminflect's lexicon: for a word in small letters, its lemmas, as in "noun,study verb,study".

    Only a word that the other lists lack needs this, and what is said of an edit.
    """
    package = find_spec("lemminflect")  # which is not imported: its models are not needed
    assert package is not None
    assert package.origin is not None
    with gzip.open(Path(package.origin).parent / LEXICON, "rt", encoding="utf-8") as file:
        entries = [line.rstrip("\n").partition(",") for line in file]
    lemmas: dict[str, str] = {}
    for form, _, lemma in entries:
        word = form.lower()
        lemmas[word] = f"{lemmas[word]} {lemma}" if word in lemmas else lemma
    return {word: each for word, each in lemmas.items() if word not in MISSPELT_IN_LEXICON}


@cache
def load_frequencies() -> Mapping[str, int]:
    """Read how often the words occur that may be suggested, as they are written. Only an unknown word needs this."""
    listed = set(read_british().split())
    names = {word.lower(): word for word in listed if word.istitle() and word.lower() not in listed}
    lines = (line.partition(" ") for line in read_counts().split("\n"))
    counts = {word: int(count) for word, _, count in lines if count}
    return {names.get(word, word): count for word, count in counts.items() if word.isalpha()}


def read_counts() -> str:
    """Return symspellpy's list, one word per line and how often it occurs."""
    return (files("symspellpy") / FREQUENCIES).read_text(encoding="utf-8-sig")


def read_british() -> str:
    """Return ERRANT's list, one word per line."""
    return (files("errant") / "en" / "resources" / "en_GB-large.txt").read_text(encoding="utf-8")


@lru_cache(CACHED_WORDS)
def suggest(word: str) -> tuple[str, ...]:
    """Return a few words that a word in small letters may be a misspelling of, the most likely first."""
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    frequencies = load_frequencies()
    letters = sorted(word)
    most = 1 if len(word) <= SHORT else 2
    close = extract(word, frequencies.keys(), scorer=OSA.distance, score_cutoff=most, limit=None)

    def badness(suggestion: str, distance: float) -> float:
        initial = NEW_INITIAL * (suggestion[0] != word[0])
        order = SAME_LETTERS * (sorted(suggestion) == letters)
        return distance + initial - order - PER_MAGNITUDE * log10(frequencies[suggestion])

    if word.endswith("ys") and (plural := f"{word[:-2]}ies") in frequencies:
        return (plural,)
    if opposites := other_negations(word):
        return tuple(opposites)
    ranked = sorted((badness(suggestion, distance), suggestion) for suggestion, distance, _ in close)
    best = [suggestion for value, suggestion in ranked if value <= ranked[0][0] + MAX_WORSE][:MAX_SUGGESTIONS]
    return (*best[: MAX_SUGGESTIONS - 1], split) if (split := split_word(word)) else tuple(best)


def forget_suggestions() -> None:
    """Forget all words that were looked up."""
    suggest.cache_clear()


def split_word(word: str) -> str | None:
    """Return two frequent words that were written as one, e.g. "a lot" for "alot"; None if there are none."""
    frequencies = load_frequencies()
    rarest = {
        f"{word[:k]} {word[k:]}": min(frequencies.get(word[:k], 0), frequencies.get(word[k:], 0))
        for k in range(1, len(word))
        if word[:k] == "a" or k > 1
        if len(word) - k > 1
    }
    best = max(rarest, key=rarest.__getitem__, default=None)
    return best if best is not None and rarest[best] > MIN_PART else None
