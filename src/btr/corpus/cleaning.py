"""The paper's cleaning of CoNLL's M2 files (its appendix "Cleaning for CoNLL Corpus").

spaCy's English tokenizer puts spaces around punctuation. What it leaves between a word and a number (a comma or
semicolon) gets them, too. A line of several sentences is split at its full stops. The gold edits move along: an edit is
dropped only if inserting these spaces was all that it did.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise, takewhile
from typing import Any

from btr.corpus.files import PathLike, check_not_input
from btr.corpus.m2 import DETECTION_ONLY, Edit, Sentence, read_m2, write_m2

# A comma that is not within a number, and a semicolon between a letter and a digit.
GLUED = re.compile(r"((?<!\d),|,(?!\d)|(?<=[^\W\d_]);(?=\d)|(?<=\d);(?=[^\W\d_]))")


def clean(path: PathLike, output: PathLike) -> int:
    """Clean an M2 file sentence by sentence; return the number of sentences written."""
    check_not_input(output, [path])
    return write_m2(output, clean_sentences(read_m2(path)))


def clean_sentences(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Tokenise sources and corrections, split at full stops, and cut the edits to what they change.

    Splitting comes before cutting, so that an edit of "left.She" to "left . She" still keeps its line whole,
    as in the paper's CoNLL-13.
    """
    for sentence in sentences:
        for part in _split(_tokenise_sentence(sentence)):
            yield _cut_edits(part)


@cache
def _tokenizer() -> Callable[[str], Iterable[Any]]:
    """Load spaCy's rules for English, the same as in the paper's `en_core_web_sm`, without a statistical model."""
    import spacy

    tokenizer: Callable[[str], Iterable[Any]] = spacy.blank("en").tokenizer
    return tokenizer


def _tokenise(text: str) -> list[str]:
    """Tokenise a text word by word, so that tokens with a space between them are never joined."""
    return [part for word in text.split() for token in _tokenizer()(word) for part in _split_token(token)]


def _split_token(token: Any) -> list[str]:
    """Split a token at a comma or semicolon that spaCy leaves in it, as in the paper's "DementiaToday,2012".

    Numbers ("1,250") and addresses of pages and mail stay whole.
    """
    if token.like_url or token.like_email or "://" in token.text:
        return [token.text]
    return [part for part in GLUED.split(token.text) if part]


def _tokenise_sentence(sentence: Sentence) -> Sentence:
    """Tokenise source and corrections, and move each edit to the tokens that its words were split into."""
    words = [_tokenise(word) for word in sentence.source.split()]
    offsets = list(accumulate(map(len, words), initial=0))

    def move(edit: Edit) -> Edit:
        corrections = dict.fromkeys(" ".join(_tokenise(correction)) for correction in edit.corrections)
        return replace(edit, start=offsets[edit.start], end=offsets[edit.end], corrections=tuple(corrections))

    source = " ".join(token for word in words for token in word)
    annotations = {annotator: tuple(map(move, edits)) for annotator, edits in sentence.annotations.items()}
    return Sentence(source, annotations)


def _split(sentence: Sentence) -> Iterator[Sentence]:
    """Split at the full stops that end a sentence, unless an annotator's edit covers the stop.

    Such an edit may join the two sentences or reach over both, so the line stays whole there. Each part keeps
    every annotator, with or without edits; text inserted between two parts goes to the later one.
    """
    tokens = sentence.source.split()
    covered = [range(edit.start, edit.end) for edits in sentence.annotations.values() for edit in edits]
    ends = [stop + 1 for stop in _final_stops(tokens) if not any(stop in span for span in covered)]
    for start, end in pairwise([0, *ends, len(tokens)]):
        offsets = range(start, end + 1 if end == len(tokens) else end)
        annotations = {
            annotator: tuple(_shift(edit, -start) for edit in edits if edit.start in offsets)
            for annotator, edits in sentence.annotations.items()
        }
        yield Sentence(" ".join(tokens[start:end]), annotations)


def _shift(edit: Edit, by: int) -> Edit:
    return replace(edit, start=edit.start + by, end=edit.end + by)


def _final_stops(tokens: Sequence[str]) -> Iterator[int]:
    """Yield the full stops before an upper-case letter, not after an abbreviation ("Mr .") or list number ("1 .")."""
    for index in range(1, len(tokens) - 1):
        word, stop, following = tokens[index - 1 : index + 2]
        if stop == "." and following[0].isupper() and not (_is_abbreviation(word) or _is_list_number(word)):
            yield index


def _is_abbreviation(word: str) -> bool:
    """Return whether spaCy leaves a full stop on the word: titles, initials, "e.g", and a stop itself ("..")."""
    return len(_tokenise(f"{word.capitalize() if word.isupper() else word}.")) == 1


def _is_list_number(word: str) -> bool:
    return word.isdigit() and len(word) < 3


def _cut_edits(sentence: Sentence) -> Sentence:
    """Cut each edit to the tokens that it changes, as in the paper's file, and drop one that changes nothing now.

    Edits that mark an error without correcting it stay as they are.
    """
    tokens = sentence.source.split()

    def cut(edits: Iterable[Edit]) -> Iterator[Edit]:
        for edit in edits:
            if edit.type in DETECTION_ONLY:
                yield edit
            elif edit.corrections != (" ".join(tokens[edit.start : edit.end]),):
                yield _cut(edit, tokens)

    annotations = {annotator: tuple(cut(edits)) for annotator, edits in sentence.annotations.items()}
    return Sentence(sentence.source, annotations)


def _cut(edit: Edit, tokens: Sequence[str]) -> Edit:
    """Remove the tokens that the source and all corrections share at the start, then those at the end."""
    texts = [tokens[edit.start : edit.end], *(correction.split() for correction in edit.corrections)]
    before = _shared(texts)
    after = _shared(text[before:][::-1] for text in texts)
    corrections = tuple(" ".join(text[before : len(text) - after]) for text in texts[1:])
    return replace(edit, start=edit.start + before, end=edit.end - after, corrections=corrections)


def _shared(texts: Iterable[Sequence[str]]) -> int:
    """Return how many first tokens all texts share."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False)))
