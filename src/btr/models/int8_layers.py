"""Linear layers in int8, on a CPU: weights are quantised once, inputs as they come, both with one scale per row.

The dynamic int8 layers of PyTorch have one scale for all rows of an input, so a token's numbers depend on the rest of
the batch. Here each row is divided by its largest number before the product and multiplied by it afterwards: a row's
result depends on nothing else, and is closer. Inputs have seven bits: with eight, sums overflow on processors without
VNNI.
"""

import warnings
from typing import Any, Self

import torch
from torch import Tensor

from btr.models.int8_weights import dequantise_rows, quantise_rows

ENGINE = "fbgemm"  # PyTorch's int8 kernels; on x86 processors only
LARGEST = 63  # of seven bits
ZERO_POINT = LARGEST + 1
TINY = torch.finfo(torch.float32).tiny


class Int8Linear(torch.nn.Module):
    """A linear layer that computes in int8."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = None, linear.bias  # transformers reads both
        self.packed = pack(quantise_weight(linear.weight.detach()))

    @classmethod
    def from_rows(cls, numbers: Tensor, scale: Tensor, bias: Tensor | None) -> Self:
        """Return a layer of these int8 numbers with one scale per row, as a compact file has them."""
        layer = cls.__new__(cls)
        torch.nn.Module.__init__(layer)
        layer.weight, layer.bias = None, bias  # type: ignore[assignment]  # torch's name for no bias
        layer.packed = pack(make_quantised(numbers, scale))
        return layer

    def forward(self, inputs: Tensor) -> Tensor:
        largest = inputs.abs().amax(-1, keepdim=True).clamp_min_(TINY)
        out = self.multiply(inputs / largest).mul_(largest)
        return out if self.bias is None else out.add_(self.bias)

    def multiply(self, inputs: Tensor) -> Tensor:
        """Multiply the weights with numbers between -1 and 1, which are rounded to seven bits."""
        out: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            inputs, 1 / LARGEST, ZERO_POINT, self.packed
        )
        return out


class Int8LinearTwoPass(Int8Linear):
    """An int8 layer for inputs so unequal that seven bits are too few: a second pass multiplies the rounding error."""

    def multiply(self, inputs: Tensor) -> Tensor:
        error = (inputs * LARGEST).round_().div_(-LARGEST).add_(inputs).mul_(2 * LARGEST)  # scaled to -1 … 1
        return super().multiply(inputs).add_(super().multiply(error), alpha=1 / (2 * LARGEST))


def quantise_weight(weight: Tensor) -> Tensor:
    """Return a quantised tensor of PyTorch that holds exactly the int8 numbers and scales of `quantise_rows`."""
    return make_quantised(*quantise_rows(weight))


def make_quantised(numbers: Tensor, scale: Tensor) -> Tensor:
    """Return a quantised tensor of PyTorch with these int8 numbers and one scale per row."""
    zero_points = torch.zeros_like(scale, dtype=torch.long)
    with warnings.catch_warnings():  # PyTorch announces that quantised tensors will be removed some day
        warnings.simplefilter("ignore")
        return torch.quantize_per_channel(dequantise_rows(numbers, scale), scale, zero_points, 0, torch.qint8)


def pack(quantised: Tensor) -> Any:
    """Return a quantised matrix as the kernels read it."""
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = ENGINE
    packed: Any = torch.ops.quantized.linear_prepack(quantised, None)
    torch.backends.quantized.engine = engine
    return packed


def can_quantise() -> bool:
    """Return whether this processor has the int8 kernels."""
    return ENGINE in torch.backends.quantized.supported_engines


def quantise(model: Any) -> None:
    """Make a model's linear layers int8, in place.

    Two passes are for the layers where int8 loses most: the last one, and those that `transformers` always keeps in
    float32 (a T5's `wo`, whose inputs are very unequal).
    """
    last = model.get_output_embeddings()
    float32_names = set(getattr(model, "_keep_in_fp32_modules", None) or ())
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear):
            parent, _, attribute = name.rpartition(".")
            needs_two_passes = module is last or not float32_names.isdisjoint(name.split("."))
            layer = Int8LinearTwoPass if needs_two_passes else Int8Linear
            setattr(model.get_submodule(parent), attribute, layer(module))
