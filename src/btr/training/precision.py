"""Which numbers training computes in: float32, or bfloat16 where that is faster."""

from typing import Literal

import torch

Precision = Literal["float32", "bfloat16"]


def choose_precision(setting: str) -> Precision:
    """Return what a recipe's `precision` means here; `auto` is bfloat16 on a device that has units for it.

    Weights, gradients and the optimizer's state are float32 in both cases: bfloat16 is for matrix products.
    """
    if setting == "auto":
        has_units = torch.cuda.is_bf16_supported() if torch.cuda.is_available() else cpu_has_bfloat16()
        return "bfloat16" if has_units else "float32"
    return "bfloat16" if setting == "bfloat16" else "float32"


def cpu_has_bfloat16() -> bool:
    """Return whether the processor multiplies matrices in bfloat16 (AVX512-BF16 or AMX); others only emulate it."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
