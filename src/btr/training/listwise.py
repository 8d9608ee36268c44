"""The listwise objective: a BTR learns to score candidates as `contrast` does, so that f is shared as it should be.

Each token in which candidates differ, or near which, is masked by itself; their sums are scores as those of
`rerankers/contrast.py`, and the loss is the cross-entropy of f over the candidates. Either gold should have all of f,
or the base model's own candidates share it by their use. With a gap, f is that of the sum with the base model's
log-probabilities, so that the BTR learns what the base model does not know.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from btr.models.training_decoder import make_decoder_batch
from btr.rerankers.base import softmax
from btr.rerankers.differences import NEAR, telling_places
from btr.training import objectives
from btr.training.masking import Tokens
from btr.training.tasks import Batch, BTRTask, Example

MOST = 64  # rows of an example; where candidates differ in more tokens, it is left out


class ListwiseTask(BTRTask):
    """A T5 whose decoder sees both sides learns which of several candidates is the best."""

    def encode(
        self, source: str, targets: Sequence[str], candidates: Sequence[str] = (), log_probs: Sequence[float] = ()
    ) -> Example | None:
        """Gold and negatives; or, if candidates are to share f, as many of them. None if all are of the same use."""
        data, objective = self.recipe.data, self.recipe.objective
        ids: Tokens = self.tokenizer(source)["input_ids"]
        gold: Tokens = self.tokenizer(targets[0])["input_ids"]
        texts = candidates[: objective.negatives] if objective.softness else targets[: 1 + objective.negatives]
        read = [self.tokenizer(text)["input_ids"] for text in texts]
        kept = [k for k, row in enumerate(read) if row not in read[:k]]
        if objective.gap is not None:
            kept = [k for k in kept if k < len(log_probs) and log_probs[k] >= log_probs[0] - objective.gap]
        rows = [read[k] for k in kept]
        if len(rows) < 2:  # nothing to compare
            return None
        if len(ids) > data.max_source or max(map(len, [gold, *rows])) > data.max_target:
            return None
        places, shares = telling_places(rows, NEAR), self.share(ids, gold, rows)
        if len(set(shares)) == 1 or sum(map(len, places)) > MOST:
            return None
        known = [0.0 if objective.gap is None else log_probs[k] for k in kept]
        return {"source": ids, "targets": rows, "places": places, "shares": shares, "log_probs": known}

    def share(self, source: Tokens, gold: Tokens, targets: Sequence[Tokens]) -> list[float]:
        """How much of f each target should have: gold all of it, or each according to its use."""
        if softness := self.recipe.objective.softness:
            return softmax([objectives.use(source, gold, target) / softness for target in targets])
        return [1.0, *[0.0] * (len(targets) - 1)]

    def size(self, example: Example) -> int:
        rows = sum(len(own) * len(target) for own, target in zip(example["places"], example["targets"]))
        return len(example["source"]) + rows

    def shape(self, example: Example) -> tuple[int, int, int]:
        return sum(map(len, example["places"])), *super().shape(example)[1:]

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        """Nothing is drawn: every place is masked in a row of its own."""
        rows: list[list[Tokens]] = []
        asked: list[list[Sequence[int]]] = []
        wanted: list[int] = []
        candidates: list[int] = []  # of each row
        sources: list[int] = []  # of each candidate
        for number, example in enumerate(examples):
            rows.append([])
            asked.append([])
            for target, places in zip(example["targets"], example["places"]):
                for place in places:
                    rows[-1].append([self.start, *target[:place], self.mask, *target[place + 1 :]])
                    asked[-1].append([place])  # the output before a token predicts it
                wanted += [target[place] for place in places]
                candidates += [len(sources)] * len(places)
                sources.append(number)
        grid = make_decoder_batch(
            [list(example["source"]) for example in examples], rows, asked, self.padding, self.device
        )
        extra = {
            "rows": torch.tensor(candidates, device=self.device),
            "sources": torch.tensor(sources, device=self.device),
            **{
                name: torch.tensor([value for example in examples for value in example[name]], device=self.device)
                for name in ("shares", "log_probs")
            },
        }
        tokens = torch.tensor(wanted, device=self.device)
        return Batch(grid, tokens, torch.zeros_like(tokens, dtype=torch.bool), {"listwise": len(examples)}, extra)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        own = (batch.extra[name] for name in ("rows", "sources", "shares", "log_probs"))
        return {"listwise": objectives.listwise(self.log_probs(batch), *own).sum()}
