"""The personal dictionary: words that are right, whatever others say. A text file, one word per line."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from filelock import FileLock

from btr.corpus.files import PathLike, read_lines, write_lines
from btr.correction.segments import Segment
from btr.errors import InputError

COMMENT = "#"  # at the start of a line or after white space: C# is a word
COMMENT_AND_REST = re.compile(rf"(?<!\S){COMMENT}.*", re.DOTALL)
MAX_TOKENS = 8  # of a word: spaCy cuts "e-mail" into three


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Words that no edit changes. A word in small letters stands for itself with capitals too."""

    words: frozenset[str] = frozenset()
    path: Path | None = field(default=None, compare=False)  # the file of the words, to which others can be added

    def __contains__(self, word: str) -> bool:
        return word in self.words or word.lower() in self.words

    @property
    def signature(self) -> str:
        """Return what a correction depends on."""
        return f"words:{sha256(chr(10).join(sorted(self.words)).encode()).hexdigest()[:12]}"

    def with_words(self, words: Iterable[str]) -> "Dictionary":
        """Return the dictionary with further words."""
        if isinstance(words, str):
            raise InputError("expected a list of words, not one text.")
        more = frozenset(map(check_word, words))
        return replace(self, words=self.words | more) if more else self

    def mark(self, text: str, segment: Segment) -> Segment:
        """Return a sentence whose tokens are marked where they are words of the dictionary, or parts of one."""
        if not self.words:
            return segment
        tokens = segment.tokens
        marked: set[int] = set()
        for start in range(len(tokens)):
            for end in range(start + 1, min(start + MAX_TOKENS, len(tokens)) + 1):
                if text[tokens[start].start : tokens[end - 1].end] in self:
                    marked.update(range(start, end))
        return segment._replace(
            tokens=tuple(token._replace(is_in_dictionary=k in marked) for k, token in enumerate(tokens))
        )


NO_WORDS = Dictionary()


def default_path() -> Path:
    """Return where a user's own dictionary stands: words.txt in the folder of settings."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "btr" / "words.txt"


def read_personal_dictionary(path: PathLike | None) -> Dictionary:
    """Read a dictionary; without a path, the user's own, which need not be there yet."""
    if path is not None:
        return read_dictionary(path)
    own = default_path()
    return read_dictionary(own) if own.is_file() else Dictionary(path=own)


def read_dictionary(path: PathLike) -> Dictionary:
    """Read a file of words, one per line; # at the start of a line or after white space begins a comment."""
    words = set()
    for number, line in enumerate(read_lines(path), 1):
        if word := word_of(line):
            try:
                words.add(check_word(word))
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from None
    return Dictionary(frozenset(words), Path(path))


def word_of(line: str) -> str:
    """Return the word of a line; empty if there is none."""
    return COMMENT_AND_REST.sub("", line).strip()


def check_word(word: str) -> str:
    """Return a word without the spaces around it; refuse what is not one word."""
    if not isinstance(word, str):
        raise InputError(f"a word of a dictionary must be a text, not {type(word).__name__}.")
    if len(word.split()) != 1 or word.strip().startswith(COMMENT) or not word.strip().isprintable():
        raise InputError(f"{word!r} is no word of a dictionary; write one word without spaces and without # before it.")
    return word.strip()


def add_word(path: PathLike, word: str) -> bool:
    """Add a word to a file of words, which need not be there yet; return whether it is new."""
    word = check_word(word)
    with lines_of(path) as lines:
        if word in map(word_of, lines):
            return False
        write_lines(path, [*lines, word])
    return True


def remove_word(path: PathLike, word: str) -> bool:
    """Remove a word from a file of words; return whether it was there. Comments stay."""
    word = check_word(word)
    with lines_of(path) as lines:
        rest = [line for line in lines if word_of(line) != word]
        if len(rest) == len(lines):
            return False
        write_lines(path, rest)
    return True


@contextmanager
def lines_of(path: PathLike) -> Iterator[Sequence[str]]:
    """Read a file of words while no other process changes it; no lines if it is not there."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock")):
            yield list(read_lines(target)) if target.exists() else []
    except OSError as error:
        raise InputError(f"{path}: cannot be changed ({error.strerror or error}).") from None
