"""GGUF files, as llama.cpp reads them: one file with a language model's quantised weights and its vocabulary.

A file is expanded once to the folder of a plain float32 model, which `transformers` and CTranslate2 read.
"""

import contextlib
import io
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from filelock import FileLock

from btr.corpus.files import refused_writes, user_cache
from btr.errors import InputError, needs_models

MAGIC = b"GGUF"


def gguf_folder(path: Path) -> Path:
    """Return the folder in the cache that a GGUF file is expanded to, which is made if it is missing."""
    from btr.models.identity import hash_once

    check_magic(path)
    folder = user_cache() / f"gguf-{hash_once(path.resolve()).hex()[:16]}"
    if not folder.is_dir():
        expand_gguf(path, folder)
    return folder


def check_magic(path: Path) -> None:
    """Refuse a file that does not begin as a GGUF file does."""
    with open(path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path}: is not a GGUF file.")


def expand_gguf(path: Path, folder: Path) -> None:
    """Write a GGUF file as the folder of a plain float32 model; the folder appears only when it is complete."""
    with refused_writes(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.lock"):  # other processes wait, and then use the folder
            if folder.is_dir():
                return
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                write_plain_model(path, temporary)
                os.rename(temporary, folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)


def write_plain_model(path: Path, folder: Path) -> None:
    """Write the dequantised weights, the configuration and the tokenizer of a GGUF file."""
    try:
        import gguf  # noqa: F401  (transformers reads the file with it)
        import torch
        from safetensors.torch import save_file
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from btr.models.config import silence_libraries
    except ModuleNotFoundError as error:
        raise needs_models(str(path), error) from None

    silence_libraries()
    try:
        file: dict[str, Any] = {
            "pretrained_model_name_or_path": str(path.parent),
            "gguf_file": path.name,
            "trust_remote_code": False,
        }
        with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that has no switch
            model = AutoModelForCausalLM.from_pretrained(**file, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(**file)
    except Exception as error:  # the readers of a broken file raise anything
        reason = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
        raise InputError(f"{path}: can't be read as a GGUF file of a language model ({reason}).") from None
    tokenizer.save_pretrained(folder)
    config = model.config.to_dict()
    for key in ("quantization_config", "_model_name_or_path", "_name_or_path"):  # weights are plain from now on
        config.pop(key, None)
    config |= {"architectures": [type(model).__name__], "dtype": "float32"}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    weights = model.state_dict()
    if config.get("tie_word_embeddings"):
        weights.pop("lm_head.weight", None)
    save_file({name: weight.contiguous() for name, weight in weights.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    for each in (folder, folder / "model.safetensors"):  # made readable by the owner alone
        each.chmod(each.stat().st_mode | (0o055 if each.is_dir() else 0o044))
