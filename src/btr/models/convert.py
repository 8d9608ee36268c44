"""Conversion of models for CTranslate2, which runs them several times as fast on a CPU.

A conversion is made once and cached beside the model.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from filelock import FileLock

from btr.corpus.files import refused_writes, user_cache
from btr.errors import InputError, needs_models
from btr.models.bidirectional import MODEL_TYPES
from btr.models.config import check_kind, read_config, read_facts
from btr.models.identity import model_hash
from btr.models.locate import fetch_folder, first_line, locate_model, refuse_code

COMPUTE_TYPES = "float32", "int8"
MADE_FROM = "made-from.json"  # in a conversion: the model's hash, and CTranslate2's version


def convert(name: str, compute: str = "int8", kind: str = "seq2seq") -> Path:
    """Return the folder of a model's conversion, which is made if it is missing or out of date.

    The kind is seq2seq (a T5) or lm (a causal language model of a type that CTranslate2 knows).
    """
    facts = read_facts(locate_model(name), name)
    check_kind(kind, facts, name)
    if kind == "seq2seq" and facts.model_type not in MODEL_TYPES:
        raise InputError(f"{name}: is a {facts.model_type} model; ctranslate2 is for T5, use the engine transformers.")
    folder = fetch_folder(name)
    made_from = {"model": model_hash(name), "ctranslate2": ctranslate2_version()}
    cache = cache_folder(folder, made_from["model"])
    target = cache / f"ctranslate2-{compute}"
    with refused_writes(target), FileLock(cache / ".ctranslate2.lock"):  # others wait, and then use the conversion
        if is_made_from(target, made_from):
            return target
        read_config(str(folder), name)  # one clear error if `transformers` can't read it
        temporary = Path(tempfile.mkdtemp(prefix=".ctranslate2-", dir=cache))
        try:
            plain = folder
            if facts.btr_compact:
                from btr.models.compact import expand_to  # it needs `transformers`, which a cached conversion does not

                plain = temporary / "plain"
                expand_to(folder, name, plain)
            run_converter(str(plain), temporary / "model", compute, name)
            (temporary / "model" / MADE_FROM).write_text(json.dumps(made_from))
            shutil.rmtree(target, ignore_errors=True)
            os.rename(temporary / "model", target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return target


def run_converter(folder: str, target: Path, compute: str, name: str) -> None:
    """Convert from disk: converting a model in memory would alter it."""
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_model(self, *arguments: Any, **options: Any) -> Any:
            model = super().load_model(*arguments, **options, trust_remote_code=False)
            if model.config.is_encoder_decoder:
                # The converter scales the output of models whose flag says "tied"; transformers 5 sets it for all T5s.
                model.config.tie_word_embeddings = getattr(model.config, "scale_decoder_outputs", False)
            return model

        def load_tokenizer(self, *arguments: Any, **options: Any) -> Any:
            tokenizer = super().load_tokenizer(*arguments, **options, trust_remote_code=False)
            for token in ("bos_token", "eos_token", "unk_token"):
                if getattr(tokenizer, token) is None:  # CTranslate2 can't load a null; any token will do for scoring
                    setattr(tokenizer, token, tokenizer.convert_ids_to_tokens(0))
            return tokenizer

    try:
        Converter(folder).convert(str(target), quantization=compute)
    except UnpicklingError:
        raise refuse_code(name) from None
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise InputError(f"{name}: can't be converted for ctranslate2 ({first_line(error)}).") from None


def ctranslate2_version() -> str:
    """Return CTranslate2's version; where it is missing, say what to install."""
    try:
        import ctranslate2
    except ModuleNotFoundError as error:
        raise needs_models("the engine ctranslate2", error) from None
    return str(ctranslate2.__version__)


def cache_folder(folder: Path, identity: str) -> Path:
    """Return the model's folder if it can be written to, else one in the user's cache."""
    if os.access(folder, os.W_OK):
        return folder
    cache = user_cache() / f"{folder.name}-{identity}"
    with refused_writes(cache):
        cache.mkdir(parents=True, exist_ok=True)
    return cache


def is_made_from(target: Path, made_from: dict[str, str]) -> bool:
    """Return whether a folder holds the conversion of this model by this version of CTranslate2."""
    try:
        return bool(json.loads((target / MADE_FROM).read_text()) == made_from)
    except (OSError, ValueError):
        return False
