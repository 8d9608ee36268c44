"""Kinds of errors: functions that turn words at a position into what a learner might write instead.

A kind is given tagged words, a position and random numbers, and returns a change, or None if nothing can be spoilt
there. spaCy tags the words and lemminflect inflects them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from btr.errors import InputError
from btr.training.learners import Learners


def _table(text: str) -> dict[str, str]:
    """Read pairs such as "am/was, are/were"."""
    return dict(pair.split("/") for pair in text.split(", "))


# From the right word to what learners write instead: by W&I's edits of type R:PREP, R:VERB:TENSE and others.
PREPOSITIONS = _table(
    "about/of for, at/in on to, by/with from, for/to of in, from/of, in/on of at to, into/in to, like/as, "
    "of/in for from, on/in at to, to/for in at, with/in to by"
)
OTHER_TENSE = _table(
    "am/was, are/were, can/could, could/can, did/do, do/did, does/did, had/have, has/had, have/had, is/was, may/can, "
    "might/may, must/should, should/must, was/is, were/are, will/would, would/will"
)
OTHER_PERSON = _table("am/is, are/is, is/are, was/were, were/was")
OTHER_FORMS = _table("VB/VBG VBD, VBD/VB VBZ, VBG/VB, VBN/VB VBD VBG, VBP/VBD VBG, VBZ/VBD VBG")
CONFUSED = _table(
    "advice/advise, advise/advice, affect/effect, effect/affect, hear/here, here/hear, its/it 's, life/live, "
    "live/life, lose/loose, loose/lose, passed/past, past/passed, quiet/quite, quite/quiet, than/then, then/than, "
    "their/there, there/their, too/to, weather/whether, were/where, where/were, whether/weather, whose/who 's, "
    "world/word, your/you 're"
)
LIKE_SOUNDS = _table("a/eo, b/pv, c/sk, e/ai, f/v, i/ey, k/c, m/n, n/m, o/ua, s/cz, u/oa, v/b, y/i, z/s")
NEXT_KEY = dict(zip("qwertyuiopasdfghjklzxcvbnm", "wertyuioposdfghjklkxcvbnmn"))
VOWELS = "aeiou"
ARTICLES = "a", "an", "the"
CLITICS = "n't", "'s", "'re", "'ve", "'ll", "'m", "'d"
AFTER_COMMA = "and", "because", "if", "that", "to", "when", "which", "who"  # where learners put one too many
BEFORE_NOUN = "DT", "PRP$", "WP$", "PDT", "POS", "CD", "HYPH", "RB", "$"  # and adjectives and nouns
SWAPPED = {"RB VB": 1.0, "VB RB": 1.0, "MD RB": 1.0, "JJ NN": 0.2}  # how often, where possible


class Word(NamedTuple):
    """A token and its Penn Treebank tag."""

    text: str
    tag: str


class Change(NamedTuple):
    """The words that replace words[start:end]."""

    start: int
    end: int
    words: tuple[str, ...]


Words = Sequence[Word]
Kind = Callable[[Words, int, Random], Change | None]


def article(words: Words, at: int, random: Random) -> Change | None:
    """Omit an article, use the wrong one, or put one before a noun that has none."""
    text, tag = words[at]
    if at + 1 == len(words):
        return None
    is_article = text.lower() in ARTICLES
    indefinite = "an" if words[at + is_article].text[0].lower() in VOWELS else "a"
    if is_article:
        other = random.choice(["the", indefinite])
        return _drop(words, at) if random.random() < 0.65 else _replace(words, at, other)
    if at == 0 or words[at - 1].text.lower() in ARTICLES or not _starts_bare_noun(words, at):
        return None
    return Change(at, at + 1, (indefinite if tag == "NN" and random.random() < 0.3 else "the", text))


def preposition(words: Words, at: int, random: Random) -> Change | None:
    """Omit a preposition, or use one that learners confuse with it."""
    word = words[at]
    if word.tag != "IN" or word.text.lower() not in PREPOSITIONS or at + 1 == len(words):
        return None
    if random.random() < 0.25:
        return _drop(words, at)
    return _replace(words, at, random.choice(PREPOSITIONS[word.text.lower()].split()))


def agreement(words: Words, at: int, random: Random) -> Change | None:
    """Put a verb in the form for another person: "he go", "they was"."""
    text, tag = words[at]
    if tag not in ("VBD", "VBP", "VBZ"):
        return None
    other = text if tag == "VBD" else _inflect(text, "VB" if tag == "VBZ" else "VBZ", random)
    return _replace(words, at, OTHER_PERSON.get(text.lower(), other))


def number(words: Words, at: int, random: Random) -> Change | None:
    """Leave a noun in the singular that should be plural or, less often, the other way round."""
    text, tag = words[at]
    before_noun = at + 1 < len(words) and words[at + 1].tag[:2] in ("NN", "HY")
    if before_noun or text.isupper() or not (tag == "NNS" or (tag == "NN" and random.random() < 0.2)):
        return None
    return _replace(words, at, _inflect(text, "NN" if tag == "NNS" else "NNS", random))


def verb_form(words: Words, at: int, random: Random) -> Change | None:
    """Put a verb in another tense, or mix up infinitive, gerund and participle."""
    text, tag = words[at]
    if tag == "TO" and at + 1 < len(words) and words[at + 1].tag == "VB":
        verb = words[at + 1].text
        return Change(at, at + 2, (_like(random.choice([verb, _inflect(verb, "VBG", random)]), text),))
    if text.lower() in OTHER_TENSE and tag in ("MD", "VBD", "VBP", "VBZ"):
        return _replace(words, at, OTHER_TENSE[text.lower()])
    if tag not in OTHER_FORMS:
        return None
    new = _inflect(text, random.choice(OTHER_FORMS[tag].split()), random)
    return _replace(words, at, f"to {new}" if tag == "VBG" and random.random() < 0.2 else new)


def spelling(words: Words, at: int, random: Random) -> Change | None:
    """Confuse a word with one that sounds like it, or misspell it anywhere but in its first letter."""
    text, tag = words[at]
    if text.lower() in CONFUSED:
        return _replace(words, at, CONFUSED[text.lower()])
    if len(text) < 4 or not text.isascii() or not text.isalpha() or not text[1:].islower() or tag.startswith("NNP"):
        return None
    position = random.randrange(1, len(text))
    before, letter, after = text[:position], text[position], text[position + 1 :]
    slips = [before + after]
    if before[-1] in VOWELS and letter not in VOWELS:
        slips.append(before + letter + letter + after)
    if after:
        slips.append(before + after[0] + letter + after[1:])
        slips.append(before + random.choice(LIKE_SOUNDS.get(letter, letter)) + after)
    if random.random() < 0.3:
        slips.append(before + NEXT_KEY[letter] + after)
    return _replace(words, at, random.choice([slip for slip in slips if slip != text]))


def punctuation(words: Words, at: int, random: Random) -> Change | None:
    """Omit a comma, hyphen, apostrophe or, seldom, the full stop; or put a comma where none belongs."""
    text, tag = words[at]
    if at == 0:
        return None
    straight = text.replace("’", "'")
    if straight in CLITICS or (straight == "'" and tag == "POS"):
        return Change(at - 1, at + 1, (words[at - 1].text + straight.replace("'", ""),))
    if at + 1 == len(words):
        return _drop(words, at) if text == "." and random.random() < 0.03 else None
    if text in (",", "-"):
        return _drop(words, at)
    if text in (";", ":"):
        return _replace(words, at, ",")
    if text in AFTER_COMMA and words[at - 1].text[-1].isalnum() and random.random() < 0.1:
        return Change(at, at + 1, (",", text))
    return None


def capitals(words: Words, at: int, random: Random) -> Change | None:
    """Write a sentence's first word, "I" or a name with a small letter, or a noun with a capital."""
    text, tag = words[at]
    new = text
    if text == "I" or (text.istitle() and len(text) > 1 and (at == 0 or random.random() < 0.3)):
        new = text.lower()
    elif tag in ("NN", "NNS") and len(text) > 3 and random.random() < 0.03:
        new = text.capitalize()
    return Change(at, at + 1, (new,)) if new != text else None


