"""The device that models run on."""

import os

import torch

from btr.errors import InputError
from btr.models.locate import first_line


def choose_device(name: str | None) -> torch.device:
    """Return the named device; by default a GPU if there is one, and under a launcher one GPU per process."""
    if name is None:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} can't be used ({first_line(error)}).") from None
