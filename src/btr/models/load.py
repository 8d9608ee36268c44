"""Loading models by folder, name or hub id; whatever is wrong with them is said in one sentence."""

import hashlib
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
from btr.models.int8_layers import can_quantise, quantise
from btr.models.int8_weights import CONFIG_KEY as COMPACT_KEY
from btr.models.int8_weights import unpack_weights
from btr.models.locate import locate_model

RIGHT_TO_LEFT_KEY = "right_to_left"
DTYPES = "float32", "bfloat16"
TOKENIZER_FILES = "tokenizer.json", "spiece.model", "sentencepiece.bpe.model", "vocab.json", "vocab.txt"
FILES = "*.safetensors", "*.bin", "config.json", "generation_config.json", "merges.txt", *TOKENIZER_FILES
AUTO_CLASSES: dict[str, Any] = {
    "seq2seq": AutoModelForSeq2SeqLM,
    "btr": AutoModelForSeq2SeqLM,
    "l2r": AutoModelForSeq2SeqLM,
    "r2l": AutoModelForSeq2SeqLM,
    "roberta": AutoModelForMaskedLM,
    "bert": AutoModelForSequenceClassification,
}


@dataclass(frozen=True)
class LoadedModel:
    """A model ready for inference, its tokenizer, and what identifies it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    signature: str
    int8: bool = False


def load(kind: str, name: str, *, dtype: str = "float32", device: str | None = None, int8: bool = False) -> LoadedModel:
    """Load a model of a kind.

    That is btr, l2r, r2l (T5), roberta (any masked language model), bert (any classifier) or seq2seq (what writes
    candidates).
    """
    silence_libraries()
    place = choose_device(device)
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype!r}.")
    if int8 and (dtype != "float32" or place.type != "cpu"):
        raise InputError("int8 is for float32 models on a CPU.")
    if int8 and not can_quantise():
        raise InputError("int8 needs an x86 processor here; leave it out.")
    folder = locate_model(name)
    config = read_config(folder, name)
    check_kind(kind, config, name)
    model, missing = read_model(kind, config, name, getattr(torch, dtype))
    if missing:
        raise InputError(f"{name}: has no weights for {missing[0]}, so it is not a trained {kind} model.")
    tokenizer = load_tokenizer(folder, config, name)
    model = model.to(place).eval()
    if kind == "btr":
        check_bidirectional(make_bidirectional(model), name)
    signature = f"{kind}|model:{Path(name).name}#{identity(model, tokenizer)}|dtype:{dtype}"
    if int8:
        quantise(model)
        signature += f"|int8:{INT8}"
    return LoadedModel(model, tokenizer, signature, int8)


def read_model(kind: str, config: Any, name: str, dtype: torch.dtype) -> tuple[Any, list[str]]:
    """A model of a kind, from a plain folder or a compact one, and the names of weights that it lacks."""
    options = {"config": config, "dtype": dtype, "output_loading_info": True}
    try:
        if not hasattr(config, COMPACT_KEY):
            model, report = AUTO_CLASSES[kind].from_pretrained(locate_model(name), **options)
        else:
            delattr(config, COMPACT_KEY)  # so that what is saved of it later is plain
            folder = fetch_folder(name)
            with torch.device("meta"):
                own = type(AUTO_CLASSES[kind].from_config(config))
            model, report = own.from_pretrained(None, state_dict=unpack_weights(read_weights(folder, name)), **options)
            if (folder / "generation_config.json").is_file():
                model.generation_config = GenerationConfig.from_pretrained(folder)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{name}: can't be loaded as {kind} ({first_line(error)}).") from None
    for module in model.modules():
        if isinstance(getattr(module, "act", None), NewGELUActivation):
            module.act = GELUTanh()  # the same function in one step instead of seven
    return model, sorted(report["missing_keys"])


def read_weights(folder: Path, name: str) -> dict[str, torch.Tensor]:
    """All weights of a folder, as they are on disk."""
    files = [path for path in [folder / "model.safetensors"] if path.is_file()] or [*folder.glob("model-*.safetensors")]
    if not files:
        raise InputError(f"{name}: has no model.safetensors.")
    try:
        return {key: weight for path in files for key, weight in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise InputError(f"{name}: its weights can't be read ({first_line(error)}).") from None


def choose_device(name: str | None) -> torch.device:
    """The device asked for, or a GPU if there is one: under a launcher, each process its own."""
    if name is None:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} can't be used ({first_line(error)}).") from None


def load_tokenizer(folder: str, config: Any, name: str) -> PreTrainedTokenizerBase:
    """The model's own tokenizer. Where files are missing, the library makes up an empty one: refuse that."""
    if Path(folder).is_dir() and not any((Path(folder) / file).is_file() for file in TOKENIZER_FILES):
        raise InputError(
            f"{name}: has no tokenizer ({', '.join(TOKENIZER_FILES)}); copy it from the model it came from."
        )
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: its tokenizer can't be loaded ({first_line(error)}).") from None
    ids: list[int] = tokenizer("a")["input_ids"]
    if config.model_type in MODEL_TYPES and ids[-1:] != [config.eos_token_id]:
        raise InputError(f"{name}: its tokenizer does not end a text with </s>, as a T5's does.")
    return tokenizer