def order(words: Words, at: int, random: Random) -> Change | None:
    """Exchange an adverb and its verb, or an adjective and its noun."""
    pair = words[at : at + 2]
    chance = SWAPPED.get(" ".join(word.tag[:2] for word in pair), 0)
    if at == 0 or random.random() >= chance or len({word.text for word in pair if word.text.isalpha()}) < 2:
        return None
    return Change(at, at + 2, (pair[1].text, pair[0].text))


KINDS: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (punctuation, article, preposition, verb_form, capitals, number, spelling, agreement, order)
}
# Shares in percent of the 41,000 edits of W&I train that are PUNCT, DET, PREP, VERB:TENSE or VERB:FORM, ORTH, NOUN:NUM,
# SPELL, VERB:SVA or WO: grep -h ^A ?.train.gold.bea19.m2 | cut -d '|' -f 4 | sort | uniq -c
WEIGHTS = dict(zip(KINDS, (27.0, 17.0, 15.0, 15.0, 7.0, 7.0, 6.0, 3.0, 3.0)))
LEARNERS = "learners"
LEARNERS_WEIGHT = 20.0


def learners_kind(learners: Learners) -> Kind:
    """Return the kind that writes what learners wrote."""

    def written(words: Words, at: int, random: Random) -> Change | None:
        drawn = learners.draw([word.text for word in words[at : at + 2]], random)
        if drawn is None or words[at].tag.startswith("NNP"):
            return None
        length, wrong = drawn
        if not wrong:
            return _drop(words, at) if length == 1 and at + 1 < len(words) else None
        return Change(at, at + length, (_like(wrong[0], words[at].text), *wrong[1:]))

    return written


