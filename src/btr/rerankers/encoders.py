"""Encoder-only rerankers: RoBERTa (any masked language model), and BERT (a classifier)."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scores
from btr.errors import InputError
from btr.models.batches import make_batches
from btr.models.decoder import pad
from btr.models.loaded import LoadedModel
from btr.rerankers.pll import EncodedCandidate, MaskedReranker, Row, RowPlan
from btr.rerankers.pretrained import MAX_TOKENS, PretrainedReranker

GROUP = 32  # sources whose rows are planned at once
SOURCE, TARGET = 0, 1  # the first and the second of two texts
GRAMMATICAL = 1  # the class of grammatical sentences


class RoBERTa(MaskedReranker):
    """PLL / |y| of a masked language model that reads source and candidate together, as its tokenizer joins two texts.

    Only the candidate's tokens are masked; what separates the two texts is not.
    """

    kind = loads_as = "roberta"
    title = "RoBERTa"

    def __init__(self, loaded: LoadedModel, budget: int | None = None, model_name: str | None = None) -> None:
        super().__init__(loaded, budget, model_name)
        if self.tokenizer.mask_token_id is None:
            raise InputError(f"{loaded.signature}: its tokenizer has no mask, so it is no masked language model.")
        self.mask = self.tokenizer.mask_token_id
        self.vocabulary_size = self.model.config.vocab_size
        self.limit = position_limit(self.model.config)
        # The part of the model that turns states into logits; where it is not known, the whole model gives them.
        self.head: Any = getattr(self.model, "lm_head", None) or getattr(self.model, "cls", None)

    def encode_candidate(self, source: str, candidate: str) -> EncodedCandidate | None:
        pair = self.tokenizer(source, candidate)
        ids: list[int] = pair["input_ids"]
        if len(ids) > self.limit:
            return None
        positions = tuple((k, k) for k, side in enumerate(pair.sequence_ids()) if side == TARGET)
        return EncodedCandidate(tuple(ids), positions) if positions else None

    def plans(self, sources: Sequence[str]) -> Iterator[tuple[range, RowPlan]]:
        for start in range(0, len(sources), GROUP):
            group = range(start, min(start + GROUP, len(sources)))
            yield group, RowPlan(self.mask, sources[start : group.stop])

    def logits(self, rows: Sequence[Row], sources: Sequence[Any]) -> Tensor:
        inputs = encoder_inputs([row.ids for row in rows], self.tokenizer, self.model.device)
        every = torch.arange(len(rows), device=self.model.device)
        positions = torch.tensor([row.position for row in rows], device=self.model.device)
        if self.head is None:
            return self.model(**inputs).logits[every, positions]
        return self.head(self.model.base_model(**inputs).last_hidden_state[every, positions])


class BERT(PretrainedReranker):
    """A classifier that reads the candidate only: its score is the log-probability that it is grammatical."""

    kind = loads_as = "bert"
    title = "BERT"

    def __init__(self, loaded: LoadedModel, budget: int | None = None, model_name: str | None = None) -> None:
        super().__init__(loaded, budget, model_name)
        self.limit = position_limit(self.model.config)
        if self.model.config.num_labels != 2:
            raise InputError(
                f"{loaded.signature}: has {self.model.config.num_labels} classes; a BERT reranker has two, "
                "0 for ungrammatical and 1 for grammatical."
            )

    @torch.inference_mode()
    def scores(self, rows: Sequence[Candidates]) -> list[Scores]:
        texts = list(dict.fromkeys(text for row in rows for text in row.texts))
        ids = {text: self.tokenizer(text)["input_ids"] for text in texts}
        texts = [text for text in texts if len(ids[text]) <= self.limit]
        scores: dict[str, float] = {}
        for batch in make_batches([len(ids[text]) for text in texts], self.budget, same_length=self.same_length):
            chosen = [texts[k] for k in batch]
            inputs = encoder_inputs([ids[text] for text in chosen], self.tokenizer, self.model.device, pairs=False)
            logits = self.model(**inputs).logits
            scores.update(zip(chosen, logits.float().log_softmax(-1)[:, GRAMMATICAL].tolist()))
        return [tuple(map(scores.get, row.texts)) for row in rows]


def position_limit(config: Any) -> int:
    """Return how many tokens an encoder can read; RoBERTa counts its positions from the padding's number."""
    limit: int = getattr(config, "max_position_embeddings", MAX_TOKENS)
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        limit -= config.pad_token_id + 1
    return min(limit, MAX_TOKENS)


def encoder_inputs(
    rows: Sequence[Sequence[int]], tokenizer: Any, device: torch.device, pairs: bool = True
) -> dict[str, Tensor]:
    """Return rows as an encoder reads them."""
    ids = pad(rows, tokenizer.pad_token_id or 0, device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    attended = torch.arange(ids.shape[1], device=device) < lengths[:, None]
    inputs = {"input_ids": ids, "attention_mask": attended.long()}
    if pairs and "token_type_ids" in tokenizer.model_input_names:  # 0 up to the first separator, 1 after it
        separators = (ids == tokenizer.sep_token_id).long()
        inputs["token_type_ids"] = (separators.cumsum(1) - separators > 0).long() * attended
    return inputs
