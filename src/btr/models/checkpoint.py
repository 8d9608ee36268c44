"""Checkpoints of fairseq, as the paper's authors published them, read as weights and settings: no pickled code runs.

A file is a dictionary that `torch.save` wrote. Its `model` has the weights of a T5 v1.1 of `transformers` behind a
prefix, since fairseq wraps the whole T5 as a "decoder"; `args` or `cfg` has the settings of training.
"""

import re
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import T5Config, T5ForConditionalGeneration

from btr.corpus.files import PathLike
from btr.errors import InputError
from btr.models.bidirectional import CONFIG_KEY

PREFIX = "decoder.model."
EMBEDDINGS = "shared.weight"
COPIES = "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"  # of the embeddings, under other names
BLOCK = re.compile(r"(encoder|decoder)\.block\.(\d+)\.")
BIAS = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
QUERIES = "encoder.block.0.layer.0.SelfAttention.q.weight"
GATE = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight"
HEAD = "lm_head.weight"


@dataclass(frozen=True)
class Checkpoint:
    """A T5's weights by their names in `transformers`, in float32, and what the file says of them."""

    weights: dict[str, Tensor]
    config: T5Config
    is_bidirectional: bool
    updates: int | None = None


def read_checkpoint(path: PathLike) -> Checkpoint:
    """Read a checkpoint of fairseq that holds a T5 v1.1. Whatever is wrong with it is said in one sentence."""
    content = load_weights_only(path)
    state = content.get("model") if isinstance(content, dict) else None
    if not isinstance(state, dict) or not state:
        raise InputError(f"{path}: is no checkpoint of fairseq, since it has no weights under 'model'.")
    settings = [part for part in (content.get("args"), content.get("cfg")) if isinstance(part, dict | Namespace)]
    if not settings:
        raise InputError(f"{path}: has neither 'args' nor 'cfg', so it does not say whether it is a BTR.")
    weights = read_weights(state, path)
    config = read_sizes(weights, path)
    check_weights(weights, config, path)
    is_bidirectional = any(value is True for part in settings for value in find_values(part, CONFIG_KEY))
    if is_bidirectional:
        setattr(config, CONFIG_KEY, True)
        config.use_cache = False
    return Checkpoint(weights, config, is_bidirectional, read_updates(content))


