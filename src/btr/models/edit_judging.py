"""A bidirectional T5 that reads a candidate once, nothing masked, and says of each edit how likely it is right.

The encoder reads the source, the fully visible decoder the whole candidate, and the head (`edit_head.py`) both.
"""

from typing import Any

from torch import nn
from transformers import T5Config, T5Model

from btr.models.edit_head import HEAD, HEAD_SPEED, EditHead


class EditJudgingT5(T5Model):
    """A T5 without output layer, and with a head for edits."""

    _keep_in_fp32_modules = ["wo", HEAD]  # noqa: RUF012 (as in `transformers`); these have two passes in int8

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.edit_head = EditHead(config.d_model)
        self.post_init()

    @classmethod
    def from_config(cls, config: T5Config) -> "EditJudgingT5":
        """Return a model with random weights, as the automatic classes of `transformers` do."""
        return cls(config)

    def _init_weights(self, module: Any) -> None:
        head = getattr(self, HEAD, None)  # which the superclass does not have
        if head is not None and module in (head.first, head.last):
            nn.init.normal_(module.weight, std=module.in_features**-0.5 / HEAD_SPEED)  # T5 itself would take 1
            nn.init.zeros_(module.bias)
        else:
            super()._init_weights(module)
