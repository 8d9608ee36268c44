"""Detect sentences that are not English: a model that knows English only must leave them alone."""

from functools import cache
from typing import TYPE_CHECKING

from btr.correction.segments import Segment

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

MIN_PROBABILITY = 0.85  # of another language; with less, the sentence may be a learner's English
MIN_WORDS = 2  # fewer do not show a language


def is_english(text: str) -> bool:
    """Whether a text is English, or at least not surely in another language."""
    if sum(map(str.isalpha, text.split())) < MIN_WORDS:
        return True
    language, probability = load_identifier().classify(text)
    return bool(language == "en" or probability < MIN_PROBABILITY)


def words_for_language_detection(text: str, segment: Segment) -> str:
    """Return a sentence's words; of the masked ones only lower-case words, since others may be names or code."""
    words = []
    for token in segment.tokens:
        original = text[token.start : token.end]
        if not token.is_masked:
            words.append(token.text)
        elif original.isalpha() and original.islower():
            words.append(original)
    return " ".join(words)


@cache
def load_identifier() -> "LanguageIdentifier":
    """Load langid's model of 97 languages, which is part of its package."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
