"""Checkpoints as the paper's authors published them: what fairseq saves around a T5 of `transformers`."""

from argparse import Namespace
from pathlib import Path

import torch
from safetensors.torch import load_file

PREFIX = "decoder.model."


def state_of(folder):
    """Return the weights as fairseq saved them: all names of transformers 4.11, the copies of the embeddings too."""
    weights = load_file(Path(folder) / "model.safetensors")
    for name in ("encoder", "decoder"):
        weights[f"{name}.embed_tokens.weight"] = weights["shared.weight"]
    return {PREFIX + name: weight for name, weight in weights.items()}


def content_of(folder, bidirectional=True, **changes):
    args = Namespace(arch="t5_base", seed=1, max_tokens=4096, bidirectional_decoder=bidirectional)
    content = {
        "args": args,
        "model": state_of(folder),
        "optimizer_history": [{"criterion_name": "X", "num_updates": 1234, "lr_scheduler_state": {"best": 1.5}}],
        "extra_state": {"epoch": 3, "val_loss": 1.25, "metrics": [("train", [(0, "loss", "AverageMeter", {"n": 2})])]},
        "last_optimizer_state": {"state": {0: {"step": 5, "exp_avg_sq": torch.ones(2)}}, "param_groups": []},
    }
    return {key: value for key, value in {**content, **changes}.items() if value is not None}


def save(path, content, **options):
    torch.save(content, path, **options)
    return path
