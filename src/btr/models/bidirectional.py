"""The BTR's architecture: transformers' own T5 with a decoder that sees both sides of every token."""

from typing import Any

import torch
from transformers import PreTrainedModel

from btr.errors import InputError

CONFIG_KEY = "bidirectional_decoder"  # in config.json, so that a saved folder says what it is
MODEL_TYPES = "t5", "mt5"


def make_bidirectional(model: PreTrainedModel) -> PreTrainedModel:
    """Make a T5's decoder fully visible, in place: no causal mask, and relative positions in both directions.

    The weights stay as they are, which makes those of a left-to-right T5 a good start: the token that is masked at
    input index j + 1 is predicted by the output at index j, as before.
    """
    decoder: Any = model.decoder
    decoder.config.is_decoder = False  # the stack's own flag stays, and with it the attention to the source
    for block in decoder.block:
        attention = block.layer[0].SelfAttention
        attention.is_decoder = attention.is_causal = False
    setattr(model.config, CONFIG_KEY, True)
    model.config.use_cache = False
    return model


@torch.inference_mode()
def sees_both_sides(model: PreTrainedModel) -> bool:
    """Whether a later token moves an earlier logit. With a causal decoder all scores would be plausible, and wrong."""
    was_training = model.training
    model.eval()
    source = torch.tensor([[5, 6, model.config.eos_token_id]], device=model.device)
    start = model.config.decoder_start_token_id or model.config.pad_token_id
    targets = torch.tensor([[start, 7, 8], [start, 7, 9]], device=model.device)
    logits = model(input_ids=source.expand(2, -1), decoder_input_ids=targets, use_cache=False).logits[:, 0].float()
    model.train(was_training)
    return not torch.allclose(logits[0], logits[1], rtol=0, atol=1e-6)


def check_bidirectional(model: PreTrainedModel, name: str) -> None:
    """Refuse a model whose decoder looks back only."""
    if not sees_both_sides(model):
        raise InputError(f"{name}: its decoder does not see later tokens, so it can't be a BTR.")
