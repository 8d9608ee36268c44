"""A T5 that judges edits, in int8, without the seconds that the models of `transformers` take to import.

Its parts have the names of those of `transformers`, so that `models/decoder.py` reads it as any T5, and its numbers are
theirs in int8 (`tests/models/test_plain_t5.py`). It reads compact folders (`btr compact`) of the usual T5 v1.1 only;
every other model is left to `models/load.py`.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, gelu

from btr.errors import InputError
from btr.models.batches import INT8
from btr.models.bidirectional import CONFIG_KEY as BIDIRECTIONAL_KEY
from btr.models.config import EDIT_JUDGING_CLASS, check_kind
from btr.models.decoder import attention_bias, self_attention
from btr.models.edit_head import HEAD, EditHead
from btr.models.identity import model_hash, read_object
from btr.models.int8_layers import Int8Linear, Int8LinearTwoPass, can_quantise
from btr.models.int8_weights import CONFIG_KEY as COMPACT_KEY
from btr.models.int8_weights import INT8 as NUMBERS
from btr.models.int8_weights import SCALE, quantise_rows, requantised_scale
from btr.models.loaded import LoadedModel, read_weights
from btr.models.locate import locate_model
from btr.models.threads import prepare_for_forks
from btr.models.tokenizer import check_end, read_plain_tokenizer
from btr.records import is_number

USUAL = {
    "architectures": [EDIT_JUDGING_CLASS], "model_type": "t5", "feed_forward_proj": "gated-gelu",
    "dense_act_fn": "gelu_new", BIDIRECTIONAL_KEY: True, COMPACT_KEY: True,
}  # fmt: skip
NUMBERS_OF_SHAPE = (
    "d_model", "d_kv", "num_heads", "num_layers", "num_decoder_layers", "layer_norm_epsilon",
    "relative_attention_num_buckets", "relative_attention_max_distance", "pad_token_id", "eos_token_id",
)  # fmt: skip


def load_plain_t5(name: str) -> LoadedModel | None:
    """Load a compact BTR that judges edits; None if `transformers` is needed to read it, or to say what is wrong."""
    folder = Path(locate_model(name))
    try:
        content = read_object(folder / "config.json")
    except (OSError, InputError):
        return None
    config: Any = SimpleNamespace(**content)
    is_usual = USUAL.items() <= content.items() and all(is_number(content.get(key)) for key in NUMBERS_OF_SHAPE)
    if not (is_usual and can_quantise()):
        return None
    tokenizer = read_plain_tokenizer(folder)
    if tokenizer is None:
        return None
    check_kind("edit-btr", config, name)
    check_end(tokenizer, config, name)
    prepare_for_forks()
    try:
        model: Any = PlainT5(read_weights(folder, name), config)
    except (InputError, LookupError, TypeError, RuntimeError):
        return None
    plain: Any = tokenizer
    signature = f"edit-btr|model:{Path(name).name}#{model_hash(name)}|dtype:float32|int8:{INT8}"
    return LoadedModel(model, plain, signature, int8=True)


class PlainT5:
    """An encoder, a fully visible decoder, and a head for edits."""

    device = torch.device("cpu")

    def __init__(self, weights: Mapping[str, Tensor], config: Any) -> None:
        self.config = config
        words = Embedding(weights, "shared")
        self.encoder = Encoder(weights, "encoder", words, config.num_layers, config)
        self.decoder = Stack(weights, "decoder", words, config.num_decoder_layers, config)
        self.edit_head = EditHead(config.d_model).eval()
        for part in ("first", "last"):
            bias = weights[f"{HEAD}.{part}.bias"]
            setattr(self.edit_head, part, linear(weights, f"{HEAD}.{part}", Int8LinearTwoPass, bias))


def linear(
    weights: Mapping[str, Tensor], name: str, kind: type[Int8Linear] = Int8Linear, bias: Tensor | None = None
) -> Int8Linear:
    """Return a linear layer with the int8 numbers that quantising the unpacked weights would give."""
    if f"{name}.weight{NUMBERS}" in weights:
        numbers = weights[f"{name}.weight{NUMBERS}"]
        scale = requantised_scale(numbers, weights[f"{name}.weight{SCALE}"])
    else:
        numbers, scale = quantise_rows(weights[f"{name}.weight"])
    return kind.from_rows(numbers, scale, bias)


def check_shape(weight: Tensor, *shape: int) -> None:
    """Refuse a weight that is not of the shape that the configuration says: it would be read as something else."""
    if weight.shape != shape:
        raise InputError(f"a weight has the shape {tuple(weight.shape)}, and not {shape}.")


class Embedding:
    """The embeddings of tokens: int8 in the file, and float32 for the tokens that are read."""

    def __init__(self, weights: Mapping[str, Tensor], name: str) -> None:
        self.numbers, self.scale = weights[f"{name}.weight{NUMBERS}"], weights[f"{name}.weight{SCALE}"]

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.numbers[tokens].float() * self.scale[tokens][..., None]


class Norm:
    """T5's normalisation: by the root of the mean square, without a mean and a bias."""

    def __init__(self, weights: Mapping[str, Tensor], name: str, config: Any) -> None:
        self.weight, self.epsilon = weights[f"{name}.weight"], config.layer_norm_epsilon

    def __call__(self, hidden: Tensor) -> Tensor:
        return self.weight * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + self.epsilon))


