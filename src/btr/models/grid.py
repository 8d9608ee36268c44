"""A T5's decoder for training: sources by rows by tokens, each source encoded once for all its rows.

The numbers are those of the model's own forward pass on each (source, row) pair. What differs is what is computed once:
the encoder, and the keys and values of the source; and what is not computed: the last feed-forward layer and the
logits of tokens that are not asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as attend

from btr.models.decoder import attention_bias, drop, heads, pad, self_attention, unheads


@dataclass(frozen=True)
class Grid:
    """A batch: sources (S, tokens), rows of the decoder (S × R, tokens), and which of its outputs are asked for."""

    sources: Tensor
    source_lengths: Tensor
    rows: Tensor
    lengths: Tensor
    asked: Tensor  # places in the flattened rows


def make_grid(
    sources: Sequence[Sequence[int]],
    rows: Sequence[Sequence[Sequence[int]]],
    asked: Sequence[Sequence[Sequence[int]]],
    padding: int,
    device: torch.device,
) -> Grid:
    """Each source with its rows, and the places asked for in each. Where rows are fewer, idle ones fill up."""
    most = max(map(len, rows))
    flat = [row for own in rows for row in [*own, *[[padding]] * (most - len(own))]]
    width = max(map(len, flat))
    places = [
        (s * most + r) * width + place for s, own in enumerate(asked) for r, row in enumerate(own) for place in row
    ]
    return Grid(
        pad(sources, padding, device),
        torch.tensor([len(source) for source in sources], device=device),
        pad(flat, padding, device),
        torch.tensor([len(row) for row in flat], device=device),
        torch.tensor(places, dtype=torch.long, device=device),
    )


def states(model: Any, grid: Grid) -> Tensor:
    """The decoder's final states at the places asked for, (places, width)."""
    seen = torch.arange(grid.sources.shape[1], device=grid.sources.device) < grid.source_lengths[:, None]
    memory = model.encoder(input_ids=grid.sources, attention_mask=seen.long()).last_hidden_state
    hidden = decode_grid(model.decoder, grid, memory, seen)
    if getattr(model.config, "scale_decoder_outputs", False):
        hidden = hidden * model.config.d_model**-0.5
    return hidden


def decode_grid(decoder: Any, grid: Grid, memory: Tensor, seen: Tensor) -> Tensor:
    """The decoder's blocks over all rows, with attention to the sources."""
    bias = attention_bias(decoder, grid.rows.shape[1], grid.lengths)
    hidden = decoder.dropout(decoder.embed_tokens(grid.rows))
    bias = bias.to(hidden.dtype)
    for block in decoder.block:
        hidden = self_attention(block.layer[0], hidden, bias, None)
        hidden = look_at_sources(block.layer[1], hidden, memory, seen)
        if block is decoder.block[-1]:  # what follows looks at each token by itself
            hidden = hidden.flatten(0, 1)[grid.asked]
        hidden = block.layer[2](hidden)
    hidden = decoder.final_layer_norm(hidden)
    dropped: Tensor = decoder.dropout(hidden)
    return dropped


def look_at_sources(layer: Any, hidden: Tensor, memory: Tensor, seen: Tensor) -> Tensor:
    """A block's attention to the sources: the rows of a source ask as one, since it has no positions to keep apart."""
    attention = layer.EncDecAttention
    together = hidden.view(len(memory), -1, hidden.shape[-1])
    queries = heads(attention.q(layer.layer_norm(together)), attention)
    keys, values = heads(attention.k(memory), attention), heads(attention.v(memory), attention)
    attended = attend(queries, keys, values, attn_mask=seen[:, None, None], dropout_p=drop(attention), scale=1.0)
    return hidden + layer.dropout(attention.o(unheads(attended))).view_as(hidden)
