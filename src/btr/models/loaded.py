"""What a model is once it is loaded, and reading its weights. Nothing here imports `transformers`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from btr.errors import InputError
from btr.models.locate import first_line, weight_files

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class LoadedModel:
    """A model ready for inference, its tokenizer, and the signature that identifies it."""

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    signature: str
    int8: bool = False


def read_weights(folder: Path, name: str) -> dict[str, torch.Tensor]:
    """Return all weights of a folder, as they are on disk."""
    files = [path for path in weight_files(folder) if path.suffix == ".safetensors"]
    if not files:
        raise InputError(f"{name}: has no model.safetensors.")
    try:
        return {key: weight for path in files for key, weight in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise InputError(f"{name}: its weights can't be read ({first_line(error)}).") from None
