"""Weights as int8 with one scale per row: a quarter of the size, and the same numbers as CTranslate2's int8."""

import torch
from torch import Tensor

CONFIG_KEY = "btr_compact"  # in config.json: marks a folder whose weights are stored this way
MIN_ELEMENTS = 4096  # smaller matrices stay in float32
INT8, SCALE = ".int8", ".scale"  # suffixes: under a weight's plain name, other tools would take the int8 for all of it
LARGEST = 127
TINY = LARGEST / torch.finfo(torch.float32).max  # 127 / x overflows for x below this: such rows become zeros


def quantise_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix as int8, and each row's scale: its largest absolute element / 127, or 1 for a row of zeros."""
    largest = largest_or_default(weight.abs().amax(1))
    # As CTranslate2 does it: multiplying by 127 / largest sometimes rounds differently from dividing by the scale.
    return (weight * (LARGEST / largest)[:, None]).round().to(torch.int8), largest / LARGEST


def requantised_scale(numbers: Tensor, scale: Tensor) -> Tensor:
    """Return the scales that `quantise_rows` would give the matrix of these numbers and scales; the numbers stay."""
    return largest_or_default(numbers.abs().amax(1).float() * scale) / LARGEST


def largest_or_default(largest: Tensor) -> Tensor:
    """Return each row's largest absolute element, where that of a row of zeros counts as 127."""
    return torch.where(largest < TINY, LARGEST, largest)


def dequantise_rows(numbers: Tensor, scale: Tensor) -> Tensor:
    """Return the matrix in float32."""
    return numbers.float() * scale[:, None]


def pack_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return large matrices as int8 with their scales, and all else as float32."""
    packed = {}
    for name, weight in weights.items():
        exact = weight.float() if weight.is_floating_point() else weight
        if exact.ndim == 2 and exact.numel() >= MIN_ELEMENTS and "relative_attention_bias" not in name:
            packed[name + INT8], packed[name + SCALE] = quantise_rows(exact)
        else:
            packed[name] = exact
    return packed


def unpack_weights(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """Undo `pack_weights`, up to half a scale per element."""
    weights = {}
    for name, weight in packed.items():
        if name.endswith(INT8):
            name = name.removesuffix(INT8)
            weights[name] = dequantise_rows(weight, packed[name + SCALE])
        elif name.removesuffix(SCALE) + INT8 not in packed:
            weights[name] = weight
    return weights
