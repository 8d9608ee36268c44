"""`btr compact`: a model small enough to ship, a quarter of the size; and back, for what reads models from disk."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from btr.corpus.files import PathLike, replace_folder
from btr.errors import InputError
from btr.models.int8_weights import CONFIG_KEY, pack_weights, unpack_weights
from btr.models.load import TOKENIZER_FILES, fetch_folder, read_config, read_weights

KEPT = (
    *TOKENIZER_FILES,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    "generation_config.json",
    "profiles.json",
    "README.md",
)


def compact(model: str, output: PathLike) -> dict[str, Any]:
    """Write a model with its matrices as int8, one scale a row, to a folder that all verbs take as they take others."""
    place = Path(os.path.realpath(output))
    folder = Path(os.path.realpath(fetch_folder(model)))
    if getattr(read_config(str(folder), model), CONFIG_KEY, False):
        raise InputError(f"{model}: is compact already.")
    if place == folder or place in folder.parents:
        raise InputError(f"{output}: is where the model is; name another folder for the output.")
    if place.exists() and not place.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the output.")
    if place.is_dir() and any(place.iterdir()) and not is_compact(place):
        raise InputError(f"{output}: is not empty, and no compact model; name another folder for the output.")
    weights = read_weights(folder, model)
    for name, weight in weights.items():
        if not torch.isfinite(weight).all():
            raise InputError(f"{model}: has weights that are not finite, in {name}.")
    before = sum(weight.numel() * 4 for weight in weights.values())
    temporary = place.with_name(f"{place.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        write(folder, temporary, pack_weights(weights), {CONFIG_KEY: 1})
        replace_folder(temporary, place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    after = (place / "model.safetensors").stat().st_size
    return {"model": str(output), "megabytes": round(after / 1e6, 1), "float32_megabytes": round(before / 1e6, 1)}


def expand_to(folder: Path, name: str, target: Path) -> None:
    """Write a compact model as a plain one, in float32."""
    write(folder, target, unpack_weights(read_weights(folder, name)), {})


def write(folder: Path, target: Path, weights: dict[str, torch.Tensor], keys: dict[str, int]) -> None:
    """A model's folder with other weights, and with these keys in its configuration."""
    target.mkdir(parents=True)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    (target / "model.safetensors").chmod(0o644)  # the library makes it the owner's alone
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for key in ("torch_dtype", CONFIG_KEY):
        config.pop(key, None)
    config |= {"dtype": "float32", **keys}  # libraries would round the weights to the type that they had
    (target / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    for name in KEPT:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, target / name)


def is_compact(folder: Path) -> bool:
    """Whether a folder has a compact model."""
    try:
        return bool(json.loads((folder / "config.json").read_text(encoding="utf-8")).get(CONFIG_KEY))
    except (OSError, ValueError, AttributeError):
        return False
