"""`btr compact`: write a model in a quarter of its size, small enough to ship; and expand it again."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file

from btr.corpus.files import PathLike, Paths, as_paths, writing_folder
from btr.errors import InputError
from btr.models.config import read_config
from btr.models.identity import read_object
from btr.models.int8_weights import CONFIG_KEY, pack_weights, unpack_weights
from btr.models.loaded import read_weights
from btr.models.locate import TOKENIZER_FILES, fetch_folder
from btr.models.vocabulary import choose_vocabulary
from btr.records import Record

COPIED_FILES = (
    *TOKENIZER_FILES,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    "generation_config.json",
    "profiles.json",
    "README.md",
)


@dataclass(frozen=True, slots=True)
class Compacted(Record):
    """Where a compact model is, and its size beside that of the original's weights in float32.

    The numbers of pieces are known where the vocabulary was made smaller.
    """

    model: str
    megabytes: float
    float32_megabytes: float
    pieces: int | None = None
    original_pieces: int | None = None


def compact(model: str, output: PathLike, *, vocabulary: Paths | None = None) -> Compacted:
    """Write a model with its matrices as int8, one scale per row, to a folder that every verb can read.

    With `vocabulary`, texts of one paragraph per line, a T5 loses the pieces that these texts do not use; the model
    may be compact already.
    """
    target = Path(os.path.realpath(output))
    folder = Path(os.path.realpath(fetch_folder(model)))
    config, texts = read_config(str(folder), model), as_paths(vocabulary)
    if getattr(config, CONFIG_KEY, False) and not texts:
        raise InputError(f"{model}: is compact already.")
    if target == folder or target in folder.parents:
        raise InputError(f"{output}: is where the model is; name another folder for the output.")
    if target.exists() and not target.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the output.")
    if target.is_dir() and any(target.iterdir()) and not is_compact(target):
        raise InputError(f"{output}: is not empty, and no compact model; name another folder for the output.")
    weights = unpack_weights(read_weights(folder, model))
    for name, weight in weights.items():
        if not torch.isfinite(weight).all():
            raise InputError(f"{model}: has weights that are not finite, in {name}.")
    before = sum(weight.numel() * 4 for weight in weights.values())
    smaller = choose_vocabulary(folder, config, model, texts) if texts else None
    with writing_folder(output) as temporary:
        if smaller is None:
            write_model(folder, temporary, pack_weights(weights), {CONFIG_KEY: 1})
        else:
            keys = {CONFIG_KEY: 1, "vocab_size": len(smaller.rows)}
            write_model(folder, temporary, pack_weights(smaller.select_rows(weights, model)), keys)
            smaller.write_tokenizer(temporary, config, model)
    after = (target / "model.safetensors").stat().st_size
    pieces = (len(smaller.pieces), smaller.original_pieces) if smaller else ()
    return Compacted(str(output), round(after / 1e6, 1), round(before / 1e6, 1), *pieces)


def expand_to(folder: Path, name: str, target: Path) -> None:
    """Write a compact model as a plain one, in float32."""
    write_model(folder, target, unpack_weights(read_weights(folder, name)), {})


def write_model(folder: Path, target: Path, weights: dict[str, torch.Tensor], keys: dict[str, int]) -> None:
    """Write a model's folder with other weights, and with these keys in its configuration."""
    target.mkdir(parents=True, exist_ok=True)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    (target / "model.safetensors").chmod(0o644)  # safetensors makes it readable by the owner alone
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for key in ("torch_dtype", CONFIG_KEY):
        config.pop(key, None)
    config |= {"dtype": "float32", **keys}  # with the original type, libraries would round the weights to it
    (target / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    for name in COPIED_FILES:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, target / name)


def is_compact(folder: Path) -> bool:
    """Return whether a folder holds a compact model."""
    try:
        return bool(read_object(folder / "config.json").get(CONFIG_KEY))
    except (OSError, InputError):
        return False
