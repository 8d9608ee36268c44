"""The engine that runs a model with `transformers`, on a CPU or GPU: any seq2seq model, every method."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from btr.candidates.decoding import DecodingSettings
from btr.candidates.diverse import diverse_beam_search
from btr.candidates.engine import Engine, Hypothesis, Tokens
from btr.models.batches import make_batches
from btr.models.decoder import pad
from btr.models.load import LoadedModel, start_token

LOGITS = 1 << 26  # in memory at once
SPECIAL = "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id"


class TransformersEngine(Engine):
    """`generate` of `transformers`, and diverse beam search, which it no longer has."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.model: Any = loaded.model
        self.tokenizer = loaded.tokenizer
        self.signature = loaded.signature
        self.limit = getattr(self.model.config, "max_position_embeddings", None)
        self.special = {name: getattr(self.model.generation_config, name, None) for name in SPECIAL}
        self.special["decoder_start_token_id"] = start_token(self.model.config)
        # Only our settings count, not what a model's folder says of beams and penalties.
        self.model.generation_config = GenerationConfig(**self.special)
        ends = self.special["eos_token_id"]
        self.ends = [ends] if isinstance(ends, int) else list(ends or ())

    @torch.inference_mode()
    def generate(self, sources: Sequence[Tokens], settings: DecodingSettings) -> list[list[Hypothesis]]:
        if settings.method == "diverse":
            return self._generate_diverse(sources, settings)
        device = self.model.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(derive_seed(settings.seed, sources))
            ids, mask = self._batch(sources)
            out = self.model.generate(ids, attention_mask=mask, generation_config=self._configure(settings))
        rows = [Hypothesis(self._cut(row)) for row in out[:, 1:].tolist()]
        return [rows[k : k + settings.size] for k in range(0, len(rows), settings.size)]

    def _configure(self, settings: DecodingSettings) -> GenerationConfig:
        own: dict[str, dict[str, Any]] = {
            "beam": {
                "num_beams": settings.size,
                "early_stopping": settings.early_stopping,
                "length_penalty": settings.length_penalty,
            },
            "top-k": {"do_sample": True, "top_k": settings.top_k},
            "nucleus": {"do_sample": True, "top_k": 0, "top_p": settings.top_p},
        }
        return GenerationConfig(
            **self.special,
            **own[settings.method],
            max_new_tokens=settings.max_length,
            num_return_sequences=settings.size,
        )

    def _generate_diverse(self, sources: Sequence[Tokens], settings: DecodingSettings) -> list[list[Hypothesis]]:
        ids, mask = self._batch(sources)
        states = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        encoded = BaseModelOutput(last_hidden_state=states.repeat_interleave(settings.size, 0))
        mask = mask.repeat_interleave(settings.size, 0)
        forced = self.special["forced_bos_token_id"]
        cache: Any = None

        def step(rows: Tensor, tokens: Tensor) -> Tensor:
            nonlocal cache
            first = cache is None
            if not first:
                cache.reorder_cache(rows.to(mask.device))
            out = self.model(
                encoder_outputs=encoded,
                attention_mask=mask,
                decoder_input_ids=tokens[:, None].to(mask.device),
                past_key_values=cache,
                use_cache=True,
            )
            cache = out.past_key_values
            log_probs: Tensor = out.logits[:, -1].float().log_softmax(-1)
            if first and forced is not None:
                log_probs = torch.full_like(log_probs, -torch.inf).index_fill_(
                    1, torch.tensor([forced], device=log_probs.device), 0.0
                )
            return log_probs

        start = start_token(self.model.config)
        found = diverse_beam_search(step, len(sources), self.ends, start, settings)
        return [list(map(Hypothesis, own)) for own in found]

    @torch.inference_mode()
    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        numbers = {source: number for number, source in enumerate(dict.fromkeys(map(tuple, sources)))}
        ids, mask = self._batch([list(source) for source in numbers])
        states = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        start = start_token(self.model.config)
        sums = [0.0] * len(targets)
        budget = max(1, LOGITS // len(self.model.get_output_embeddings().weight))
        for batch in make_batches([len(target) for target in targets], budget):
            own = torch.tensor([numbers[tuple(sources[k])] for k in batch], device=ids.device)
            logits = self.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states[own]),
                attention_mask=mask[own],
                decoder_input_ids=pad([[start, *targets[k][:-1]] for k in batch], self._padding, ids.device),
                use_cache=False,
            ).logits
            wanted = pad([targets[k] for k in batch], self._padding, ids.device)
            values = logits.float().log_softmax(-1).gather(2, wanted[..., None])[..., 0]
            for k, row in zip(batch, values):
                sums[k] = float(row[: len(targets[k])].sum())
        return sums

    @property
    def _padding(self) -> int:
        return int(self.model.config.pad_token_id)

    def _batch(self, sources: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        ids = pad(sources, self._padding, self.model.device)
        lengths = torch.tensor([len(source) for source in sources], device=ids.device)
        return ids, (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]).long()

    def _cut(self, tokens: Tokens) -> Tokens:
        """A row of a batch up to its end, without the padding."""
        for place, token in enumerate(tokens):
            if token in self.ends:
                return tokens[: place + 1]
        return tokens


def derive_seed(seed: int, sources: Sequence[Tokens]) -> int:
    """A seed for a batch that depends on what is in it, and not on what came before."""
    return int.from_bytes(hashlib.sha256(repr((seed, sources)).encode()).digest()[:6])
