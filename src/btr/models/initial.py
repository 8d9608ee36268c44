"""Models as training starts from them; weights that a model lacks are initialised at random."""

from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from btr.errors import InputError
from btr.models.bidirectional import CONFIG_KEY, MODEL_TYPES, make_bidirectional
from btr.models.config import BIDIRECTIONAL_KINDS, RIGHT_TO_LEFT_KEY, judges_edits, read_config, silence_libraries
from btr.models.edit_head import HEAD
from btr.models.load import read_model
from btr.models.locate import locate_model
from btr.models.tokenizer import load_tokenizer


def load_initial_model(kind: str, name: str, dropout: float | None, seed: int) -> tuple[Any, PreTrainedTokenizerBase]:
    """Load a model to train as a kind, in float32, and its tokenizer.

    A BTR and an R2L model may start from any left-to-right T5. `seed` is for weights that the model lacks.
    """
    silence_libraries()
    path = locate_model(name)
    config = read_config(path, name)
    is_t5 = config.model_type in MODEL_TYPES
    if kind in ("seq2seq", *BIDIRECTIONAL_KINDS, "r2l") and not is_t5:
        raise InputError(f"{name}: is a {config.model_type} model, but {kind} is trained from a T5.")
    if kind in ("roberta", "bert") and getattr(config, "is_encoder_decoder", False):
        raise InputError(f"{name}: is a {config.model_type} model, but {kind} is trained from an encoder.")
    for key, trained_kinds, what in (
        (CONFIG_KEY, BIDIRECTIONAL_KINDS, "a BTR"),
        (RIGHT_TO_LEFT_KEY, ("r2l",), "a right-to-left model"),
    ):
        if kind not in trained_kinds and getattr(config, key, False):
            raise InputError(
                f"{name}: is {what}; {kind} is trained from a left-to-right T5 or from one of its own kind."
            )
    if kind != "edit-btr" and judges_edits(config):  # `transformers` would take the embeddings for an output layer
        raise InputError(f"{name}: judges edits and has no output layer; {kind} is trained from another BTR or T5.")
    for key in ("dropout_rate", "hidden_dropout_prob", "attention_probs_dropout_prob"):
        if dropout is not None and hasattr(config, key):
            setattr(config, key, dropout)
    if kind == "bert":
        config.num_labels = 2
    torch.manual_seed(seed)
    model, missing = read_model(kind, config, name, torch.float32)
    missing = [
        weight for weight in missing if not weight.startswith(HEAD)
    ]  # training starts the head from random weights
    if is_t5 and missing:
        raise InputError(f"{name}: has no weights for {missing[0]}; is it complete?")
    if kind in BIDIRECTIONAL_KINDS:
        make_bidirectional(model)
    if kind == "r2l":
        setattr(model.config, RIGHT_TO_LEFT_KEY, True)
    return model, load_tokenizer(path, config, name)
