"""T5 models for CTranslate2, which runs them several times as fast on a CPU: converted once, kept beside the model."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from btr.errors import InputError, needs_models
from btr.models.bidirectional import MODEL_TYPES
from btr.models.compact import expand_to
from btr.models.int8_weights import CONFIG_KEY
from btr.models.load import FILES, check_kind, fetch_folder, first_line, read_config, silence_libraries
from btr.models.locate import locate_model

COMPUTE = "float32", "int8"
MADE_FROM = "made-from.json"


def convert(name: str, compute: str = "int8") -> Path:
    """The folder of a model's conversion: `ctranslate2-int8` in its own, made if it is not there or out of date."""
    silence_libraries()
    config = read_config(locate_model(name), name)
    check_kind("seq2seq", config, name)
    if config.model_type not in MODEL_TYPES:
        raise InputError(f"{name}: is a {config.model_type} model; ctranslate2 is for T5, use the engine transformers.")
    folder = fetch_folder(name)
    made_from = {"files": fingerprint(folder), "ctranslate2": version()}
    place = cache_folder(folder, str(made_from["files"]))
    target = place / f"ctranslate2-{compute}"
    with alone(place / ".ctranslate2.lock"):
        if read_json(target / MADE_FROM) == made_from:
            return target
        temporary = Path(tempfile.mkdtemp(prefix=".ctranslate2-", dir=place))
        try:
            plain = folder
            if getattr(config, CONFIG_KEY, False):
                plain = temporary / "plain"
                expand_to(folder, name, plain)
            run_converter(str(plain), temporary / "model", compute, name)
            (temporary / "model" / MADE_FROM).write_text(json.dumps(made_from))
            shutil.rmtree(target, ignore_errors=True)
            os.rename(temporary / "model", target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return target


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process at a time do what follows; others wait."""
    with open(path, "w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        except ImportError:  # no such locks on this system
            pass
        yield


def run_converter(folder: str, target: Path, compute: str, name: str) -> None:
    """Convert from disk: converting a model in memory would alter it."""
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_model(self, *arguments: Any, **options: Any) -> Any:
            model = super().load_model(*arguments, **options)
            # The converter scales the output of models whose flag says "tied"; transformers 5 says so of all T5s.
            model.config.tie_word_embeddings = getattr(model.config, "scale_decoder_outputs", False)
            return model

    try:
        Converter(folder).convert(str(target), quantization=compute)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise InputError(f"{name}: can't be converted for ctranslate2 ({first_line(error)}).") from None


def version() -> str:
    """CTranslate2's version, or what to install."""
    try:
        import ctranslate2
    except ImportError as error:
        raise needs_models("the engine ctranslate2", error) from None
    return str(ctranslate2.__version__)


def fingerprint(folder: Path) -> str:
    """Eight hexadecimal digits that change with the model's files."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        digest.update(path.name.encode())
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:8]


def cache_folder(folder: Path, identity: str) -> Path:
    """The model's own folder if it can be written to, else one of the user's."""
    if os.access(folder, os.W_OK):
        return folder
    place = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "btr" / f"{folder.name}-{identity}"
    place.mkdir(parents=True, exist_ok=True)
    return place


def read_json(path: Path) -> Any:
    """A small JSON file; None if there is none."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
