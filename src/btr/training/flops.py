"""How much computing and memory a batch takes, by the sizes of a model's layers. No weights are needed for it.

FLOPs are those of matrix products, two per multiplication and addition, as torch's own counter has them
(`torch.utils.flop_counter`). The backward pass takes twice the forward pass: one product for the gradient of the
inputs, and one for that of the weights. Everything else (norms, softmax, the optimizer) is small beside them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import nn

from btr.models.edit_head import HEAD
from btr.records import Record


@dataclass(frozen=True, slots=True)
class ExampleShape:
    """What a model computes for one example: its source, its rows, their length, and the positions with a loss."""

    source: int  # tokens; 0 where source and target are read as one row
    rows: int
    row: int  # tokens of the longest
    scored: int  # positions of all rows whose states are needed: for logits, or around edits
    edits: int = 0  # of all rows, that a head for edits judges


@dataclass(frozen=True, slots=True)
class BatchShape:
    """What a model computes for a batch, padding included."""

    sources: int
    source: int  # tokens per source
    rows: int  # of all sources, idle ones included
    row: int  # tokens per row
    scored: int
    edits: int = 0


@dataclass(frozen=True, slots=True)
class Flops(Record):
    """The FLOPs of training by part of the model, forward and backward."""

    encoder: float = 0.0
    decoder: float = 0.0
    cross_attention: float = 0.0
    head: float = 0.0

    @property
    def total(self) -> float:
        """Return the FLOPs of all parts."""
        return self.encoder + self.decoder + self.cross_attention + self.head

    def __add__(self, other: "Flops") -> "Flops":
        return Flops(
            self.encoder + other.encoder,
            self.decoder + other.decoder,
            self.cross_attention + other.cross_attention,
            self.head + other.head,
        )

    def scaled(self, factor: float) -> "Flops":
        """Return the FLOPs of so many times the work."""
        return Flops(self.encoder * factor, self.decoder * factor, self.cross_attention * factor, self.head * factor)


FORWARD_AND_BACKWARD = 2 * 3  # FLOPs per multiplication and addition: one pass forward, and two products backward
WITHOUT_WEIGHT_GRADIENT = 2 * 2  # the same for a layer whose weights are frozen


def batch_shape(examples: Iterable[ExampleShape], is_t5: bool) -> BatchShape:
    """Return the shape of examples that are padded to one batch.

    For a T5, idle rows fill up sources that have fewer rows than others; an encoder reads the rows of all examples.
    """
    batch = list(examples)
    rows = len(batch) * max(one.rows for one in batch) if is_t5 else sum(one.rows for one in batch)
    return BatchShape(
        len(batch) if is_t5 else 0,
        max(one.source for one in batch),
        rows,
        max(one.row for one in batch),
        sum(one.scored for one in batch),
        sum(one.edits for one in batch),
    )


class T5Layers:
    """The sizes of a T5's layers, as `models/training_decoder.py` uses them."""

    def __init__(self, model: Any, vocabulary: int | None, frozen_head: bool) -> None:
        config = model.config
        self.width, self.inner, self.heads = config.d_model, config.num_heads * config.d_kv, config.num_heads
        self.feed_forward, self.gated = config.d_ff, bool(config.is_gated_act)
        self.encoder_layers, self.decoder_layers = len(model.encoder.block), len(model.decoder.block)
        self.encoder = linear_weights(model.encoder)
        blocks = list(model.decoder.block)
        self.self_attention = sum(linear_weights(block.layer[0]) for block in blocks)
        self.feed_forwards = sum(linear_weights(block.layer[2]) for block in blocks[:-1])
        self.last_feed_forward = linear_weights(blocks[-1].layer[2])
        self.cross_layer = 2 * self.width * self.inner  # weights of keys and values, or of queries and output
        self.edit_head = linear_weights(model.edit_head) if hasattr(model, HEAD) else 0
        self.vocabulary = 0 if self.edit_head else vocabulary or config.vocab_size  # of the output layer
        self.head_factor = WITHOUT_WEIGHT_GRADIENT if frozen_head else FORWARD_AND_BACKWARD

    def flops(self, batch: BatchShape) -> Flops:
        """Return the FLOPs of a batch, forward and backward.

        The last feed-forward layer and the output layer are computed at scored positions only; keys and values of a
        source once for all its rows.
        """
        sources, rows = batch.sources * batch.source, batch.rows * batch.row  # tokens
        encoder = sources * (self.encoder + 2 * self.encoder_layers * self.inner * batch.source)
        decoder = rows * (self.self_attention + self.feed_forwards + 2 * self.decoder_layers * self.inner * batch.row)
        decoder += batch.scored * self.last_feed_forward
        cross = (sources + rows) * self.decoder_layers * self.cross_layer
        cross += rows * 2 * self.decoder_layers * self.inner * batch.source
        factor = FORWARD_AND_BACKWARD
        head = self.head_factor * batch.scored * self.width * self.vocabulary
        head += factor * batch.edits * self.edit_head
        return Flops(factor * encoder, factor * decoder, factor * cross, head)

    def activations(self, batch: BatchShape) -> int:
        """Return roughly how many numbers the backward pass needs of the forward pass.

        Per token, each sublayer has three times the model's width (its input, and what the norm needs); an attention
        has queries, keys, values, twice its output, and three numbers per token that it attends to; a feed-forward
        layer has its inner states.
        """
        norm, attention, scores = 3 * self.width, 5 * self.inner, 3 * self.heads
        feed_forward = norm + (5 if self.gated else 3) * self.feed_forward
        sources, rows = batch.sources * batch.source, batch.rows * batch.row
        encoder = sources * self.encoder_layers * (norm + attention + scores * batch.source + feed_forward)
        decoder = rows * self.decoder_layers * (norm + attention + scores * batch.row)
        decoder += (rows * (self.decoder_layers - 1) + batch.scored) * feed_forward
        cross = rows * self.decoder_layers * (norm + 3 * self.inner + scores * batch.source)
        cross += sources * self.decoder_layers * 2 * self.inner
        head = batch.scored * 2 * self.vocabulary + batch.edits * 4 * self.width
        return int(encoder + decoder + cross + head)


class EncoderLayers:
    """The sizes of the layers of a BERT or RoBERTa, with a head for tokens or for classes."""

    def __init__(self, model: Any) -> None:
        config, base = model.config, model.base_model
        self.width, self.layers, self.heads = config.hidden_size, config.num_hidden_layers, config.num_attention_heads
        self.feed_forward = config.intermediate_size
        self.encoder = linear_weights(base.encoder)
        self.head = linear_weights(model) - self.encoder
        self.outputs = getattr(config, "vocab_size", 0) if self.head > self.width * config.vocab_size else 0

    def flops(self, batch: BatchShape) -> Flops:
        """Return the FLOPs of a batch, forward and backward; the head is computed at scored positions only."""
        encoder = batch.rows * batch.row * (self.encoder + 2 * self.layers * self.width * batch.row)
        return Flops(FORWARD_AND_BACKWARD * encoder, head=FORWARD_AND_BACKWARD * batch.scored * self.head)

    def activations(self, batch: BatchShape) -> int:
        """Return roughly how many numbers the backward pass needs of the forward pass."""
        per_token = self.layers * (10 * self.width + 2 * self.feed_forward + 3 * self.heads * batch.row)
        return int(batch.rows * batch.row * per_token + batch.scored * 2 * self.outputs)


def linear_weights(module: nn.Module) -> int:
    """Return the number of weights in a module's linear layers: what each token is multiplied with."""
    return sum(part.weight.numel() for part in module.modules() if isinstance(part, nn.Linear))
