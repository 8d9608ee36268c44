"""What learners wrote instead: the edits of annotated corpora, the other way round, as a kind of synthetic error.

Rules know which kinds of errors there are, but not that "informations" is likelier than "advices", or that it is "big"
that stands for "great". Here a phrase of clean text becomes what learners have written for it: the likelier, the more
often they did.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from btr.corpus.files import PathLike
from btr.corpus.m2 import Sentence, read_m2

LONGEST = 2  # words of a phrase, and of what stands for it
BY_RULES = "PUNCT", "ORTH", "DET"  # main types of errors that rules make as well
ONCE = "SPELL", "MORPH", "NOUN:NUM", "NOUN:INFL", "VERB:FORM", "VERB:INFL", "VERB:SVA", "VERB:TENSE", "ADJ:FORM"
UNSEEN = 5  # is added to how often a phrase was seen: what is seldom seen is not always wrong
FASTER = 10  # so many times as often as learners, or the right place for an error would seldom be found

Phrase = tuple[str, ...]


class Learners:
    """Phrases, what was written for them and how often, and how often they were seen."""

    def __init__(self, paths: Sequence[PathLike]) -> None:
        found: dict[Phrase, Counter[Phrase]] = defaultdict(Counter)
        lasting = set[tuple[Phrase, Phrase]]()  # wrong in a way that tells what was meant, even if seen once
        self.seen: Counter[Phrase] = Counter()
        for sentence in (own for path in paths for own in read_m2(path)):
            words = sentence.corrected().lower().split()
            self.seen.update(tuple(words[k : k + n]) for n in (1, LONGEST) for k in range(len(words) - n + 1))
            for right, wrong, kind in read_phrases(sentence):
                found[right][wrong] += 1
                if kind in ONCE:
                    lasting.add((right, wrong))
        self.wrong: dict[Phrase, Counter[Phrase]] = {}
        for right, counts in found.items():
            kept = {wrong: n for wrong, n in counts.items() if n > 1 or (right, wrong) in lasting}
            if kept:
                self.wrong[right] = Counter(kept)

    def draw(self, words: Sequence[str], random: Random) -> tuple[int, Phrase] | None:
        """How many of the words, from the first on, become what; None if they stay."""
        for length in (LONGEST, 1):
            right = tuple(word.lower() for word in words[:length])
            counts = self.wrong.get(right) if len(right) == length else None
            if counts and random.random() < FASTER * counts.total() / (self.seen[right] + UNSEEN):
                return length, random.choices(list(counts), list(counts.values()))[0]
        return None


def read_phrases(sentence: Sentence) -> Iterator[tuple[Phrase, Phrase, str]]:
    """What was meant, what was written and the type, for the edits of a sentence that can be made elsewhere, too."""
    tokens = sentence.source.lower().split()
    for edit in sentence.edits(0):
        right, wrong = tuple(edit.corrections[0].lower().split()), tuple(tokens[edit.start : edit.end])
        kind = edit.type.partition(":")[2]
        if is_usable(right, wrong, kind):
            yield right, wrong, kind


def is_usable(right: Phrase, wrong: Phrase, kind: str) -> bool:
    """Whether an edit is short, says something of words, and is of a kind that has no rules."""
    short = 0 < len(right) <= LONGEST and len(wrong) <= LONGEST
    wordy = all(word[0].isalpha() or word[0] == "'" for word in (*right, *wrong))
    return short and wordy and right != wrong and kind.split(":")[0] not in BY_RULES
