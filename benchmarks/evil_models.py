"""Models, checkpoints and recipes that hold code, for benchmarks/security.py: it would make a file, if it ran."""

import json
import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch

from btr.models.locate import SHIPPED

GOOD = SHIPPED / "t5gec-small"
CLASSES = "EvilConfig", "EvilModel", "EvilTokenizer"


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.trace),)


def evil_commands(folder: Path, trace: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what is evil, and the command that gets it; `trace` is made if code runs."""
    (folder / "text.txt").write_text("She have two dog.\n")
    correct = ["correct", str(folder / "text.txt"), "--model"]
    generate = ["generate", str(folder / "text.txt"), "-o", str(folder / "out.jsonl"), "--model"]

    pickled = copy_model(folder / "pickled")
    (pickled / "model.safetensors").unlink()
    config = json.loads((pickled / "config.json").read_text())
    write_json(pickled / "config.json", {key: value for key, value in config.items() if "compact" not in key})
    torch.save({"shared.weight": Evil(trace)}, pickled / "pytorch_model.bin")
    yield "pickled code in pytorch_model.bin", [*correct, str(pickled)]
    yield "pickled code in pytorch_model.bin, transformers", [*generate, str(pickled), "--engine", "transformers"]

    checkpoint = folder / "evil.pt"
    torch.save({"model": {"decoder.model.shared.weight": Evil(trace)}, "args": {}}, checkpoint)
    yield "pickled code in a checkpoint", ["import", str(checkpoint), "-o", str(folder / "imported")]
    (folder / "plain.pt").write_bytes(pickle.dumps(Evil(trace)))
    yield "a bare pickle as a checkpoint", ["import", str(folder / "plain.pt"), "-o", str(folder / "imported")]

    for name, model_type in (("own type", "evil"), ("known type", "t5")):
        coded = copy_model(folder / name.replace(" ", "-"))
        write_code(coded, trace)
        config = json.loads((coded / "config.json").read_text())
        names = {"AutoConfig": "evil.EvilConfig", "AutoModelForSeq2SeqLM": "evil.EvilModel"}
        write_json(coded / "config.json", {**config, "model_type": model_type, "auto_map": names})
        yield f"code for a model of its {name}", [*correct, str(coded)]
        yield f"code for a model of its {name}, transformers", [*generate, str(coded), "--engine", "transformers"]

    tokenizer = copy_model(folder / "tokenizer")
    write_code(tokenizer, trace)
    code = {"AutoTokenizer": ["evil.EvilTokenizer", None]}
    write_json(tokenizer / "tokenizer_config.json", {"tokenizer_class": "EvilTokenizer", "auto_map": code})
    yield "code for a tokenizer", [*correct, str(tokenizer)]
    yield "code for a tokenizer, transformers", [*generate, str(tokenizer), "--engine", "transformers"]

    for kind, tag in (("train", "recipe"), ("study", "plan")):
        path = folder / f"{tag}.yaml"
        path.write_text(f"model: !!python/object/apply:os.mkdir ['{trace}']\n")
        yield f"code in a {tag}", [kind, str(path), "--dry-run"]


def copy_model(target: Path) -> Path:
    """Return a copy of the shipped model."""
    return Path(shutil.copytree(GOOD, target))


def write_code(folder: Path, trace: Path) -> None:
    """Write a module with the classes that a configuration names."""
    classes = "".join(f"class {name}:\n    pass\n" for name in CLASSES)
    (folder / "evil.py").write_text(f"import os\nos.mkdir({str(trace)!r})\n{classes}")


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
