"""Linear layers in int8, on a CPU: weights by rows, once; inputs by rows, too, as they come.

The libraries' own dynamic layers have one scale for all rows of an input, so that a token's numbers depend on what else
is in the batch. Here each row is divided by its largest number first, and what comes out multiplied with it: a row's
result is its own, and closer. Inputs have seven bits: with eight, sums overflow on processors without VNNI.
"""

import warnings
from typing import Any

import torch
from torch import Tensor

from btr.models.int8_weights import quantise_rows

ENGINE = "fbgemm"  # of the operation that is used; on x86 processors only
LARGEST = 63  # of seven bits
MIDDLE = LARGEST + 1  # what stands for 0
TINY = torch.finfo(torch.float32).tiny


class Int8Linear(torch.nn.Module):
    """A linear layer that computes in int8."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        numbers, scale = quantise_rows(linear.weight.detach())
        with warnings.catch_warnings():  # that quantised tensors will go, some day
            warnings.simplefilter("ignore")
            weight = torch._make_per_channel_quantized_tensor(
                numbers, scale.double(), torch.zeros_like(scale, dtype=torch.long), 0
            )
        self.weight, self.bias = None, linear.bias  # the library looks at both
        engine = torch.backends.quantized.engine
        torch.backends.quantized.engine = ENGINE
        self.packed: Any = torch.ops.quantized.linear_prepack(weight, None)
        torch.backends.quantized.engine = engine

    def forward(self, inputs: Tensor) -> Tensor:
        largest = inputs.abs().amax(-1, keepdim=True).clamp_min_(TINY)
        out = self.multiply(inputs / largest).mul_(largest)
        return out if self.bias is None else out.add_(self.bias)

    def multiply(self, inputs: Tensor) -> Tensor:
        """The product of the weights with numbers between -1 and 1, which are rounded to seven bits."""
        out: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            inputs, 1 / LARGEST, MIDDLE, self.packed
        )
        return out


class Int8LinearTwoPass(Int8Linear):
    """The same for inputs so unequal that seven bits are too few: what rounding leaves of them is multiplied, too."""

    def multiply(self, inputs: Tensor) -> Tensor:
        rest = (inputs * LARGEST).round_().div_(-LARGEST).add_(inputs).mul_(2 * LARGEST)  # at most half a step
        return super().multiply(inputs).add_(super().multiply(rest), alpha=1 / (2 * LARGEST))


def can_quantise() -> bool:
    """Whether this processor can compute so."""
    return ENGINE in torch.backends.quantized.supported_engines


def quantise(model: Any) -> None:
    """Make linear layers int8, in place.

    Inputs are rounded twice where it tells: in the last layer, and in what the library itself keeps in float32 (a T5's
    `wo`, whose inputs are so unequal that most of int8's error would come from there).
    """
    last = model.get_output_embeddings()
    kept = set(getattr(model, "_keep_in_fp32_modules", None) or ())
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear):
            parent, _, own = name.rpartition(".")
            twice = module is last or not kept.isdisjoint(name.split("."))
            setattr(model.get_submodule(parent), own, (Int8LinearTwoPass if twice else Int8Linear)(module))
