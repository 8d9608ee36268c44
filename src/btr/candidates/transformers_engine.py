"""The engine that runs a model with `transformers`, on a CPU or GPU: any seq2seq model, every decoding method."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from btr.candidates.decoding import DECODING, DecodingSettings
from btr.candidates.diverse import Step
from btr.candidates.engine import Engine, Hypothesis, Tokens, derive_seed
from btr.models.batches import make_batches
from btr.models.config import start_token
from btr.models.decoder import pad
from btr.models.loaded import LoadedModel

MAX_LOGITS = 1 << 26  # in memory at once
SPECIAL_TOKENS = "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id"


class TransformersEngine(Engine):
    """A model of `transformers`. Decoding methods call `run_generate`, or decode step by step with `start_decoding`."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.model: Any = loaded.model
        self.tokenizer = loaded.tokenizer
        self.signature = loaded.signature
        self.limit = getattr(self.model.config, "max_position_embeddings", None)
        self.start = start_token(self.model.config)
        self.special = {name: getattr(self.model.generation_config, name, None) for name in SPECIAL_TOKENS}
        self.special["decoder_start_token_id"] = self.start
        # Only our settings count, not the beams and penalties of a model's generation_config.json.
        self.model.generation_config = GenerationConfig(**self.special)
        ends = self.special["eos_token_id"]
        self.ends = [ends] if isinstance(ends, int) else list(ends or ())

    @torch.inference_mode()
    def generate(self, sources: Sequence[Tokens], settings: DecodingSettings) -> list[list[Hypothesis]]:
        return DECODING[settings.method]().generate(self, sources, settings)

    def run_generate(
        self, sources: Sequence[Tokens], settings: DecodingSettings, **options: Any
    ) -> list[list[Hypothesis]]:
        """Call `generate` of `transformers`; `options` are those of its GenerationConfig."""
        config = GenerationConfig(
            **self.special, **options, max_new_tokens=settings.max_length, num_return_sequences=settings.size
        )
        device = self.model.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(derive_seed(settings.seed, sources))
            ids, mask = self._batch(sources)
            out = self.model.generate(ids, attention_mask=mask, generation_config=config)
        rows = [Hypothesis(self._without_padding(row)) for row in out[:, 1:].tolist()]
        return [rows[k : k + settings.size] for k in range(0, len(rows), settings.size)]

    def start_decoding(self, sources: Sequence[Tokens], size: int) -> Step:
        """Encode sources, and return a function that decodes one token for `size` rows per source."""
        ids, mask = self._batch(sources)
        states = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        encoded = BaseModelOutput(last_hidden_state=states.repeat_interleave(size, 0))
        mask = mask.repeat_interleave(size, 0)
        forced = self.special["forced_bos_token_id"]
        cache: Any = None

        def step(rows: Tensor, tokens: Tensor) -> Tensor:
            nonlocal cache
            is_first = cache is None
            if not is_first:
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
            if is_first and forced is not None:
                log_probs = torch.full_like(log_probs, -torch.inf).index_fill_(
                    1, torch.tensor([forced], device=log_probs.device), 0.0
                )
            return log_probs

        return step

    @torch.inference_mode()
    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        numbers = {source: number for number, source in enumerate(dict.fromkeys(map(tuple, sources)))}
        ids, mask = self._batch([list(source) for source in numbers])
        states = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        sums = [0.0] * len(targets)
        budget = max(1, MAX_LOGITS // len(self.model.get_output_embeddings().weight))
        for batch in make_batches([len(target) for target in targets], budget):
            rows = torch.tensor([numbers[tuple(sources[k])] for k in batch], device=ids.device)
            logits = self.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states[rows]),
                attention_mask=mask[rows],
                decoder_input_ids=pad([[self.start, *targets[k][:-1]] for k in batch], self._padding, ids.device),
                use_cache=False,
            ).logits
            expected = pad([targets[k] for k in batch], self._padding, ids.device)
            values = logits.float().log_softmax(-1).gather(2, expected[..., None])[..., 0]
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

    def _without_padding(self, tokens: Tokens) -> Tokens:
        """Cut a row of a batch after the token that ends it."""
        for index, token in enumerate(tokens):
            if token in self.ends:
                return tokens[: index + 1]
        return tokens
