"""How two English words are related: inflected forms of one lemma, or British and American spellings of one word."""

import re
from collections.abc import Set

from btr.corpus.words import is_known, load_lexicon, load_words

NOUN, VERBS, COMPARED = "noun", {"verb", "aux"}, {"adj", "adv"}  # parts of speech
# Regular endings, which learners put even where a word has other forms: childrens, teached, studys.
ENDINGS = "s", "es", "ed", "ing"
MIN_STEM = 2  # letters before such an ending
NEGATIONS = "un", "in", "im", "il", "ir", "dis", "non"

# British spellings, and what stands there in American ones. Short words are left out: four is not for, size not sise.
AMERICAN = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"(?<=\w{2})(?<!^fl)(?<!^sc)our(?=$|s$|ed$|ing$|ings$|ful|abl[ey]|al$|ally$|ite|ers?$|less|hood|ly$)",
            "or",
        ),
        (r"(?<=\w[bcdghpt])(?<!timb)re(?=s?$)", "er"),
        (r"(?<=\w{3}i)s(?=e$|es$|ed$|ing$|er$|ers$|ations?$|ational$)", "z"),
        (r"(?<=\wly)s(?=e$|es$|ed$|ing$|er$|ers$)", "z"),
        (r"(?<=[aeiou])(?<!tro)ll(?=ed$|ing$|ings$|er$|ers$|ors?$)", "l"),
        (r"(?<=\w{2}l)ogue(?=s?$)", "og"),
        (r"(?<=[ft]en)c(?=es?$)", "s"),
        (r"^grey", "gray"),
        (r"(?<=dg)e(?=ments?$)", ""),
    )
]
TWO_SYLLABLES = re.compile(r"[aeiouy]+[^aeiouy]+[aeiouy]+l")  # travelling is traveling, but filling is not filing


def common_lemmas(word: str, other: str) -> dict[str, Set[str]]:
    """Return the lemmas that two words are forms of, by part of speech; a word that is wrongly inflected counts too."""
    one, two = lemmas(word), lemmas(other)
    if not is_known(word):
        stems = [word[: -len(ending)] for ending in ENDINGS if word.lower().endswith(ending)]
        one = next((found for stem in stems if len(stem) >= MIN_STEM and (found := lemmas(stem))), one)
    return {part: both for part in one if (both := one[part] & two.get(part, set()))}


def lemmas(word: str) -> dict[str, Set[str]]:
    """Return the lemmas of a word, by part of speech; a word may be its own lemma."""
    return {
        part: {*lemma.split("/")}
        for each in load_lexicon().get(word.lower(), "").split()
        for part, _, lemma in [each.partition(",")]
    }


def inflection_type(word: str, other: str) -> str | None:
    """Return ERRANT's type for a change between two forms of one lemma, by the words alone; None if they are not.

    It is a type of nouns or verbs only where the words can't be anything else.
    """
    if word.lower() == other.lower():
        return None
    parts = set(common_lemmas(word, other))
    if not parts:
        return None
    if parts <= COMPARED:
        return "ADJ:FORM"
    if parts == {NOUN}:
        return "NOUN:NUM" if is_known(word) else "NOUN:INFL"
    if not parts <= VERBS:
        return "MORPH"
    if not is_known(word):
        return "VERB:INFL"
    is_present = word.lower().removesuffix("s") == other.lower().removesuffix("s")
    return "VERB:SVA" if is_present else "VERB:FORM"


def is_opposite(word: str, other: str) -> bool:
    """Return whether one of two adjectives or adverbs is the other with a negative prefix: convenient, unconvenient."""
    short, long = sorted((word.lower(), other.lower()), key=len)
    if not any(long == prefix + short for prefix in NEGATIONS):
        return False
    return bool(COMPARED & set(lemmas(short)) and (COMPARED & set(lemmas(long)) or long not in load_words()))


def is_spelling_variant(word: str, other: str) -> bool:
    """Return whether two known words are one word in British and American spelling."""
    if word == other or (word[:1].isupper(), word.isupper()) != (other[:1].isupper(), other.isupper()):
        return False
    return to_american(word) == to_american(other) and is_known(word) and is_known(other)


def to_american(word: str) -> str:
    """Return a word in American spelling, in small letters, as far as a few rules know it."""
    word = word.lower()
    for pattern, replacement in AMERICAN:
        if replacement != "l" or TWO_SYLLABLES.match(word[: word.rfind("ll") + 1].lstrip("bcdfghjklmnpqrstvwxz")):
            word = pattern.sub(replacement, word)
    return word
