"""The architecture that a recipe trains, without its weights: known before any model exists or is downloaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, PreTrainedConfig, RobertaConfig, T5Config

from btr.errors import InputError
from btr.models.config import read_config
from btr.models.load import AUTO_CLASSES
from btr.models.locate import SHIPPED, locate_model
from btr.training import OBJECTIVES
from btr.training.recipe import Recipe, expand, read_recipe

MODEL_FOLDER = "model"  # in a run's folder


def t5_config(**sizes: int) -> PreTrainedConfig:
    """Return the configuration of a T5 v1.1: gated, with an output layer of its own."""
    config = T5Config(vocab_size=32128, d_kv=64, feed_forward_proj="gated-gelu", **sizes)  # type: ignore[arg-type]
    config.scale_decoder_outputs = False
    return config


# The models that recipes/paper starts from, so that their costs are known without a hub.
PAPER_MODELS: Mapping[str, Any] = {
    "google/t5-v1_1-base": lambda: t5_config(d_model=768, d_ff=2048, num_layers=12, num_heads=12),
    "google/t5-v1_1-large": lambda: t5_config(d_model=1024, d_ff=2816, num_layers=24, num_heads=16),
    "roberta-base": lambda: RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1),
    "bert-large-cased": lambda: BertConfig(
        vocab_size=28996, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
}


def earlier_recipe(recipe: Recipe, path: Path) -> Path | None:
    """Return the recipe whose run a recipe starts from, if that run is still to come.

    A recipe that starts from RUN/model, where there is no such folder, needs the recipe of the run's name beside it:
    recipes/paper/btr-pretrain.yaml makes runs/btr-pretrain/model.
    """
    model = Path(expand(recipe.model))
    if model.is_dir() or (SHIPPED / model).is_dir() or model.name != MODEL_FOLDER:
        return None
    beside = path.parent / f"{model.parent.name}.yaml"
    return beside if beside.is_file() and beside.resolve() != path.resolve() else None


def first_model(recipe: Recipe, path: Path) -> str:
    """Return the model that a recipe starts from, or from which the recipes before it start."""
    known = {path.resolve()}
    while beside := earlier_recipe(recipe, path):
        if beside.resolve() in known:
            raise InputError(f"{path}: starts from {recipe.model}, which is made from this recipe's own model.")
        known.add(beside.resolve())
        recipe, path = read_recipe(beside), beside
    return expand(recipe.model)


def load_config(model: str) -> Any:
    """Return the configuration of a model by folder, shipped name or hub id; for the paper's, no hub is needed."""
    if model in PAPER_MODELS and not Path(model).is_dir():
        return PAPER_MODELS[model]()
    if Path(model).name == MODEL_FOLDER and not Path(model).is_dir():
        raise InputError(
            f"{model}: no such folder; train it first, or name a model of the same size, e.g. "
            "--set model=google/t5-v1_1-base."
        )
    return read_config(locate_model(model), model)


def build_without_weights(kind: str, config: Any) -> Any:
    """Return the model that an objective trains, with sizes but no weights."""
    model_kind = OBJECTIVES[kind].model_kind
    if model_kind == "bert":
        config.num_labels = 2
    if hasattr(config, "scale_decoder_outputs"):
        config.tie_word_embeddings = True  # encoder and decoder share their embeddings, in every T5
    with torch.device("meta"):
        model = AUTO_CLASSES[model_kind].from_config(config)
        is_untied = not getattr(config, "scale_decoder_outputs", True) and hasattr(model, "lm_head")
        if is_untied:  # transformers 5 ties every T5 that it makes
            model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    return model