def load_weights_only(path: PathLike) -> Any:
    """Load a file of `torch.save` that has tensors, plain values and `argparse.Namespace`; refuse all else."""
    if not Path(path).is_file():
        raise InputError(
            f"{path}: {'is a folder; name a checkpoint in it' if Path(path).is_dir() else 'no such file'}."
        )
    try:
        with torch.serialization.safe_globals([Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickle protocols
            return torch.load(path, map_location="cpu", weights_only=True)
    except PermissionError as error:
        raise InputError(f"{path}: can't be read ({error.strerror}).") from None
    except Exception as error:  # a damaged file may fail in any way
        if "weights only" not in str(error).lower():
            raise InputError(
                f"{path}: can't be read as a checkpoint; is it another kind of file, or is the download incomplete?"
            ) from None
        name = re.search(r"(?:GLOBAL|function|class|instance of) ([A-Za-z_][\w.]*)", str(error))
        what = f" ({name[1]})" if name else ""
        raise InputError(
            f"{path}: refused, since it has more than tensors and plain values{what}; code in a checkpoint is not run."
        ) from None


def read_weights(state: Mapping[Any, Any], path: PathLike) -> dict[str, Tensor]:
    """Return the weights without their prefix, in float32."""
    weights: dict[str, Tensor] = {}
    for key, value in state.items():
        name = str(key)
        if not name.startswith(PREFIX):
            raise InputError(
                f"{path}: is a checkpoint of another architecture, since {name} is not behind {PREFIX!r}, where the "
                "authors' T5 is."
            )
        if not is_plain(value):
            raise InputError(f"{path}: {name} is no tensor of real numbers.")
        weight = value.float()
        if not torch.isfinite(weight).all():
            raise InputError(f"{path}: has weights that are not finite, in {name}.")
        weights[name.removeprefix(PREFIX)] = weight
    for name in COPIES:
        copy = weights.pop(name, None)
        if copy is not None and EMBEDDINGS in weights and not torch.equal(copy, weights[EMBEDDINGS]):
            raise InputError(f"{path}: {name} is not the same as {EMBEDDINGS}, as it is in every T5.")
    return weights


def is_plain(value: object) -> bool:
    """Return whether a value is a tensor of real numbers, all of which the file has."""
    if not isinstance(value, Tensor) or not value.is_floating_point() or value.layout != torch.strided:
        return False
    return value.device.type == "cpu" and value.untyped_storage().nbytes() >= value.nbytes


def read_sizes(weights: Mapping[str, Tensor], path: PathLike) -> T5Config:
    """Return the configuration of a T5 v1.1 with the sizes that its weights have."""
    if GATE.replace("wi_0", "wi") in weights or (HEAD not in weights and GATE in weights):
        raise InputError(f"{path}: is not a T5 v1.1, which has gated layers and an output layer of its own.")
    for name in (EMBEDDINGS, BIAS, QUERIES, GATE):
        if name not in weights or weights[name].dim() != 2:
            raise InputError(f"{path}: has no {name}, so it is no whole T5 v1.1.")
    layers = {"encoder": 0, "decoder": 0}
    for found in filter(None, map(BLOCK.match, weights)):
        layers[found[1]] = max(layers[found[1]], int(found[2]) + 1)
    buckets, heads = weights[BIAS].shape
    if not heads or len(weights[QUERIES]) % heads:
        raise InputError(f"{path}: {QUERIES} has {len(weights[QUERIES])} rows, which {heads} heads can't share.")
    if max(layers.values()) > len(weights):
        raise InputError(f"{path}: has weights of layer {max(layers.values())}, but not of all layers before it.")
    vocabulary, width = weights[EMBEDDINGS].shape
    config = T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=len(weights[QUERIES]) // heads,
        d_ff=len(weights[GATE]),
        num_layers=layers["encoder"],
        num_decoder_layers=layers["decoder"],
        num_heads=heads,
        relative_attention_num_buckets=buckets,
        feed_forward_proj="gated-gelu",
    )
    config.scale_decoder_outputs = False
    config.decoder_start_token_id = 0  # the padding
    config.architectures = ["T5ForConditionalGeneration"]
    config.dtype = torch.float32
    return config


def check_weights(weights: Mapping[str, Tensor], config: T5Config, path: PathLike) -> None:
    """Refuse weights that a T5 of this configuration lacks, does not have, or has in other sizes."""
    with torch.device("meta"):
        expected = {name: weight.shape for name, weight in T5ForConditionalGeneration(config).state_dict().items()}
    for name in COPIES:
        expected.pop(name, None)
    if missing := [name for name in expected if name not in weights]:
        raise InputError(f"{path}: has no {missing[0]}{and_more(missing)}; is it complete?")
    if extra := [name for name in weights if name not in expected]:
        raise InputError(f"{path}: has {extra[0]}{and_more(extra)}, which a T5 v1.1 does not have.")
    for name, shape in expected.items():
        if weights[name].shape != shape:
            found, wanted = (" × ".join(map(str, sizes)) for sizes in (weights[name].shape, shape))
            raise InputError(f"{path}: {name} is {found}, where the other weights need {wanted}.")


def and_more(names: list[str]) -> str:
    """Return how many names there are beside the first."""
    return f" and {len(names) - 1} more weights" if len(names) > 1 else ""


def find_values(settings: object, key: str, depth: int = 4) -> Iterator[object]:
    """Yield the values of a key in settings, which may be nested to some depth."""
    content = vars(settings) if isinstance(settings, Namespace) else settings
    if isinstance(content, Mapping) and depth:
        for name, value in content.items():
            if name == key:
                yield value
            else:
                yield from find_values(value, key, depth - 1)


def read_updates(content: Mapping[str, Any]) -> int | None:
    """Return after how many updates a checkpoint was written, if it says so."""
    history = content.get("optimizer_history")
    last = history[-1] if isinstance(history, list) and history else None
    updates = last.get("num_updates") if isinstance(last, dict) else None
    return updates if isinstance(updates, int) else None
