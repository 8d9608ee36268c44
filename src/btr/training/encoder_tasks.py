"""What encoder-only rerankers are taught: RoBERTa to predict masked tokens of a target, BERT to tell good from bad."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from btr.rerankers.encoders import TARGET, encoder_inputs, position_limit
from btr.training import objectives
from btr.training.masking import Tokens, draw_places, mask
from btr.training.recipe import Recipe
from btr.training.tasks import Batch, Example, Task


class RobertaTask(Task):
    """A masked language model reads source and target together, and learns the target's masked tokens."""

    def __init__(self, recipe: Recipe, model: Any, tokenizer: Any) -> None:
        super().__init__(recipe, model, tokenizer)
        self.mask = int(tokenizer.mask_token_id)
        special = set(tokenizer.all_special_ids)
        self.others = [token for token in range(len(tokenizer)) if token not in special]
        self.head: Any = getattr(model, "lm_head", None) or model.cls

    def encode(
        self, source: str, targets: Sequence[str], candidates: Sequence[str] = (), log_probs: Sequence[float] = ()
    ) -> Example | None:
        limit = min(position_limit(self.model.config), self.recipe.data.max_source + self.recipe.data.max_target)
        rows, sides = [], []
        for target in targets:
            pair = self.tokenizer(source, target)
            places = [k for k, side in enumerate(pair.sequence_ids()) if side == TARGET]
            if len(pair["input_ids"]) <= limit and places and pair["input_ids"] not in rows:
                rows.append(pair["input_ids"])
                sides.append(places)
            elif not rows:
                return None
        most = 1 + self.recipe.objective.negatives
        return {"source": [], "targets": rows[:most], "places": sides[:most]}

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        rows: list[Tokens] = []
        asked: list[tuple[int, int]] = []
        wanted: list[int] = []
        negative: list[bool] = []
        for example, generator in zip(examples, generators):
            for k, (row, own) in enumerate(zip(example["targets"], example["places"])):
                chosen = [own[place] for place in draw_places(len(own), self.recipe.objective.mask, generator)]
                asked += [(len(rows), place) for place in chosen]
                wanted += [row[place] for place in chosen]
                negative += [k > 0] * len(chosen)
                rows.append(mask(row, chosen, generator, self.mask, self.others))
        inputs = encoder_inputs(rows, self.tokenizer, self.device)
        extra = {"asked": torch.tensor(asked, device=self.device)}
        counts = {"likelihood": float(len(wanted))}
        return Batch(
            inputs, torch.tensor(wanted, device=self.device), torch.tensor(negative, device=self.device), counts, extra
        )

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        hidden = self.model.base_model(**batch.inputs).last_hidden_state
        rows, places = batch.extra["asked"].T
        logits = self.head(hidden[rows, places]).float()
        log_probs = logits.log_softmax(-1).gather(1, batch.wanted[:, None])[:, 0]
        weight = self.recipe.objective.negative_weight
        negative = weight * objectives.unlikelihood(log_probs)
        return {"likelihood": torch.where(batch.negative, negative, objectives.likelihood(log_probs)).sum()}


class BertTask(Task):
    """A classifier learns that targets are grammatical (1), and sources that were corrected are not (0)."""

    def encode(
        self, source: str, targets: Sequence[str], candidates: Sequence[str] = (), log_probs: Sequence[float] = ()
    ) -> Example | None:
        texts = [targets[0]] if source == targets[0] else [targets[0], source]
        rows = [self.tokenizer(text)["input_ids"] for text in texts]
        if max(map(len, rows)) > min(position_limit(self.model.config), self.recipe.data.max_source):
            return None
        return {"source": [], "targets": rows}

    def draw(self, examples: Sequence[Example], generators: Sequence[np.random.Generator]) -> Batch:
        rows = [row for example in examples for row in example["targets"]]
        labels = [int(k == 0) for example in examples for k in range(len(example["targets"]))]
        wanted = torch.tensor(labels, device=self.device)
        inputs = encoder_inputs(rows, self.tokenizer, self.device, pairs=False)
        return Batch(inputs, wanted, wanted == 0, {"likelihood": len(labels)})

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        log_probs = self.model(**batch.inputs).logits.float().log_softmax(-1)
        return {"likelihood": objectives.likelihood(log_probs.gather(1, batch.wanted[:, None])).sum()}
