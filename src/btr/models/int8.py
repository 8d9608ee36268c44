"""Linear layers in int8, on a CPU: weights by rows, once; inputs by rows, too, as they come.

The libraries' own dynamic layers have one scale for all rows of an input, so that a token's numbers depend on what else
is in the batch. Here each row is divided by its largest number first, and what comes out multiplied with it: a row's
result is its own, and closer. Inputs have seven bits: with eight, sums overflow on processors without VNNI.
"""

import warnings
from typing import Any

import torch
from torch import Tensor

from btr.models.rows import shrink

LARGEST = 63  # of seven bits
MIDDLE = LARGEST + 1  # what stands for 0
TINY = torch.finfo(torch.float32).tiny


class Linear8(torch.nn.Module):
    """A linear layer that computes in int8."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        numbers, scale = shrink(linear.weight.detach())
        with warnings.catch_warnings():  # that quantised tensors will go, some day
            warnings.simplefilter("ignore")
            weight = torch._make_per_channel_quantized_tensor(
                numbers, scale.double(), torch.zeros_like(scale, dtype=torch.long), 0
            )
        bias = None if linear.bias is None else torch.zeros_like(linear.bias)
        self.bias = linear.bias
        self.packed: Any = torch.ops.quantized.linear_prepack(weight, bias)

    def forward(self, inputs: Tensor) -> Tensor:
        largest = torch.linalg.vector_norm(inputs, torch.inf, -1, keepdim=True).clamp_min_(TINY)
        out: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            inputs / largest, 1 / LARGEST, MIDDLE, self.packed
        )
        out *= largest
        return out if self.bias is None else out + self.bias


def quantise(model: Any) -> None:
    """Make linear layers int8, in place.

    The last layer stays as it is, and so does what the library itself keeps in float32: a T5's `wo`, whose inputs are
    so unequal that most of int8's error would come from there.
    """
    last = model.get_output_embeddings()
    kept = set(getattr(model, "_keep_in_fp32_modules", None) or ())
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear) and module is not last and kept.isdisjoint(name.split(".")):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, Linear8(module))