class Attention:
    """The projections of queries, keys and values, and the bias by distance that the first block of a stack has."""

    is_decoder = training = False  # it reads in both directions

    def __init__(self, weights: Mapping[str, Tensor], name: str, config: Any) -> None:
        self.q, self.k, self.v, self.o = (linear(weights, f"{name}.{part}") for part in "qkvo")
        check_shape(weights[f"{name}.q.weight{NUMBERS}"], config.num_heads * config.d_kv, config.d_model)
        self.key_value_proj_dim = config.d_kv
        self.buckets = config.relative_attention_num_buckets
        self.max_distance = config.relative_attention_max_distance
        self.distances: Tensor | None = None

    def compute_bias(self, queries: int, keys: int, device: torch.device) -> Tensor:
        """Return the bias of each head (1, heads, queries, keys): by distance, of which long ones share buckets."""
        assert self.distances is not None
        distance = torch.arange(keys)[None] - torch.arange(queries)[:, None]
        half = self.buckets // 2  # for each direction, of which one half is for single distances
        exact = half // 2
        length = distance.abs()
        far = exact + (torch.log(length.float() / exact) / math.log(self.max_distance / exact) * (half - exact)).long()
        bucket = torch.where(length < exact, length, far.clamp_max(half - 1)) + (distance > 0) * half
        return embedding(bucket, self.distances).permute(2, 0, 1)[None].to(device)


class FeedForward:
    """A gated layer: its last weights are multiplied in two passes, since their inputs are very unequal."""

    def __init__(self, weights: Mapping[str, Tensor], name: str, config: Any) -> None:
        self.layer_norm = Norm(weights, f"{name}.layer_norm", config)
        dense = f"{name}.DenseReluDense"
        self.wi_0, self.wi_1 = linear(weights, f"{dense}.wi_0"), linear(weights, f"{dense}.wi_1")
        self.wo = linear(weights, f"{dense}.wo", Int8LinearTwoPass)

    def __call__(self, hidden: Tensor) -> Tensor:
        normed = self.layer_norm(hidden)
        gated: Tensor = gelu(self.wi_0(normed), approximate="tanh") * self.wi_1(normed)
        return hidden + self.wo(gated)


class Stack:
    """The blocks of an encoder or a decoder; a decoder's read the source, too."""

    def __init__(self, weights: Mapping[str, Tensor], name: str, words: Embedding, blocks: int, config: Any) -> None:
        self.embed_tokens = words
        self.block = [SimpleNamespace(layer=read_layers(weights, f"{name}.block.{k}", config)) for k in range(blocks)]
        first = f"{name}.block.0.layer.0.SelfAttention"
        distances = weights[f"{first}.relative_attention_bias.weight"]
        check_shape(distances, config.relative_attention_num_buckets, config.num_heads)
        self.block[0].layer[0].SelfAttention.distances = distances
        self.final_layer_norm = Norm(weights, f"{name}.final_layer_norm", config)


class Encoder(Stack):
    """A stack that reads a batch of sources of one length."""

    def __call__(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """Return the final states."""
        bias = attention_bias(self, input_ids.shape[1], attention_mask.sum(1))
        hidden = self.embed_tokens(input_ids)
        for block in self.block:
            hidden = block.layer[1](self_attention(block.layer[0], hidden, bias, None))
        return SimpleNamespace(last_hidden_state=self.final_layer_norm(hidden))


def read_layers(weights: Mapping[str, Tensor], block: str, config: Any) -> list[Any]:
    """Return the layers of a block: attention to its own text, in a decoder attention to the source, and the last."""
    layers: list[Any] = []
    for name in ("SelfAttention", "EncDecAttention"):
        layer = f"{block}.layer.{len(layers)}"
        if f"{layer}.{name}.q.weight{NUMBERS}" in weights:
            attention = Attention(weights, f"{layer}.{name}", config)
            norm = Norm(weights, f"{layer}.layer_norm", config)
            layers.append(SimpleNamespace(**{name: attention}, layer_norm=norm, dropout=unchanged))
    return [*layers, FeedForward(weights, f"{block}.layer.{len(layers)}", config)]


def unchanged(hidden: Tensor) -> Tensor:
    """Return what dropout leaves when nothing is trained: all."""
    return hidden
