"""A T5's decoder for training: each source is encoded once for all its target rows.

The numbers equal those of the model's forward pass on each (source, row) pair. The encoder, and the keys and values of
a source, are computed once per source. The last feed-forward layer is computed at the scored positions only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as attend

from btr.models.decoder import attention_bias, attention_dropout, heads, pad, self_attention, unheads


@dataclass(frozen=True)
class DecoderBatch:
    """S sources (S, tokens) with R decoder rows each (S × R, tokens), and the positions whose states are returned."""

    sources: Tensor
    source_lengths: Tensor
    rows: Tensor
    lengths: Tensor
    positions: Tensor  # indices into the flattened rows


def make_decoder_batch(
    sources: Sequence[Sequence[int]],
    rows: Sequence[Sequence[Sequence[int]]],
    positions: Sequence[Sequence[Sequence[int]]],
    padding: int,
    device: torch.device,
) -> DecoderBatch:
    """Batch sources with their rows, and the scored positions of each row. Idle rows fill up where rows are fewer."""
    most = max(map(len, rows))
    flat = [row for group in rows for row in [*group, *[[padding]] * (most - len(group))]]
    width = max(map(len, flat))
    indices = [
        (s * most + r) * width + position
        for s, group in enumerate(positions)
        for r, row in enumerate(group)
        for position in row
    ]
    return DecoderBatch(
        pad(sources, padding, device),
        torch.tensor([len(source) for source in sources], device=device),
        pad(flat, padding, device),
        torch.tensor([len(row) for row in flat], device=device),
        torch.tensor(indices, dtype=torch.long, device=device),
    )


def decoder_states(model: Any, batch: DecoderBatch) -> Tensor:
    """Return the decoder's final states at the batch's positions, (positions, width)."""
    return encoder_and_decoder_states(model, batch)[1]


def encoder_and_decoder_states(model: Any, batch: DecoderBatch) -> tuple[Tensor, Tensor]:
    """Return the encoder's states, (sources, tokens, width), and the decoder's at the batch's positions."""
    mask = torch.arange(batch.sources.shape[1], device=batch.sources.device) < batch.source_lengths[:, None]
    encoded = model.encoder(input_ids=batch.sources, attention_mask=mask.long()).last_hidden_state
    hidden = run_decoder(model.decoder, batch, encoded, mask)
    if getattr(model.config, "scale_decoder_outputs", False):
        hidden = hidden * model.config.d_model**-0.5
    return encoded, hidden


def run_decoder(decoder: Any, batch: DecoderBatch, encoded: Tensor, mask: Tensor) -> Tensor:
    """Run the decoder's blocks over all rows, with attention to the encoded sources."""
    bias = attention_bias(decoder, batch.rows.shape[1], batch.lengths)
    hidden = decoder.dropout(decoder.embed_tokens(batch.rows))
    bias = bias.to(hidden.dtype)
    for block in decoder.block:
        hidden = self_attention(block.layer[0], hidden, bias, None)
        hidden = source_attention(block.layer[1], hidden, encoded, mask)
        if block is decoder.block[-1]:  # what follows treats each token by itself
            hidden = hidden.flatten(0, 1)[batch.positions]
        hidden = block.layer[2](hidden)
    hidden = decoder.final_layer_norm(hidden)
    dropped: Tensor = decoder.dropout(hidden)
    return dropped


def source_attention(layer: Any, hidden: Tensor, encoded: Tensor, mask: Tensor) -> Tensor:
    """Attend to the sources. All rows of a source form one query: attention to a source has no positions."""
    attention = layer.EncDecAttention
    together = hidden.view(len(encoded), -1, hidden.shape[-1])
    queries = heads(attention.q(layer.layer_norm(together)), attention)
    keys, values = heads(attention.k(encoded), attention), heads(attention.v(encoded), attention)
    dropout = attention_dropout(attention)
    attended = attend(queries, keys, values, attn_mask=mask[:, None, None], dropout_p=dropout, scale=1.0)
    return hidden + layer.dropout(attention.o(unheads(attended))).view_as(hidden)
