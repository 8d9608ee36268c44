"""Where words of a tokenised sentence are written without a space between them: `do n't ,` is `don't,`."""

import re
from collections.abc import Sequence

ATTACHED_TO_PREVIOUS = frozenset(",.;:!?%)]}…”’-–/")  # written without a space before them
ATTACHED_TO_NEXT = frozenset("([{$£€#“‘-–/")  # written without a space after them
# 's, 'm, 'd, 're, 've, 'll, n't and an ellipsis: tokens that are part of the word before them.
CLITIC = re.compile(r"['’](?:s|m|d|re|ve|ll)|n['’]t|\.\.\.", re.IGNORECASE)
STRAIGHT_QUOTES = '"', "'"
TREEBANK_QUOTES = {"``": '"', "''": '"'}  # how the Penn Treebank's tokeniser writes quotation marks


def detokenize(text: str) -> str:
    """Return a tokenised sentence as a writer spaces it; a sentence that is spaced so already stays the same."""
    words = [TREEBANK_QUOTES.get(word, word) for word in text.split()]
    gaps = ["" if k == 0 or is_attached(words, k) else " " for k in range(len(words))]
    return "".join(gap + word for gap, word in zip(gaps, words))


def is_attached(words: Sequence[str], index: int) -> bool:
    """Whether a word is written without a space between it and the word before it."""
    left, right = words[index - 1], words[index]
    if left in STRAIGHT_QUOTES and is_opening(words, index - 1):
        return True
    if right in STRAIGHT_QUOTES:
        return not is_opening(words, index)
    return right in ATTACHED_TO_PREVIOUS or left in ATTACHED_TO_NEXT or bool(CLITIC.fullmatch(right))


def is_opening(words: Sequence[str], index: int) -> bool:
    """Whether a straight quote opens a quotation: every second one does, apart from apostrophes (`the students '`)."""
    quote = words[index]
    before = [k for k in range(index) if words[k] == quote and not is_apostrophe(words, k)]
    return len(before) % 2 == 0 and not is_apostrophe(words, index)


def is_apostrophe(words: Sequence[str], index: int) -> bool:
    """Whether a single quote is the apostrophe of a plural: it follows an s, and quotes are not in pairs."""
    follows_s = index > 0 and words[index - 1][-1:] in "sS"
    return words[index] == "'" and follows_s and words.count("'") % 2 == 1