def start_token(config: Any) -> int:
    """What the decoder reads first: the padding, in a T5."""
    start = getattr(config, "decoder_start_token_id", None)
    return int(config.pad_token_id if start is None else start)


def silence_libraries() -> None:
    """Keep libraries from talking: what matters is said in one sentence."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)


def fetch_folder(name: str) -> Path:
    """A model's folder; one of the hub is downloaded if it is not there."""
    folder = locate_model(name)
    if Path(folder).is_dir():
        return Path(folder)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(folder, allow_patterns=list(FILES)))
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: can't be fetched from the hub ({first_line(error)}).") from None


def read_config(folder: str, name: str) -> Any:
    """A model's configuration, from a folder or the hub."""
    silence_libraries()
    if Path(folder).is_dir() and not (Path(folder) / "config.json").is_file():
        raise InputError(f"{name}: has no config.json; is this a model's folder?")
    try:
        return AutoConfig.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name}: no such folder, shipped model or model on the hub that can be reached ({first_line(error)})."
        ) from None


def is_t5(name: str) -> bool:
    """Whether a model is a T5, by its configuration."""
    return read_config(locate_model(name), name).model_type in MODEL_TYPES


def check_kind(kind: str, config: Any, name: str) -> None:
    """Refuse a model that is not of the kind asked for, before its weights are read."""
    t5 = config.model_type in MODEL_TYPES
    is_bidirectional = bool(getattr(config, CONFIG_KEY, False))
    is_right_to_left = bool(getattr(config, RIGHT_TO_LEFT_KEY, False))
    side, own = ("right to left", "r2l") if is_right_to_left else ("left to right", "l2r")
    if kind == "seq2seq" and not getattr(config, "is_encoder_decoder", False):
        raise InputError(f"{name}: is a {config.model_type} model, which can't write candidates; that takes a seq2seq.")
    if kind == "seq2seq" and (is_bidirectional or is_right_to_left):
        what = "a BTR" if is_bidirectional else "a right-to-left model"
        raise InputError(f"{name}: is {what}; candidates are written by a left-to-right seq2seq model.")
    if kind in ("btr", "l2r", "r2l") and not t5:
        raise InputError(f"{name}: is a {config.model_type} model, but {kind} needs a T5.")
    if kind in ("roberta", "bert") and getattr(config, "is_encoder_decoder", False):
        raise InputError(f"{name}: is a {config.model_type} model, but {kind} needs an encoder only.")
    if kind == "btr" and not is_bidirectional:
        raise InputError(f"{name}: writes {side}, so it is no BTR; train one from it, or score with {own}.")
    if kind != "btr" and is_bidirectional:
        raise InputError(f"{name}: is a BTR, not {kind}; name it as btr:{name}.")
    if t5 and kind in ("l2r", "r2l") and kind != own:
        raise InputError(f"{name}: writes {side}, so it is not {kind}.")


def first_line(error: Exception) -> str:
    """The first sentence of a library's message."""
    return str(error).strip().split("\n")[0].rstrip(".")


def identity(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Eight hexadecimal digits that change with any weight, and with the vocabulary."""
    digest = hashlib.sha256(repr(sorted(tokenizer.get_vocab().items())).encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:8]
