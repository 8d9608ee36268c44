"""A T5's decoder for scoring: sources are encoded once, and their keys and values shared by all rows.

The numbers equal those of the model's forward pass. Less is computed: the keys and values of a source once for all its
rows, and the last layer and the logits at scored positions only. `models/training_decoder.py` shares these parts: in
training mode they apply the model's dropout.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as attend

from btr.models.batches import make_batches

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class EncodedSource:
    """One source as the decoder's layers read it: keys and values per layer, (1, heads, tokens, width) each."""

    layers: list[tuple[Tensor, Tensor]]
    states: Tensor  # of the encoder, (tokens, width)


@torch.inference_mode()
def encode(model: "PreTrainedModel", sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
    """Encode sources in one batch, and compute their keys and values for every layer of the decoder."""
    lengths = [len(source) for source in sources]
    ids = pad(sources, model.config.pad_token_id, model.device)
    mask = torch.arange(ids.shape[1], device=model.device) < torch.tensor(lengths, device=model.device)[:, None]
    encoder, decoder = cast(Any, model.encoder), cast(Any, model.decoder)
    states = encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    layers: list[list[tuple[Tensor, Tensor]]] = [[] for _ in sources]
    for block in decoder.block:
        attention = block.layer[1].EncDecAttention
        keys, values = heads(attention.k(states), attention), heads(attention.v(states), attention)
        for row, length in enumerate(lengths):
            layers[row].append((keys[row : row + 1, :, :length], values[row : row + 1, :, :length]))
    return [EncodedSource(projected, states[row, : lengths[row]]) for row, projected in enumerate(layers)]


def encode_groups(
    model: "PreTrainedModel", sources: Sequence[Sequence[int]], budget: int, *, same_length: bool = False
) -> Iterator[tuple[range, list[EncodedSource]]]:
    """Encode sources in their order, as many at a time as the budget of tokens allows; yield each group's range.

    With `same_length`, only sources of one length are padded together.
    """
    start = 0
    while start < len(sources):
        stop = start + 1
        while stop < len(sources) and (stop + 1 - start) * max(map(len, sources[start : stop + 1])) <= budget:
            stop += 1
        group = sources[start:stop]
        encoded: dict[int, EncodedSource] = {}
        for batch in make_batches([*map(len, group)], budget, same_length=True) if same_length else [range(len(group))]:
            encoded.update(zip(batch, encode(model, [group[k] for k in batch])))
        yield range(start, stop), [encoded[k] for k in range(len(group))]
        start = stop


@torch.inference_mode()
def decode(
    model: "PreTrainedModel",
    rows: Sequence[Sequence[int]],
    encoded: Sequence[EncodedSource],
    positions: Sequence[int] | None,
) -> Tensor:
    """Return the decoder's final states: at one position per row (rows, width), or everywhere (rows, tokens, width).

    Rows of the same source should be adjacent: they attend to it as one long query.
    """
    decoder: Any = model.decoder
    lengths = torch.tensor([len(row) for row in rows], device=model.device)
    ids = pad(rows, model.config.pad_token_id, model.device)
    bias = attention_bias(decoder, ids.shape[1], lengths)
    spans = group_rows(encoded)
    at = None if positions is None else torch.tensor(positions, device=model.device)
    hidden = decoder.embed_tokens(ids)
    last = len(decoder.block) - 1
    for number, block in enumerate(decoder.block):
        only = at if number == last else None
        hidden = self_attention(block.layer[0], hidden, bias, only)
        hidden = cross_attention(block.layer[1], hidden, [(span, encoded[span.start].layers[number]) for span in spans])
        hidden = block.layer[2](hidden)
    hidden = decoder.final_layer_norm(hidden)
    if getattr(model.config, "scale_decoder_outputs", False):
        hidden = hidden * model.config.d_model**-0.5
    return hidden[:, 0] if at is not None else hidden


def self_attention(layer: Any, hidden: Tensor, bias: Tensor, only: Tensor | None) -> Tensor:
    """Apply a block's self-attention; with `only`, for the token at that position of each row only."""
    attention = layer.SelfAttention
    normed = layer.layer_norm(hidden)
    keys, values = heads(attention.k(normed), attention), heads(attention.v(normed), attention)
    if only is not None:
        every = torch.arange(len(hidden), device=hidden.device)
        hidden, normed = hidden[every, only][:, None], normed[every, only][:, None]
        bias = bias.expand(len(hidden), -1, -1, -1)[every, :, only][:, :, None]
    queries = heads(attention.q(normed), attention)
    attended = attend(queries, keys, values, attn_mask=bias, dropout_p=attention_dropout(attention), scale=1.0)
    return hidden + layer.dropout(attention.o(unheads(attended)))


def cross_attention(layer: Any, hidden: Tensor, sources: Sequence[tuple[range, tuple[Tensor, Tensor]]]) -> Tensor:
    """Apply a block's attention to the source. All rows of a source form one query: this attention has no positions."""
    attention = layer.EncDecAttention
    queries = attention.q(layer.layer_norm(hidden))
    width = attention.key_value_proj_dim
    out = torch.empty_like(queries)
    for span, (keys, values) in sources:
        block = queries[span.start : span.stop]
        query = block.reshape(1, -1, keys.shape[1], width).transpose(1, 2)
        out[span.start : span.stop] = unheads(attend(query, keys, values, scale=1.0)).view_as(block)
    return hidden + attention.o(out)


def attention_dropout(attention: Any) -> float:
    """Return the dropout rate of attention weights: 0 outside of training."""
    return float(attention.dropout) if attention.training else 0.0


def attention_bias(decoder: Any, length: int, lengths: Tensor) -> Tensor:
    """Return the relative position bias, with minus infinity for padding and for what a causal decoder may not read."""
    attention = decoder.block[0].layer[0].SelfAttention
    bias: Tensor = attention.compute_bias(length, length, device=lengths.device)
    positions = torch.arange(length, device=lengths.device)
    if attention.is_decoder:
        bias = bias.masked_fill(positions[None] > positions[:, None], -torch.inf)
    if int(lengths.min()) < length:
        bias = bias.masked_fill((positions >= lengths[:, None])[:, None, None], -torch.inf)
    return bias


def heads(projected: Tensor, attention: Any) -> Tensor:
    """Split heads: (rows, tokens, heads × width) → (rows, heads, tokens, width)."""
    return projected.unflatten(-1, (-1, attention.key_value_proj_dim)).transpose(1, 2)


def unheads(attended: Tensor) -> Tensor:
    """Join heads: (rows, heads, tokens, width) → (rows, tokens, heads × width)."""
    return attended.transpose(1, 2).flatten(-2)


def group_rows(encoded: Sequence[EncodedSource]) -> list[range]:
    """Return the ranges of adjacent rows that have the same source."""
    starts = [k for k, source in enumerate(encoded) if k == 0 or source is not encoded[k - 1]]
    return [range(start, stop) for start, stop in zip(starts, [*starts[1:], len(encoded)])]


def pad(rows: Sequence[Sequence[int]], padding: int, device: torch.device) -> Tensor:
    """Return rows of token ids as one tensor, padded to the longest."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (width - len(row))] for row in rows], device=device)
