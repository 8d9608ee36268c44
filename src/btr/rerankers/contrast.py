"""A BTR asked only where candidates differ: all these tokens of a candidate are masked at once, one row a candidate.

The paper masks every token of every candidate in turn, but most tokens are common to all candidates. What tells them
apart is how probable the others are: the score is the sum of their log-probabilities, so that f is a softmax over what
each candidate puts where they differ. It takes a small part of the time, and is what the `listwise` objective trains.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

import torch

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.models.batches import pack
from btr.models.decoder import Memory, decode, encode_groups
from btr.models.load import Loaded, start_token
from btr.rerankers.base import Reranker
from btr.rerankers.btr import mask_token
from btr.rerankers.pll import BUDGET, MAX_TOKENS, read_source

Tokens = Sequence[int]


class Contrast(Reranker):
    """The sum of the log-probabilities of the tokens in which a candidate differs from any other."""

    kind = "contrast"

    def __init__(self, loaded: Loaded, budget: int = BUDGET) -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.signature = loaded.signature.replace("btr|", "contrast|", 1)
        self.budget = budget
        self.mask = mask_token(self.tokenizer, loaded.signature)

    @torch.inference_mode()
    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        sources = [read_source(self.tokenizer, row.source) for row in rows]
        scored: list[Scored] = []
        for group, memories in encode_groups(self.model, [tokens or [0] for tokens in sources], self.budget):
            read = [self.read(rows[k]) if sources[k] else {} for k in group]
            keys = [(k, text) for k, own in enumerate(read) for text in own]
            sums: dict[tuple[int, str], float] = {}
            for batch in pack([len(read[k][text][0]) for k, text in keys], self.budget):
                chosen = sorted((keys[k] for k in batch), key=lambda key: key[0])  # those of a source together
                asked = [read[k][text] for k, text in chosen]
                sums.update(zip(chosen, self.sums(asked, [memories[k] for k, _ in chosen])))
            for k, number in enumerate(group):
                texts = rows[number].candidates
                lengths = tuple(len(read[k][text][1]) if text in read[k] else 0 for text in texts)
                scored.append(Scored(rows[number].source, texts, tuple(sums.get((k, text)) for text in texts), lengths))
        return scored

    def read(self, row: Candidates) -> dict[str, tuple[Tokens, list[int]]]:
        """The tokens of each unique candidate that is not too long, and in which of them it differs."""
        texts = list(dict.fromkeys(row.candidates))
        tokens: list[list[int]] = [self.tokenizer(text)["input_ids"] for text in texts]
        read = zip(texts, tokens, differing_places(tokens))
        return {text: (own, places) for text, own, places in read if len(own) <= MAX_TOKENS}

    def sums(self, asked: Sequence[tuple[Tokens, list[int]]], memories: Sequence[Memory]) -> list[float]:
        """The sum over the masked tokens of each row."""
        start = start_token(self.model.config)
        hidden = [[start, *hide(tokens, places, self.mask)] for tokens, places in asked]
        states = decode(self.model, hidden, memories, None)
        flat = torch.cat([row[places] for row, (_, places) in zip(states, asked)])  # what is before a token predicts it
        wanted = torch.tensor([tokens[place] for tokens, places in asked for place in places], device=flat.device)
        logits = self.model.get_output_embeddings()(flat).float()
        log_probs = logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(-1)
        return [float(part.sum()) for part in log_probs.split([len(places) for _, places in asked])]


def hide(tokens: Tokens, places: Sequence[int], mask: int) -> list[int]:
    """The tokens with some of them masked."""
    hidden = set(places)
    return [mask if place in hidden else token for place, token in enumerate(tokens)]


def differing_places(candidates: Sequence[Tokens]) -> list[list[int]]:
    """For each candidate, the tokens in which it differs from any of the others."""
    places: list[set[int]] = [set() for _ in candidates]
    for k, candidate in enumerate(candidates):
        for n in range(k + 1, len(candidates)):
            own, its = differing(candidate, candidates[n])
            places[k].update(own)
            places[n].update(its)
    return [sorted(own) for own in places]


def differing(one: Tokens, other: Tokens) -> tuple[set[int], set[int]]:
    """The tokens of two candidates that the other does not have; where one only lacks some, those beside the gap."""
    places: tuple[set[int], set[int]] = set(), set()
    for tag, start, end, begin, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for own, low, high, length in ((places[0], start, end, len(one)), (places[1], begin, stop, len(other))):
            own.update(range(low, high) if low < high else (k for k in (low - 1, low) if 0 <= k < length))
    return places
