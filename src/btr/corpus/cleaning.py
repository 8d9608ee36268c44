"""The paper's cleaning of CoNLL's M2 files (its appendix "Cleaning for CoNLL Corpus").

spaCy's English tokenizer puts spaces around punctuation, and a line of several sentences is split at its full
stops. The gold edits follow: an edit is dropped only when the new spaces are all that it asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise, takewhile
from typing import Any

from btr.corpus.files import PathLike
from btr.corpus.m2 import DETECTION_ONLY, Edit, Sentence, read_m2, write_m2


def clean(path: PathLike, output: PathLike) -> int:
    """Clean an M2 file, a sentence at a time; gives the number of sentences written."""
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
    """spaCy's rules for English, which the paper's `en_core_web_sm` uses too; no statistical model."""
    import spacy

    tokenizer: Callable[[str], Iterable[Any]] = spacy.blank("en").tokenizer
    return tokenizer


def _tokenise(text: str) -> list[str]:
    """The tokens of a text, found word by word, so that tokens already apart stay apart."""
    return [token.text for word in text.split() for token in _tokenizer()(word)]


def _tokenise_sentence(sentence: Sentence) -> Sentence:
    """Tokenise source and corrections, and move each edit to the tokens that its own were split into."""
    words = [_tokenise(word) for word in sentence.source.split()]
    offsets = list(accumulate(map(len, words), initial=0))

    def carry(edit: Edit) -> Edit:
        corrections = dict.fromkeys(" ".join(_tokenise(correction)) for correction in edit.corrections)
        return replace(edit, start=offsets[edit.start], end=offsets[edit.end], corrections=tuple(corrections))

    source = " ".join(token for word in words for token in word)
    annotations = {annotator: tuple(map(carry, edits)) for annotator, edits in sentence.annotations.items()}
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
        places = range(start, end + 1 if end == len(tokens) else end)
        annotations = {
            annotator: tuple(_shift(edit, -start) for edit in edits if edit.start in places)
            for annotator, edits in sentence.annotations.items()
        }
        yield Sentence(" ".join(tokens[start:end]), annotations)


def _shift(edit: Edit, by: int) -> Edit:
    return replace(edit, start=edit.start + by, end=edit.end + by)


def _final_stops(tokens: Sequence[str]) -> Iterator[int]:
    """The stops before an upper-case letter, but not of an abbreviation ("Mr .") or a list ("1 . Tea")."""
    for index in range(1, len(tokens) - 1):
        word, stop, following = tokens[index - 1 : index + 2]
        if stop == "." and following[0].isupper() and not (_is_abbreviation(word) or _is_list_number(word)):
            yield index


def _is_abbreviation(word: str) -> bool:
    """Whether spaCy leaves a full stop on the word: titles, initials, "e.g", and a stop itself ("..")."""
    return len(_tokenise(f"{word.capitalize() if word.isupper() else word}.")) == 1


def _is_list_number(word: str) -> bool:
    return word.isdigit() and len(word) < 3


def _cut_edits(sentence: Sentence) -> Sentence:
    """Cut each edit to what it changes, as in the paper's file, and drop one that changes nothing any more.

    Edits that only mark a place stay as they are.
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
    """Take off the tokens that the source and all corrections share at the start, then those at the end."""
    texts = [tokens[edit.start : edit.end], *(correction.split() for correction in edit.corrections)]
    before = _shared(texts)
    after = _shared(text[before:][::-1] for text in texts)
    corrections = tuple(" ".join(text[before : len(text) - after]) for text in texts[1:])
    return replace(edit, start=edit.start + before, end=edit.end - after, corrections=corrections)


def _shared(texts: Iterable[Sequence[str]]) -> int:
    """How many tokens all texts begin with."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False)))
