"""Numbers and names in sentences for people."""

from collections.abc import Iterable

MIN_SIMILARITY = 0.75  # Jaro-Winkler, of a name that is suggested


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, which gets an s unless the number is 1: "1 file", "2,000 files"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to another, None if none is: conll14 for conll41."""
    from rapidfuzz.distance import JaroWinkler  # here, since it is needed only after a mistake

    similarities = {each: JaroWinkler.similarity(name.lower(), each.lower()) for each in known}
    best = max(similarities, key=similarities.__getitem__, default=None)
    return best if best is not None and similarities[best] >= MIN_SIMILARITY else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean conll14?)" for a message about an unknown name; nothing if no known one is similar."""
    near = nearest(name, known)
    return "" if near is None else f" (did you mean {near}?)"
