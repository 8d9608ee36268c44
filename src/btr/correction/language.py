"""Whether a sentence is English: others are left alone by a model that knows English only."""

from functools import cache
from typing import Any

SURE = 0.85  # how probable another language must be; below, learners' English is given the benefit of the doubt
LEAST = 2  # words by which a language can be told


def is_english(text: str) -> bool:
    """False if the text is, quite surely, in another language."""
    if sum(map(str.isalpha, text.split())) < LEAST:
        return True
    language, probability = load_identifier().classify(text)
    return bool(language == "en" or probability < SURE)


@cache
def load_identifier() -> Any:
    """langid's model for 97 languages, which comes with the package."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
