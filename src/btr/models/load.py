"""Loading models by folder, shipped name or hub id. Whatever is wrong with one is said in one sentence."""

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.activations import GELUTanh, NewGELUActivation
from transformers.utils import logging as transformers_logging

from btr.errors import InputError
from btr.models.batches import INT8
from btr.models.bidirectional import CONFIG_KEY, MODEL_TYPES, check_bidirectional, make_bidirectional
from btr.models.edit_judging import EditJudgingT5
from btr.models.identity import model_hash
from btr.models.int8_layers import can_quantise, quantise
from btr.models.int8_weights import CONFIG_KEY as COMPACT_KEY
from btr.models.int8_weights import unpack_weights
from btr.models.locate import TOKENIZER_FILES, fetch_folder, first_line, locate_model, weight_files
from btr.models.threads import prepare_for_forks

RIGHT_TO_LEFT_KEY = "right_to_left"  # in config.json of a model that was trained on reversed targets
DTYPES = "float32", "bfloat16"
AUTO_CLASSES: dict[str, Any] = {
    "seq2seq": AutoModelForSeq2SeqLM,
    "btr": AutoModelForSeq2SeqLM,
    "edit-btr": EditJudgingT5,
    "l2r": AutoModelForSeq2SeqLM,
    "r2l": AutoModelForSeq2SeqLM,
    "roberta": AutoModelForMaskedLM,
    "bert": AutoModelForSequenceClassification,
    "lm": AutoModelForCausalLM,
}
BIDIRECTIONAL_KINDS = "btr", "edit-btr"
CAUSAL_ENDINGS = "ForCausalLM", "LMHeadModel"  # of the class names of causal language models


@dataclass(frozen=True)
class LoadedModel:
    """A model ready for inference, its tokenizer, and the signature that identifies it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    signature: str
    int8: bool = False


def load(kind: str, name: str, *, dtype: str = "float32", device: str | None = None, int8: bool = False) -> LoadedModel:
    """Load a model of a kind, for inference.

    Kinds are btr, edit-btr, l2r, r2l (a T5), roberta (any masked language model), bert (any classifier), lm (any causal
    language model) and seq2seq (any model that writes candidates).
    """
    silence_libraries()
    prepare_for_forks()
    torch_device = choose_device(device)
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype!r}.")
    if int8 and (dtype != "float32" or torch_device.type != "cpu"):
        raise InputError("int8 is for float32 models on a CPU.")
    if int8 and not can_quantise():
        raise InputError("int8 needs an x86 processor; leave it out on this one.")
    path = locate_model(name)
    config = read_config(path, name)
    check_kind(kind, config, name)
    model, missing = read_model(kind, config, name, getattr(torch, dtype))
    if missing:
        raise InputError(f"{name}: has no weights for {missing[0]}, so it is not a trained {kind} model.")
    tokenizer = load_tokenizer(path, config, name)
    model = model.to(torch_device).eval()
    if kind in BIDIRECTIONAL_KINDS:
        check_bidirectional(make_bidirectional(model), name)
    signature = f"{kind}|model:{Path(name).name}#{model_hash(name)}|dtype:{dtype}"
    if int8:
        quantise(model)
        signature += f"|int8:{INT8}"
    return LoadedModel(model, tokenizer, signature, int8)


def read_model(kind: str, config: Any, name: str, dtype: torch.dtype) -> tuple[Any, list[str]]:
    """Return a model of a kind, plain or compact on disk, and the names of the weights that its files lack."""
    options = {"config": config, "dtype": dtype, "output_loading_info": True}
    try:
        if not hasattr(config, COMPACT_KEY):
            model, report = AUTO_CLASSES[kind].from_pretrained(locate_model(name), **options)
        else:
            delattr(config, COMPACT_KEY)  # a copy that is saved later has plain weights
            folder = fetch_folder(name)
            with torch.device("meta"):
                model_class = type(AUTO_CLASSES[kind].from_config(config))
            weights = unpack_weights(read_weights(folder, name))
            model, report = model_class.from_pretrained(None, state_dict=weights, **options)
            if (folder / "generation_config.json").is_file():
                model.generation_config = GenerationConfig.from_pretrained(folder)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{name}: can't be loaded as {kind} ({first_line(error)}).") from None
    for module in model.modules():
        if isinstance(getattr(module, "act", None), NewGELUActivation):
            module.act = GELUTanh()  # the same function in one step instead of seven
    return model, sorted(report["missing_keys"])


def read_weights(folder: Path, name: str) -> dict[str, torch.Tensor]:
    """Return all weights of a folder, as they are on disk."""
    files = [path for path in weight_files(folder) if path.suffix == ".safetensors"]
    if not files:
        raise InputError(f"{name}: has no model.safetensors.")
    try:
        return {key: weight for path in files for key, weight in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise InputError(f"{name}: its weights can't be read ({first_line(error)}).") from None


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


def load_tokenizer(path: str, config: Any, name: str) -> PreTrainedTokenizerBase:
    """Load a model's tokenizer. Refuse a folder without its files, for which `transformers` makes an empty one."""
    if Path(path).is_dir() and not any((Path(path) / file).is_file() for file in TOKENIZER_FILES):
        raise InputError(
            f"{name}: has no tokenizer ({', '.join(TOKENIZER_FILES)}); copy it from the model it came from."
        )
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: its tokenizer can't be loaded ({first_line(error)}).") from None
    ids: list[int] = tokenizer("a")["input_ids"]
    if config.model_type in MODEL_TYPES and ids[-1:] != [config.eos_token_id]:
        raise InputError(f"{name}: its tokenizer does not end a text with </s>, as a T5's does.")
    return tokenizer


def start_token(config: Any) -> int:
    """Return the first token that the decoder reads: the padding, in a T5."""
    start = getattr(config, "decoder_start_token_id", None)
    return int(config.pad_token_id if start is None else start)


def silence_libraries() -> None:
    """Silence warnings and progress bars of libraries; our errors say what matters."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)


def read_config(path: str, name: str) -> Any:
    """Read a model's configuration, from a folder or the hub."""
    silence_libraries()
    if Path(path).is_dir() and not (Path(path) / "config.json").is_file():
        raise InputError(f"{name}: has no config.json; is this a model's folder?")
    try:
        return AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name}: no such folder, shipped model or model on the hub that can be reached ({first_line(error)})."
        ) from None


def is_t5(name: str) -> bool:
    """Return whether a model is a T5, by its configuration."""
    return read_config(locate_model(name), name).model_type in MODEL_TYPES


def judges_edits(config: Any) -> bool:
    """Return whether a model has a head for edits, and so no output layer."""
    return EditJudgingT5.__name__ in (getattr(config, "architectures", None) or ())


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
