"""Autoregressive rerankers: a T5 that writes left to right (as base models do) or right to left, teacher-forced."""

from collections.abc import Sequence

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scores
from btr.models.batches import make_batches
from btr.models.config import start_token
from btr.models.decoder import EncodedSource, decode, encode_groups
from btr.rerankers.pretrained import MAX_TOKENS, PretrainedReranker, encode_source

CHUNK = 256  # tokens whose logits are in memory at once


class LeftToRight(PretrainedReranker):
    """The mean log-probability of each token given those before it: the base model's score, without rounding."""

    kind = loads_as = "l2r"
    title = "L2R"
    is_mean = True

    def encode_target(self, candidate: str) -> list[int]:
        """Return the candidate's tokens in the order in which they are written, EOS last."""
        tokens: list[int] = self.tokenizer(candidate)["input_ids"]
        return tokens

    def text_order(self, values: list[float]) -> list[float]:
        """Return the values of a target's tokens as they stand in the text."""
        return values

    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        every = self._log_probs_by_text(rows)
        return [
            tuple(float(by_text[text].mean()) if text in by_text else None for text in row.texts)
            for row, by_text in zip(rows, every)
        ]

    def token_log_probs(self, rows: Sequence[Candidates]) -> list[list[list[float]]]:
        """Return the log-probability of each token of each candidate, in order; none of one that is too long."""
        return [
            [self.text_order(by_text[text].tolist()) if text in by_text else [] for text in row.texts]
            for row, by_text in zip(rows, self._log_probs_by_text(rows))
        ]

    @torch.inference_mode()
    def _log_probs_by_text(self, rows: Sequence[Candidates]) -> list[dict[str, Tensor]]:
        """Return for each source its candidates' token log-probabilities, without those that are too long."""
        sources = [encode_source(self.tokenizer, row.source) for row in rows]
        every: list[dict[str, Tensor]] = [{} for _ in rows]
        readable = [tokens or [0] for tokens in sources]
        for group, encoded in encode_groups(self.model, readable, self.budget, same_length=self.same_length):
            targets = {(k, text): self.encode_target(text) for k in group for text in dict.fromkeys(rows[k].texts)}
            keys = [key for key, tokens in targets.items() if sources[key[0]] and len(tokens) <= MAX_TOKENS]
            for batch in make_batches([len(targets[key]) for key in keys], self.budget, same_length=self.same_length):
                chosen = sorted((keys[k] for k in batch), key=lambda key: key[0])
                memories = [encoded[k - group.start] for k, _ in chosen]
                log_probs = self._log_probs([targets[key] for key in chosen], memories)
                for (k, text), values in zip(chosen, log_probs):
                    every[k][text] = values
        return every

    def _log_probs(self, targets: Sequence[Sequence[int]], sources: Sequence[EncodedSource]) -> Sequence[Tensor]:
        start = start_token(self.model.config)
        states = decode(self.model, [[start, *target[:-1]] for target in targets], sources, None)
        flat = torch.cat([row[: len(target)] for row, target in zip(states, targets)])
        tokens = torch.tensor([token for target in targets for token in target], device=flat.device)
        head = self.model.get_output_embeddings()
        log_probs = torch.cat(
            [
                head(part).float().log_softmax(-1).gather(1, expected[:, None])[:, 0]
                for part, expected in zip(flat.split(CHUNK), tokens.split(CHUNK))
            ]
        )
        return log_probs.split([len(target) for target in targets])


class RightToLeft(LeftToRight):
    """The same for a model that was trained on reversed targets: the last token first, then EOS."""

    kind = loads_as = "r2l"
    title = "R2L"

    def encode_target(self, candidate: str) -> list[int]:
        *tokens, end = super().encode_target(candidate)
        return [*reversed(tokens), end]

    def text_order(self, values: list[float]) -> list[float]:
        return [*reversed(values[:-1]), *values[-1:]]
