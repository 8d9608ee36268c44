"""An engine and a reranker whose answers are known: they stand for models."""

from dataclasses import replace

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine, Hypothesis
from btr.corpus.scores import Scored
from btr.rerankers.base import Reranker

WRONG = {"has": "have", "dog": "dogs", "the": "", "go": "went away", "very": "very ,", "don't": "does n't"}


class Scripted(Engine):
    """Reads characters; writes the source with each word of a script replaced, and then the source itself."""

    signature = "scripted"
    ends = (0,)

    def __init__(self, script=None):
        self.script = WRONG if script is None else script

    def encode(self, texts):
        return [[ord(char) if ord(char) < 0x2100 else 1 for char in text] + [0] for text in texts]

    def decode(self, tokens):
        return ["".join(chr(token) for token in own if token > 1) for own in tokens]

    def generate(self, sources, settings: DecodingSettings):
        found = []
        for (text,) in ([text] for text in self.decode(sources)):
            better = " ".join(" ".join(self.script.get(word, word) for word in text.split()).split())
            found.append([Hypothesis(*self.encode([own]), -1.0 - k) for k, own in enumerate((better, text))])
        return found

    def log_probs(self, sources, targets):
        return [-3.0] * len(targets)


class Opposed(Reranker):
    """Likes the source better than anything."""

    kind = signature = "opposed"

    def score_many(self, rows):
        return [
            Scored(row.source, row.texts, tuple(0.0 if text == row.source else -4.0 for text in row.texts), ())
            for row in rows
        ]


class Sure(Opposed):
    """So many times as sure: the f of others than the source is rounded to 0."""

    def __init__(self, times):
        self.times = times

    def score_many(self, rows):
        scored = super().score_many(rows)
        return [replace(own, means=tuple(self.times * mean for mean in own.means)) for own in scored]
