"""Synthetic pairs: errors put into clean English text, for users who have no licensed corpus to start from.

An error is of one of nine kinds, drawn by weight (`error_kinds.py`). Wrongly chosen words and rewritten phrases, about
a third of what learners need corrected, are beyond such rules: with annotated corpora, a tenth kind writes what
learners wrote (`learners.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.metrics.errant import load_annotator
from btr.training.error_kinds import (
    KINDS,
    LEARNERS,
    LEARNERS_WEIGHT,
    WEIGHTS,
    Change,
    Kind,
    Word,
    Words,
    check_error_weights,
    learners_kind,
)
from btr.training.learners import Learners

LENGTHS = range(3, 61)  # tokens of a usable sentence
ENDS = ".", "!", "?", '"', "”"


class Corrupter:
    """Puts errors into sentences. What a sentence becomes depends on the seed and its text only.

    `errors` is the mean number in a sentence and `clean` the share of sentences that get none: the defaults are W&I
    train's. As there, the number in the others falls off geometrically; it is at most a third of the words. `weights`
    change those of the kinds that they name, and 0 switches a kind off. `learners` are M2 files, whose edits are one
    kind more.
    """

    def __init__(
        self,
        seed: int = 1,
        errors: float = 1.8,
        clean: float = 0.34,
        weights: Mapping[str, float] | None = None,
        learners: Sequence[PathLike] = (),
    ) -> None:
        self.kinds = {**KINDS, **({LEARNERS: learners_kind(Learners(learners))} if learners else {})}
        self.weights = WEIGHTS | ({LEARNERS: LEARNERS_WEIGHT} if learners else {}) | dict(weights or {})
        check_error_weights(self.weights, self.kinds)
        if not 0 <= clean <= 1 or errors < 1 - clean:
            raise InputError(f"{errors:g} errors per sentence and a share of {clean:g} clean cannot go together.")
        self.seed, self.errors, self.clean = seed, errors, clean

    def corrupt(self, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Stream (source with errors, clean target) for tokenised sentences, such as those of `sentences`."""
        from spacy.tokens import Doc

        nlp = load_annotator().nlp
        docs = (Doc(nlp.vocab, words=text.split()) for text in texts)
        for doc in nlp.pipe(docs, disable=["parser", "attribute_ruler", "lemmatizer"]):
            words = [Word(token.text, token.tag_) for token in doc]
            source = [word.text for word in words]
            for change in reversed(self.changes(words)):
                source[change.start : change.end] = change.words
            yield " ".join(source), " ".join(word.text for word in words)

    def changes(self, words: Words) -> list[Change]:
        """Return the errors for a sentence, at least a word apart, so that none undoes or garbles another."""
        random = Random(f"{self.seed} {' '.join(word.text for word in words)}")
        kinds = {kind: weight for kind, weight in self.weights.items() if weight}
        free = set(range(len(words)))
        changes: list[Change] = []
        count = self._draw_number(len(words), random)
        while kinds and len(changes) < count:
            kind = random.choices(list(kinds), list(kinds.values()))[0]
            if change := _draw_change(self.kinds[kind], words, free, random):
                changes.append(change)
                free.difference_update(range(change.start - 1, change.end + 1))
            else:
                del kinds[kind]
        return sorted(changes)

    def _draw_number(self, length: int, random: Random) -> int:
        if random.random() < self.clean:
            return 0
        count = 1
        while random.random() >= (1 - self.clean) / self.errors:
            count += 1
        return min(count, max(1, length // 3))


def sentences(paragraphs: Iterable[str]) -> Iterator[str]:
    """Split raw text into sentences of usable length, with spaces between tokens; fragments and titles are left out."""
    nlp = load_annotator().nlp
    docs = (nlp.tokenizer(" ".join(paragraph.split())) for paragraph in paragraphs)
    for doc in nlp.get_pipe("senter").pipe(docs):
        for sentence in doc.sents:
            text = " ".join(token.text for token in sentence)
            whole = text.endswith(ENDS) and text.lstrip('"“ ')[:1].isupper() and text.count('"') % 2 == 0
            if whole and len(sentence) in LENGTHS:
                yield text


def _draw_change(kind: Kind, words: Words, free: set[int], random: Random) -> Change | None:
    """Return a change of the kind at the first free position, in random order, that has one."""
    changes = (kind(words, at, random) for at in random.sample(sorted(free), len(free)))
    return next((change for change in changes if change and free.issuperset(range(change.start, change.end))), None)
