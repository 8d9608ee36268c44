"""Autoregressive rerankers: a T5 that writes left to right (as base models do) or right to left, teacher-forced."""

from collections.abc import Sequence

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.models.batches import make_batches
from btr.models.decoder import EncodedSource, decode, encode_groups
from btr.models.load import LoadedModel, start_token
from btr.rerankers.base import Reranker
from btr.rerankers.pll import BUDGET, MAX_TOKENS, read_source

CHUNK = 256  # tokens whose logits are in memory at once


class LeftToRight(Reranker):
    """The mean log-probability of each token given those before it: the base model's own score, without rounding."""

    kind = "l2r"

    def __init__(self, loaded: LoadedModel, budget: int = BUDGET) -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.signature = loaded.signature
        self.budget, self.by_length = budget, loaded.int8

    def target(self, candidate: str) -> list[int]:
        """The candidate's tokens in the order in which they are written, EOS last."""
        tokens: list[int] = self.tokenizer(candidate)["input_ids"]
        return tokens

    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        scored: list[Scored] = []
        for row, (lengths, values) in zip(rows, self._values(rows)):
            means = {text: float(own.mean()) for text, own in values.items()}
            texts = row.texts
            scored.append(Scored(row.source, texts, tuple(map(means.get, texts)), tuple(lengths[t] for t in texts)))
        return scored

    def token_log_probs(self, rows: Sequence[Candidates]) -> list[list[list[float]]]:
        """The log-probability of each token of each candidate, in their order; none of one that is too long."""
        return [
            [self.in_order(values[text].tolist()) if text in values else [] for text in row.texts]
            for row, (_, values) in zip(rows, self._values(rows))
        ]

    def in_order(self, values: list[float]) -> list[float]:
        """What was found for a target's tokens, as they stand in the text."""
        return values

    @torch.inference_mode()
    def _values(self, rows: Sequence[Candidates]) -> list[tuple[dict[str, int], dict[str, Tensor]]]:
        """For each source: its candidates' lengths, and the log-probabilities of their tokens unless it is too long."""
        sources = [read_source(self.tokenizer, row.source) for row in rows]
        found: list[tuple[dict[str, int], dict[str, Tensor]]] = []
        read = [tokens or [0] for tokens in sources]
        for group, memories in encode_groups(self.model, read, self.budget, same_length=self.by_length):
            targets = {(k, text): self.target(text) for k in group for text in dict.fromkeys(rows[k].texts)}
            keys = [key for key, tokens in targets.items() if sources[key[0]] and len(tokens) <= MAX_TOKENS]
            found += [({text: len(targets[k, text]) for text in rows[k].texts}, {}) for k in group]
            for batch in make_batches([len(targets[key]) for key in keys], self.budget, same_length=self.by_length):
                chosen = sorted((keys[k] for k in batch), key=lambda key: key[0])
                own = [memories[k - group.start] for k, _ in chosen]
                log_probs = self._log_probs([targets[key] for key in chosen], own)
                for (k, text), values in zip(chosen, log_probs):
                    found[k][1][text] = values
        return found

    def _log_probs(self, targets: Sequence[Sequence[int]], memories: Sequence[EncodedSource]) -> Sequence[Tensor]:
        start = start_token(self.model.config)
        states = decode(self.model, [[start, *target[:-1]] for target in targets], memories, None)
        flat = torch.cat([row[: len(target)] for row, target in zip(states, targets)])
        tokens = torch.tensor([token for target in targets for token in target], device=flat.device)
        head = self.model.get_output_embeddings()
        log_probs = torch.cat(
            [
                head(part).float().log_softmax(-1).gather(1, wanted[:, None])[:, 0]
                for part, wanted in zip(flat.split(CHUNK), tokens.split(CHUNK))
            ]
        )
        return log_probs.split([len(target) for target in targets])


class RightToLeft(LeftToRight):
    """The same for a model that was trained on reversed targets: last token first, then EOS."""

    kind = "r2l"

    def target(self, candidate: str) -> list[int]:
        *tokens, end = super().target(candidate)
        return [*reversed(tokens), end]

    def in_order(self, values: list[float]) -> list[float]:
        return [*reversed(values[:-1]), *values[-1:]]
