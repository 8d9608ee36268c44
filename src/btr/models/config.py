"""What a model is, by its configuration. `transformers` is imported only where config.json does not say it all."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from btr.errors import InputError
from btr.models.bidirectional import CONFIG_KEY, MODEL_TYPES
from btr.models.identity import read_object
from btr.models.int8_weights import CONFIG_KEY as COMPACT_KEY
from btr.models.locate import first_line, locate_model

RIGHT_TO_LEFT_KEY = "right_to_left"  # in config.json of a model that was trained on reversed targets
EDIT_JUDGING_CLASS = "EditJudgingT5"  # among the architectures of a model that has a head for edits
BIDIRECTIONAL_KINDS = "btr", "edit-btr"
CAUSAL_ENDINGS = "ForCausalLM", "LMHeadModel"  # of the class names of causal language models
READ_TYPES = *MODEL_TYPES, "llama"  # types of models whose config.json can be read without `transformers`
REQUIRED_KEYS = {"is_encoder_decoder", "eos_token_id"}  # other keys that count have the same default for all types


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What must be known of a model that CTranslate2 runs. The names are those of config.json."""

    model_type: str
    is_encoder_decoder: bool
    architectures: Sequence[str] | None
    eos_token_id: int | None
    bidirectional_decoder: bool
    right_to_left: bool
    btr_compact: bool


def read_facts(path: str, name: str) -> ModelFacts:
    """Read what CTranslate2's engine must know of a model, without the seconds that `transformers` takes to import.

    A model of a type that is not known here, or whose config.json leaves a key to the type's default, is read with it.
    """
    file = Path(path) / "config.json"
    try:
        content = read_object(file) if file.is_file() else {}
    except InputError:
        content = {}
    is_complete = content.get("model_type") in READ_TYPES and set(content) >= REQUIRED_KEYS
    config: Any = SimpleNamespace(**content) if is_complete else read_config(path, name)
    return ModelFacts(
        config.model_type,
        bool(getattr(config, "is_encoder_decoder", False)),
        getattr(config, "architectures", None),
        getattr(config, "eos_token_id", None),
        bool(getattr(config, CONFIG_KEY, False)),
        bool(getattr(config, RIGHT_TO_LEFT_KEY, False)),
        bool(getattr(config, COMPACT_KEY, False)),
    )


def read_config(path: str, name: str) -> Any:
    """Read a model's configuration, from a folder or the hub."""
    silence_libraries()
    is_here = Path(path).is_dir()
    if is_here and not (Path(path) / "config.json").is_file():
        raise InputError(f"{name}: has no config.json; is this a model's folder?")
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # where a value is of a wrong type, `transformers` raises anything
        what = "no such folder, shipped model or model on the hub that can be reached"
        if is_here:
            what = "its config.json can't be read"
        raise InputError(f"{name}: {what} ({first_line(error)}).") from None
    if hasattr(config, "auto_map"):
        del config.auto_map  # code in the model's folder, which `transformers` would ask the user to run
    return config


def is_t5(name: str) -> bool:
    """Return whether a model is a T5, by its configuration."""
    return read_facts(locate_model(name), name).model_type in MODEL_TYPES


def start_token(config: Any) -> int:
    """Return the first token that the decoder reads: the padding, in a T5."""
    start = getattr(config, "decoder_start_token_id", None)
    return int(config.pad_token_id if start is None else start)


def silence_libraries() -> None:
    """Silence warnings and progress bars of libraries; our errors say what matters."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)


def judges_edits(config: Any) -> bool:
    """Return whether a model has a head for edits, and so no output layer."""
    return EDIT_JUDGING_CLASS in (getattr(config, "architectures", None) or ())


def check_kind(kind: str, config: Any, name: str) -> None:
    """Refuse a model of another kind, before its weights are read."""
    if kind not in ("edit-btr", "seq2seq") and judges_edits(config):
        raise InputError(f"{name}: judges edits; name it as edit-btr:{name}.")
    is_encoder_decoder = bool(getattr(config, "is_encoder_decoder", False))
    is_bidirectional = bool(getattr(config, CONFIG_KEY, False))
    is_right_to_left = bool(getattr(config, RIGHT_TO_LEFT_KEY, False))
    direction, causal_kind = ("right to left", "r2l") if is_right_to_left else ("left to right", "l2r")
    if kind == "seq2seq":
        if not is_encoder_decoder:
            raise InputError(f"{name}: is a {config.model_type} model; candidates are written by a seq2seq model.")
        if is_bidirectional or is_right_to_left:
            what = "a BTR" if is_bidirectional else "a right-to-left model"
            raise InputError(f"{name}: is {what}; candidates are written by a left-to-right seq2seq model.")
    elif kind in (*BIDIRECTIONAL_KINDS, "l2r", "r2l"):
        if config.model_type not in MODEL_TYPES:
            raise InputError(f"{name}: is a {config.model_type} model, but {kind} needs a T5.")
        if kind in BIDIRECTIONAL_KINDS and not is_bidirectional:
            raise InputError(
                f"{name}: writes {direction}, so it is no BTR; train one from it, or score with {causal_kind}."
            )
        if kind not in BIDIRECTIONAL_KINDS and is_bidirectional:
            raise InputError(f"{name}: is a BTR, not {kind}; name it as btr:{name}.")
        if kind not in BIDIRECTIONAL_KINDS and kind != causal_kind:
            raise InputError(f"{name}: writes {direction}, so it is not {kind}.")
    elif kind == "lm":
        classes = getattr(config, "architectures", None) or ()
        if is_encoder_decoder or not any(each.endswith(CAUSAL_ENDINGS) for each in classes):
            what = classes[0] if classes else config.model_type
            raise InputError(f"{name}: is a {what}, but lm needs a causal language model.")
    elif is_encoder_decoder:
        raise InputError(f"{name}: is a {config.model_type} model, but {kind} needs an encoder only.")
