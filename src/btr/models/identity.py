"""The identity of a model: a hash of the files that its results depend on. Nothing is loaded here."""

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from btr.errors import InputError
from btr.models.locate import TOKENIZER_FILES, fetch_folder, weight_files
from btr.models.stored_hashes import FileState, find_hash, store_hash

VOCABULARY_FILES = *TOKENIZER_FILES, "added_tokens.json", "merges.txt"
# Keys of config.json that do not count. transformers 5 saves "tie_word_embeddings": true for every T5; whether
# embeddings are tied shows in the weights.
VOLATILE_KEYS = {"transformers_version", "_name_or_path", "dtype", "torch_dtype", "tie_word_embeddings"}


def model_hash(name: str) -> str:
    """Return eight hexadecimal digits that identify a model by folder, shipped name or hub id.

    They change with its weights, its vocabulary and its configuration, and with nothing else in its folder.
    """
    folder = fetch_folder(name)
    digest = hashlib.sha256(read_configs(folder, name).encode())
    for path in [*weight_files(folder), *(folder / file for file in VOCABULARY_FILES)]:
        if path.is_file():
            digest.update(path.name.encode() + hash_once(path.resolve()))
    return digest.hexdigest()[:8]


def read_configs(folder: Path, name: str) -> str:
    """Return what counts of a folder's configuration: also the special tokens that generation_config.json names."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{name}: has no config.json; has the model been trained?")
    config = read_object(folder / "config.json")
    tokens = read_object(folder / "generation_config.json") if (folder / "generation_config.json").is_file() else {}
    content = {
        "config": {key: value for key, value in config.items() if key not in VOLATILE_KEYS},
        "tokens": {key: value for key, value in tokens.items() if key.endswith("_token_id")},
    }
    return json.dumps(content, sort_keys=True)


def read_object(path: Path) -> dict[str, object]:
    """Read a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: is not a JSON object.")
    return content


def hash_once(path: Path) -> bytes:
    """Return a file's SHA-256, computed once unless the file changes: per process, or if it is large, once for all."""
    state = path.stat()
    return _hash_once(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _hash_once(path: Path, modified: int, size: int) -> bytes:
    state = FileState.of(path)
    stored = find_hash(path, state)
    if stored is not None:
        return stored
    digest = hash_file(path)
    store_hash(path, state, digest)
    return digest


def hash_file(path: Path) -> bytes:
    """Return a file's SHA-256."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
