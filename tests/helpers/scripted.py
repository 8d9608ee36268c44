"""An engine and rerankers whose answers are known: they stand in for models."""

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine, Hypothesis
from btr.rerankers.base import Reranker

CORRECTIONS = {"has": "have", "dog": "dogs", "the": "", "go": "went away", "very": "very ,", "don't": "does n't"}


class Scripted(Engine):
    """Encodes characters. Writes two candidates: the source with the words of a script replaced, and the source."""

    signature = "scripted"
    ends = (0,)

    def __init__(self, script=None):
        self.script = CORRECTIONS if script is None else script

    def encode(self, texts):
        return [[ord(char) if ord(char) < 0x2100 else 1 for char in text] + [0] for text in texts]

    def decode(self, tokens):
        return ["".join(chr(token) for token in sequence if token > 1) for sequence in tokens]

    def generate(self, sources, settings: DecodingSettings):
        return [
            [Hypothesis(*self.encode([candidate]), -1.0 - k) for k, candidate in enumerate((self.correct(text), text))]
            for text in self.decode(sources)
        ]

    def correct(self, text):
        return " ".join(" ".join(self.script.get(word, word) for word in text.split()).split())

    def log_probs(self, sources, targets):
        return [-3.0] * len(targets)


class Opposed(Reranker):
    """Prefers the source to every other candidate, by a difference of scores."""

    kind = signature = title = "opposed"
    needs_model = False

    def __init__(self, difference=4.0):
        self.difference = difference

    def scores(self, rows):
        return [tuple(0.0 if text == row.source else -self.difference for text in row.texts) for row in rows]
