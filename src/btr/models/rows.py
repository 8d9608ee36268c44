"""Weights as int8 with a scale for each row: a quarter of the size, and the numbers that CTranslate2's int8 has too."""

import torch
from torch import Tensor

CONFIG_KEY = "btr_compact"  # in config.json, so that a folder says what it is
LEAST = 4096  # elements; what is smaller stays as it is
INT8, SCALE = ".int8", ".scale"  # not the weight's own name, which other tools would read as if it were all
LARGEST = 127
TINY = LARGEST / torch.finfo(torch.float32).max  # rows below it are zeros: they can't be divided by


def shrink(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8, and what its rows are to be multiplied with: its largest element / 127, or 1 for zeros."""
    largest = weight.abs().amax(1)
    largest = torch.where(largest < TINY, LARGEST, largest)
    # As CTranslate2 does it: what is multiplied with 127 / largest now and then rounds otherwise than what is divided.
    return (weight * (LARGEST / largest)[:, None]).round().to(torch.int8), largest / LARGEST


def expand(numbers: Tensor, scale: Tensor) -> Tensor:
    """The matrix in float32."""
    return numbers.float() * scale[:, None]


def pack(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as int8 with their scales, all else as float32."""
    packed = {}
    for name, weight in weights.items():
        own = weight.float() if weight.is_floating_point() else weight
        if own.ndim == 2 and own.numel() >= LEAST and "relative_attention_bias" not in name:
            packed[name + INT8], packed[name + SCALE] = shrink(own)
        else:
            packed[name] = own
    return packed


def unpack(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """What `pack` was given, to half a scale."""
    weights = {}
    for name, weight in packed.items():
        if name.endswith(INT8):
            name = name.removesuffix(INT8)
            weights[name] = expand(weight, packed[name + SCALE])
        elif name.removesuffix(SCALE) + INT8 not in packed:
            weights[name] = weight
    return weights
