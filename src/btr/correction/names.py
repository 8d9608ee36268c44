"""Names that no list has, which stay as they are; and the case of a sentence's first letter."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rapidfuzz.distance import OSA

from btr.candidates.spelling import MIN_LETTERS, WORD
from btr.corpus.candidates import Candidates
from btr.corpus.words import is_known, needs_capital, suggest
from btr.correction.segments import Segment

SEVERAL = 2  # times in a paragraph: a word that is written alike so often is hardly a misspelling


def mark_names(segments: Sequence[Segment]) -> list[Segment]:
    """Return the sentences of a paragraph with their names marked.

    A name is an unknown word with a capital that stands within a sentence or several times in the paragraph, unless it
    looks like a misspelling: Febuary, or the Freind.
    """
    counts = Counter(token.text for segment in segments for token in segment.tokens)
    within = {segment.tokens[index].text for segment in segments for index in capitals_within(segment)}
    words = {word for word in counts if word in within or counts[word] >= SEVERAL}
    names = {word for word in words if is_name(word, counts[word])}
    if not names:
        return list(segments)
    return [
        segment._replace(tokens=tuple(token._replace(is_name=token.text in names) for token in segment.tokens))
        for segment in segments
    ]


def capitals_within(segment: Segment) -> Iterator[int]:
    """Yield the indices of words with a capital that do not begin the sentence, nor one in quotes."""
    has_begun = False
    for index, token in enumerate(segment.tokens):
        if has_begun and token.text[:1].isupper():
            yield index
        has_begun = any(map(str.isalnum, token.text)) or (has_begun and token.text in (",", "-", "–", "/", "&"))


def is_name(word: str, count: int) -> bool:
    """Return whether a word with a capital is a name: unknown, and not like a name that is known.

    One that is written only once must not differ in a single letter from a known word.
    """
    if len(word) < MIN_LETTERS or not word[0].isupper() or not WORD.fullmatch(word) or is_known(word):
        return False
    similar = suggest(word.lower())
    if any(other[0].isupper() for other in similar):
        return False
    return count >= SEVERAL or not any(OSA.distance(word.lower(), other.replace(" ", "")) <= 1 for other in similar)


def respells_name(word: str, correction: str) -> bool:
    """Return whether a correction only splits a word that may be a name, or gives it other capitals: Fastcache."""
    is_same = correction.replace(" ", "").casefold() == word.casefold() and correction != word
    return is_same and is_name(word, 1)


def keep_first_case(row: Candidates, segment: Segment) -> Candidates:
    """Return the candidates with a first letter as the source has it.

    No correction makes a sentence begin with a small letter, nor a heading or a list item with a capital, unless the
    word is a name or "I".
    """
    first = row.source.partition(" ")[0]
    firsts = [text.partition(" ")[0] for text in row.texts]
    if first[:1].isupper():
        texts = [text[:1].upper() + text[1:] if each.islower() else text for each, text in zip(firsts, row.texts)]
    elif segment.is_heading_or_item and first.islower():
        texts = [
            text[:1].lower() + text[1:] if each.istitle() and not needs_capital(each.lower()) else text
            for each, text in zip(firsts, row.texts)
        ]
    else:
        return row
    return replace(row, texts=tuple(texts))
