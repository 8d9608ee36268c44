"""What all benchmarks share: where the data is, and how results are printed."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any


def data_folder() -> Path:
    """The corpora that BTR_DATA names."""
    folder = os.environ.get("BTR_DATA")
    if not folder:
        sys.exit("set BTR_DATA to the folder of corpora (conll13, jfleg-dev, …)")
    return Path(folder)


class Report:
    """Named ratios: lines for people, or one JSON object of the ratios with --json."""

    def __init__(self, title: str, *arguments: str, **options: int | str) -> None:
        parser = argparse.ArgumentParser(description=f"Benchmark: {title}")
        parser.add_argument("--json", action="store_true", help="print one JSON object of named ratios")
        for name in arguments:
            parser.add_argument(name)
        for name, default in options.items():
            parser.add_argument(f"--{name}", type=type(default), default=default)
        self.options = vars(parser.parse_args())
        self.json = self.options.pop("json")
        self.ratios: dict[str, float] = {}

    def say(self, line: str) -> None:
        """A line for people."""
        if not self.json:
            print(line, flush=True)

    def ratio(self, name: str, value: float) -> None:
        """A result."""
        self.ratios[name] = value
        self.say(f"{name}: {value:.{1 if value >= 1 else 2}f}×")

    def end(self) -> None:
        """Print what programs read."""
        if self.json:
            print(json.dumps(self.ratios))


def t5_shape(layers: int, small: bool = False) -> dict[str, Any]:
    """The shape of a T5 v1.1, base or small, with so many layers."""
    width = {"d_model": 512, "d_ff": 1024, "num_heads": 6} if small else {"d_model": 768, "d_ff": 2048, "num_heads": 12}
    rest = {"vocab_size": 32128, "d_kv": 64, "feed_forward_proj": "gated-gelu", "decoder_start_token_id": 0}
    return {**width, **rest, "num_layers": layers}