def check_error_weights(weights: Mapping[str, float], kinds: Iterable[str]) -> None:
    """Refuse unknown kinds, and weights below 0."""
    for kind, weight in weights.items():
        if kind not in kinds or weight < 0:
            raise InputError(f"{kind}={weight:g}: expected a weight of 0 or more for one of {', '.join(kinds)}.")


def _replace(words: Words, at: int, new: str) -> Change | None:
    """Replace a word by others, with its capital; None if they are the same."""
    new = _like(new, words[at].text)
    return Change(at, at + 1, tuple(new.split())) if new != words[at].text else None


def _drop(words: Words, at: int) -> Change:
    """Remove a word; at the start of a sentence the next word gets its capital."""
    if at == 0:
        return Change(0, 2, (_like(words[1].text, words[0].text),))
    return Change(at, at + 1, ())


def _like(text: str, model: str) -> str:
    """Return a text with a capital if the model has one."""
    return text[0].upper() + text[1:] if model[0].isupper() else text


def _starts_bare_noun(words: Words, at: int) -> bool:
    """Return whether a noun, or an adjective before one, starts a phrase that has no determiner."""
    before, word, after = words[at - 1].tag, words[at], words[at + 1].tag
    starts = word.tag in ("NN", "NNS") or (word.tag == "JJ" and after in ("NN", "NNS"))
    return starts and word.text.isalpha() and before not in BEFORE_NOUN and before[:2] not in ("JJ", "NN", "VB")


def _inflect(text: str, tag: str, random: Random) -> str:
    """Return the form of a word for another tag; the word itself if lemminflect's lexicon does not have it."""
    from lemminflect import getInflection, getLemma

    lemmas = getLemma(text.lower(), "NOUN" if tag.startswith("NN") else "VERB", lemmatize_oov=False)
    forms = getInflection(lemmas[0], tag, inflect_oov=False) if lemmas and text.isalpha() else ()
    return str(random.choice(forms or (text,)))
