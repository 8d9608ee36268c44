"""The architecture of a BTR: a T5 of `transformers` whose decoder attends to both sides of every token."""

from typing import TYPE_CHECKING, Any

import torch

from btr.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG_KEY = "bidirectional_decoder"  # in config.json: marks the folder of a BTR
MODEL_TYPES = "t5", "mt5"


def make_bidirectional(model: "PreTrainedModel") -> "PreTrainedModel":
    """Make a T5's decoder fully visible, in place: no causal mask, and relative positions in both directions.

    The weights do not change. Those of a left-to-right T5 are a good start for training: as before, the output at index
    j predicts the token at input index j + 1, which is masked now.
    """
    decoder: Any = model.decoder
    decoder.config.is_decoder = False  # decoder.is_decoder stays True, and with it the attention to the source
    for block in decoder.block:
        attention = block.layer[0].SelfAttention
        attention.is_decoder = attention.is_causal = False
    setattr(model.config, CONFIG_KEY, True)
    model.config.use_cache = False
    return model


@torch.inference_mode()
def is_bidirectional(model: "PreTrainedModel") -> bool:
    """Return whether a later token changes an earlier logit, or an earlier state of a model without logits.

    With a causal decoder all scores would be plausible, and wrong.
    """
    was_training = model.training
    model.eval()
    source = torch.tensor([[5, 6, model.config.eos_token_id]], device=model.device)
    start = model.config.decoder_start_token_id or model.config.pad_token_id
    targets = torch.tensor([[start, 7, 8], [start, 7, 9]], device=model.device)
    outputs = model(input_ids=source.expand(2, -1), decoder_input_ids=targets, use_cache=False)[0][:, 0].float()
    model.train(was_training)
    return not torch.allclose(outputs[0], outputs[1], rtol=0, atol=1e-6)


def check_bidirectional(model: "PreTrainedModel", name: str) -> None:
    """Refuse a model whose decoder is causal."""
    if not is_bidirectional(model):
        raise InputError(f"{name}: its decoder does not attend to later tokens, so it can't be a BTR.")
