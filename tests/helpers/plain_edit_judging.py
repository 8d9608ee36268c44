"""The log-odds of an edit by the plain forward pass of `transformers`, one edit of one candidate at a time."""

import tiny
import torch
from safetensors.torch import load_file
from transformers import T5Model

from btr.models.bidirectional import make_bidirectional

WORDS = tiny.t5_tokenizer()


def plain_log_odds(folder, source, text, span):
    """The log-odds of one edit of one candidate by `transformers` and the head's weights; words are pieces.

    `span` is where the edit is: words of the candidate, and words of the source.
    """
    model, weights = (
        make_bidirectional(T5Model.from_pretrained(folder)).eval(),
        load_file(f"{folder}/model.safetensors"),
    )
    ids, row = ([WORDS(each)["input_ids"]] for each in (source, text))
    row[0].insert(0, 0)
    with torch.no_grad():
        out = model(input_ids=torch.tensor(ids), decoder_input_ids=torch.tensor(row), use_cache=False)
    encoder, decoder = out.encoder_last_hidden_state[0], out.last_hidden_state[0]
    if model.config.scale_decoder_outputs:  # as before an output layer
        decoder = decoder * model.config.d_model**-0.5
    start, end, source_start, source_end = span
    nothing = torch.zeros(model.config.d_model)
    states = [
        decoder[start + 1 : end + 1].mean(0) if end > start else nothing,
        decoder[start],  # the piece before; the start token's comes first
        decoder[end + 1],
        encoder[source_start:source_end].mean(0) if source_end > source_start else nothing,
    ]
    head = {name: weights[f"edit_head.{name}"] for name in ("first.weight", "first.bias", "last.weight", "last.bias")}
    normed = [(state - state.mean()) / (state.var(unbiased=False) + 1e-5).sqrt() for state in states]
    hidden = torch.nn.functional.gelu(head["first.weight"] @ (8 * torch.cat(normed)) + head["first.bias"])
    return 8 * float(head["last.weight"][0] @ hidden + head["last.bias"][0])
