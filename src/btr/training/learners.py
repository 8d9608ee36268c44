"""What learners wrote instead: the edits of annotated corpora, reversed, as a kind of synthetic error.

Rules know which kinds of errors there are, but not that "informations" is likelier than "advices", or that it is "big"
that stands for "great". Here a phrase of clean text becomes what learners have written for it: the likelier, the more
often they did.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from btr.corpus.files import PathLike
from btr.corpus.m2 import Sentence, read_m2

MAX_WORDS = 2  # of a phrase, and of what replaces it
BY_RULES = "PUNCT", "ORTH", "DET"  # types of errors that rules make as well
FORM_TYPES = (
    "SPELL",
    "MORPH",
    "NOUN:NUM",
    "NOUN:INFL",
    "VERB:FORM",
    "VERB:INFL",
    "VERB:SVA",
    "VERB:TENSE",
    "ADJ:FORM",
)
SMOOTHING = 5  # is added to how often a phrase occurs, since a rare phrase is not always wrong
RATE = 10  # errors are this many times as frequent as the learners', or few positions would have one

Phrase = tuple[str, ...]


class Learners:
    """Phrases, what learners wrote for them and how often, and how often the phrases occur."""

    def __init__(self, paths: Sequence[PathLike]) -> None:
        replaced: dict[Phrase, Counter[Phrase]] = defaultdict(Counter)
        lasting = set[tuple[Phrase, Phrase]]()  # wrong in a way that shows what was meant, even if it occurs once
        self.occurrences: Counter[Phrase] = Counter()
        for sentence in (sentence for path in paths for sentence in read_m2(path)):
            words = sentence.corrected().lower().split()
            self.occurrences.update(tuple(words[k : k + n]) for n in (1, MAX_WORDS) for k in range(len(words) - n + 1))
            for right, wrong, kind in read_phrases(sentence):
                replaced[right][wrong] += 1
                if kind in FORM_TYPES:
                    lasting.add((right, wrong))
        self.wrong: dict[Phrase, Counter[Phrase]] = {}
        for right, counts in replaced.items():
            frequent = {wrong: n for wrong, n in counts.items() if n > 1 or (right, wrong) in lasting}
            if frequent:
                self.wrong[right] = Counter(frequent)

    def draw(self, words: Sequence[str], random: Random) -> tuple[int, Phrase] | None:
        """Return how many of the first words are replaced, and by what; None if they stay."""
        for length in (MAX_WORDS, 1):
            right = tuple(word.lower() for word in words[:length])
            counts = self.wrong.get(right) if len(right) == length else None
            if counts and random.random() < RATE * counts.total() / (self.occurrences[right] + SMOOTHING):
                return length, random.choices(list(counts), list(counts.values()))[0]
        return None


def read_phrases(sentence: Sentence) -> Iterator[tuple[Phrase, Phrase, str]]:
    """Give what was meant, what was written and the type of each edit that other sentences can have too."""
    tokens = sentence.source.lower().split()
    for edit in sentence.edits(0):
        right, wrong = tuple(edit.corrections[0].lower().split()), tuple(tokens[edit.start : edit.end])
        kind = edit.type.partition(":")[2]
        if is_usable(right, wrong, kind):
            yield right, wrong, kind


def is_usable(right: Phrase, wrong: Phrase, kind: str) -> bool:
    """Return whether an edit is short, changes words, and is of a type that no rule makes."""
    short = 0 < len(right) <= MAX_WORDS and len(wrong) <= MAX_WORDS
    wordy = all(word[0].isalpha() or word[0] == "'" for word in (*right, *wrong))
    return short and wordy and right != wrong and kind.split(":")[0] not in BY_RULES
