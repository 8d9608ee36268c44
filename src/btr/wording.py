"""Numbers in sentences for people."""


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, which gets an s unless the number is 1: "1 file", "2,000 files"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
