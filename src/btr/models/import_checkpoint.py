"""`btr import`: turn a checkpoint of the paper's authors (fairseq) into a model folder."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import save_file
from transformers import GenerationConfig, PreTrainedTokenizerBase

from btr.corpus.files import PathLike, writing_folder
from btr.errors import InputError
from btr.models.checkpoint import Checkpoint, read_checkpoint
from btr.models.config import silence_libraries
from btr.models.load import load
from btr.models.locate import locate_model
from btr.models.tokenizer import load_tokenizer
from btr.records import Record

TOKENIZER = "t5gec-small"  # shipped; its pieces and their numbers are those of all T5 models
MASK = "<extra_id_0>"
SPARE_ROWS = 128  # a T5 has fewer unused rows than this: their number is rounded up, to 32,128 for 32,100 pieces

CARD = """---
language: en
library_name: transformers
license: other
tags:
- grammatical-error-correction
- btr
- {tag}
---

# {name}

{description} With `btr-gec` installed, and FOLDER for this folder:

```sh
{command}
```

## Where it comes from

Imported by `btr import` from a checkpoint of fairseq:

| | |
| --- | --- |
| file | `{file}` |
| SHA-256 | `{digest}` |
| updates | {updates} |
| parameters | {parameters:,} |
| tokenizer | `{tokenizer}` |

The weights are those of the file, in float32. The licence of its authors applies: read it before you pass them on.
"""


@dataclass(frozen=True, slots=True)
class Imported(Record):
    """Where an imported model is, and what it is."""

    model: str
    kind: str  # btr, or seq2seq: a base model
    parameters: int
    tokenizer: str
    updates: int | None = None  # after which the checkpoint was written, if it says so


def import_checkpoint(checkpoint: PathLike, output: PathLike, *, tokenizer: str = TOKENIZER) -> Imported:
    """Write a fairseq checkpoint of a T5 v1.1, such as those of the paper's authors, as a model folder.

    The folder of a BTR loads as `btr:FOLDER`, that of a base model as `btr generate --model FOLDER`. `tokenizer` is a
    folder, a shipped model or a hub id; by default the shipped one, whose pieces are those of all T5 models.
    """
    silence_libraries()
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the output.")
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{output}: is not empty; name another folder for the output.")
    read = read_checkpoint(checkpoint)
    pieces = fitting_tokenizer(tokenizer, read, checkpoint)
    kind = "btr" if read.is_bidirectional else "seq2seq"
    result = Imported(
        str(output), kind, sum(weight.numel() for weight in read.weights.values()), tokenizer, read.updates
    )
    with writing_folder(output) as temporary:
        write_folder(temporary, read, pieces)
        (temporary / "README.md").write_text(write_card(result, target.name, checkpoint), encoding="utf-8")
        load(kind, str(temporary), device="cpu")  # also checks that the decoder of a BTR attends to both sides
    return result


def fitting_tokenizer(name: str, checkpoint: Checkpoint, path: PathLike) -> PreTrainedTokenizerBase:
    """Load the tokenizer, and refuse one with more tokens than the model, or with far fewer: its numbers differ."""
    tokenizer = load_tokenizer(locate_model(name), checkpoint.config, name)
    if not 0 <= checkpoint.config.vocab_size - len(tokenizer) < SPARE_ROWS:
        raise InputError(
            f"{path}: has {checkpoint.config.vocab_size:,} tokens, but the tokenizer {name} has {len(tokenizer):,}; "
            "name the model's own with --tokenizer."
        )
    if checkpoint.is_bidirectional and MASK not in tokenizer.get_vocab():
        raise InputError(f"{name}: has no {MASK}, which a BTR's mask is; name another with --tokenizer.")
    return tokenizer


def write_folder(folder: Path, checkpoint: Checkpoint, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write weights, configuration and tokenizer as `transformers` reads them."""
    weights = {name: weight.contiguous() for name, weight in checkpoint.weights.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors makes it readable by the owner alone
    config = checkpoint.config
    GenerationConfig.from_model_config(config).save_pretrained(folder)
    config.tie_word_embeddings = False  # transformers 5 calls every T5 tied, and other tools trust it
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_card(model: Imported, name: str, checkpoint: PathLike) -> str:
    """Return the model card: what the model is, how to use it, and where it comes from."""
    with open(checkpoint, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if model.kind == "btr":
        tag = "reranker"
        description = "A Bidirectional Transformer Reranker: a T5 whose decoder sees both sides of every token."
        command = "btr score CANDIDATES.jsonl --reranker btr:FOLDER -o SCORES.jsonl"
    else:
        tag = "text-generation"
        description = "A base model for grammatical error correction: it writes candidates."
        command = "btr generate SOURCES.txt --model FOLDER -o CANDIDATES.jsonl"
    return CARD.format(
        name=name,
        tag=tag,
        description=description,
        command=command,
        file=Path(checkpoint).name,
        digest=digest,
        updates="not said" if model.updates is None else f"{model.updates:,}",
        parameters=model.parameters,
        tokenizer=model.tokenizer,
    )
