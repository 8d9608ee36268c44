"""Autoregressive rerankers: a T5 that writes left to right (as base models do) or right to left, teacher-forced."""

from collections.abc import Sequence

import torch

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored
from btr.models.decoder import Memory, decode, encode
from btr.models.load import Loaded
from btr.rerankers.base import Reranker
from btr.rerankers.pll import BUDGET, MAX_TOKENS, pack

CHUNK = 256  # tokens whose logits are in memory at once


class LeftToRight(Reranker):
    """The mean log-probability of each token given those before it: the base model's own score, without rounding."""

    kind = "l2r"

    def __init__(self, loaded: Loaded, budget: int = BUDGET) -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.signature = loaded.signature
        self.budget = budget

    def target(self, candidate: str) -> list[int]:
        """The candidate's tokens in the order in which they are written, EOS last."""
        tokens: list[int] = self.tokenizer(candidate)["input_ids"]
        return tokens

    @torch.inference_mode()
    def score_many(self, rows: Sequence[Candidates]) -> list[Scored]:
        sources = [self.tokenizer(row.source)["input_ids"] for row in rows]
        memories: dict[int, Memory] = {}
        for batch in pack(list(map(len, sources)), self.budget):
            memories.update(zip(batch, encode(self.model, [sources[number] for number in batch])))
        targets = {
            (number, text): self.target(text)
            for number, row in enumerate(rows)
            for text in dict.fromkeys(row.candidates)
        }
        keys = [key for key, tokens in targets.items() if len(tokens) <= MAX_TOKENS]
        means: dict[tuple[int, str], float] = {}
        for batch in pack([len(targets[key]) for key in keys], self.budget):
            chosen = sorted((keys[k] for k in batch), key=lambda key: key[0])
            scores = self._means([targets[key] for key in chosen], [memories[number] for number, _ in chosen])
            means.update(zip(chosen, scores))
        return [
            Scored(
                row.source,
                row.candidates,
                tuple(means.get((number, text)) for text in row.candidates),
                tuple(len(targets[number, text]) for text in row.candidates),
            )
            for number, row in enumerate(rows)
        ]

    def _means(self, targets: Sequence[Sequence[int]], memories: Sequence[Memory]) -> list[float]:
        start = self.model.config.decoder_start_token_id
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
        return [float(part.mean()) for part in log_probs.split([len(target) for target in targets])]


class RightToLeft(LeftToRight):
    """The same for a model that was trained on reversed targets: last token first, then EOS."""

    kind = "r2l"

    def target(self, candidate: str) -> list[int]:
        *tokens, end = super().target(candidate)
        return [*reversed(tokens), end]
