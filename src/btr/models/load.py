"""Loading models by folder, shipped name or hub id. Whatever is wrong with one is said in one sentence."""

from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    GenerationConfig,
)
from transformers.activations import GELUTanh, NewGELUActivation

from btr.errors import InputError
from btr.models.batches import INT8
from btr.models.bidirectional import check_bidirectional, make_bidirectional
from btr.models.config import BIDIRECTIONAL_KINDS, check_kind, read_config, silence_libraries
from btr.models.device import choose_device
from btr.models.edit_judging import EditJudgingT5
from btr.models.identity import model_hash
from btr.models.int8_layers import can_quantise, quantise
from btr.models.int8_weights import CONFIG_KEY as COMPACT_KEY
from btr.models.int8_weights import unpack_weights
from btr.models.loaded import LoadedModel, read_weights
from btr.models.locate import fetch_folder, first_line, locate_model, refuse_code
from btr.models.threads import prepare_for_forks
from btr.models.tokenizer import load_tokenizer

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
    except UnpicklingError:
        raise refuse_code(name) from None
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{name}: can't be loaded as {kind} ({first_line(error)}).") from None
    for module in model.modules():
        if isinstance(getattr(module, "act", None), NewGELUActivation):
            module.act = GELUTanh()  # the same function in one step instead of seven
    return model, sorted(report["missing_keys"])
