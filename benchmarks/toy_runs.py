"""Toy runs of the commands that take a second or two each: what killed.py and faults.py share.

Models are tiny and have random weights. Texts are of a small language, in which verbs agree with their subjects and
nouns with their numbers. Commands run in a folder of their own and name their outputs relative to it, so that two runs
of the same command write the same bytes.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import yaml
from forked import start
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from btr.models.bidirectional import make_bidirectional
from btr.models.config import silence_libraries

VERBS = {"I": ("have", "has"), "he": ("has", "have"), "she": ("goes", "go"), "you": ("go", "goes")}
NOUNS = {"a": ("cat", "cats"), "two": ("dogs", "dog"), "the": ("mat", "mat")}
WORDS = sorted({word for table in (VERBS, NOUNS) for word, forms in table.items() for word in (word, *forms)})
SHAPE: dict[str, Any] = {
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}
CODE = "", "```", *["print('a long line of code, so that a text of few sentences has several parts')"] * 3, "```", ""


def sentences(count: int, seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """Give (source, gold, candidates), where source and candidates have one or two words wrong."""
    generator = random.Random(seed)
    for _ in range(count):
        subject, number = generator.choice(sorted(VERBS)), generator.choice(sorted(NOUNS))
        texts = [
            f"{subject} {verb} {number} {noun} ." for verb in VERBS[subject] for noun in dict.fromkeys(NOUNS[number])
        ]
        gold, others = texts[0], texts[1:]
        yield generator.choice(others), gold, [others[0], gold, *others[1:]]


def save_model(folder: Path, seed: int, bidirectional: bool = False) -> None:
    """Save a tiny T5 v1.1, or a BTR."""
    vocabulary = {word: k for k, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS, ".", "<extra_id_0>"])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    plain.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, extra_special_tokens=["<extra_id_0>"], **names)
    config = T5Config(**SHAPE, vocab_size=len(tokenizer), feed_forward_proj="gated-gelu")
    model: Any = T5ForConditionalGeneration(config)
    model.config.scale_decoder_outputs = model.config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.3)
    (make_bidirectional(model) if bidirectional else model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_inputs(folder: Path, size: int) -> None:
    """Write models, texts, gold, candidates, recipes and a plan; `size` says how many sentences there are.

    The base model learns the language a little, so that its candidates are as long as sentences.
    """
    silence_libraries()
    save_model(folder / "untrained", seed=0)
    save_model(folder / "btr", seed=1, bidirectional=True)
    rows = list(sentences(size, seed=0))
    lines = {
        "sources.txt": [source for source, _, _ in rows],
        "gold.txt": [gold for _, gold, _ in rows],
        "first.txt": [texts[0] for _, _, texts in rows],
        "second.txt": [texts[-1] for _, _, texts in rows],
        "letter.txt": [line for source, gold, _ in rows[: size // 4] for line in (f"{source} {gold}", *CODE)],
        "clean.txt": [f"{gold.capitalize()} {gold.capitalize()}" for _, gold, _ in rows],
        "pairs.tsv": [f"{source}\t{gold}" for source, gold, _ in rows[: size // 3]],
        "gold.m2": [line for source, gold, _ in rows for line in m2_block(source, gold)],
        "part.m2": [line for source, gold, _ in rows[: size // 2] for line in m2_block(source, gold)],
        "few.m2": [line for source, gold, _ in rows[:12] for line in m2_block(source, gold)],
        "candidates.jsonl": [as_json(row) for row in rows[: size // 2]],
        "learnt-from.jsonl": [as_json(row) for row in rows[: size // 3]],
        "few.jsonl": [as_json(row) for row in rows[:12]],
    }
    for name, each in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in each))
    write_plans(folder)
    child = start(["train", "learn.yaml", "-o", "learnt"], folder, folder / "learn.log")
    if child.wait():
        sys.exit(child.log.read_text())
    (folder / "learnt" / "model").rename(folder / "base")


def as_json(row: tuple[str, str, list[str]]) -> str:
    """Return a line of a candidates file."""
    source, _, texts = row
    return json.dumps({"source": source, "candidates": texts, "log_probs": [-0.5 * k for k in range(len(texts))]})


def m2_block(source: str, gold: str) -> list[str]:
    """Return a sentence in M2, with the edits that make gold of it."""
    words = enumerate(zip(source.split(), gold.split()))
    edits = [f"A {k} {k + 1}|||R:X|||{right}|||REQUIRED|||-NONE-|||0" for k, (wrong, right) in words if wrong != right]
    return [f"S {source}", *edits, ""]


def write_plans(folder: Path) -> None:
    """Write recipes that save a checkpoint after every update, and a study that trains one of its rerankers."""
    recipe: dict[str, Any] = {
        "kind": "btr",
        "model": str(folder / "btr"),
        "data": {"pairs": [str(folder / "pairs.tsv")], "candidates": [str(folder / "learnt-from.jsonl")]},
        "objective": {"negatives": 2},
        "optimizer": {"name": "adamw", "learning_rate": 0.003, "schedule": "linear", "warmup_steps": 2},
        "validation": {"gold": [str(folder / "few.m2")], "candidates": str(folder / "few.jsonl"), "top": 3},
        "batch_tokens": 1024,
        "micro_tokens": 512,
        "epochs": 2,
        "checkpoint_minutes": 0,
    }
    (folder / "train.yaml").write_text(yaml.safe_dump(recipe))
    short = {**recipe, "epochs": None, "steps": 2, "validation": {}}
    (folder / "short.yaml").write_text(yaml.safe_dump(short))
    base = {**short, "kind": "seq2seq", "objective": {}, "data": {"pairs": recipe["data"]["pairs"]}}
    (folder / "base.yaml").write_text(yaml.safe_dump({**base, "model": str(folder / "base")}))
    learn = {**base, "model": str(folder / "untrained"), "steps": 60, "dropout": 0.0, "checkpoint_minutes": 60}
    learn["optimizer"] = {"name": "adamw", "learning_rate": 0.01}
    (folder / "learn.yaml").write_text(yaml.safe_dump(learn))
    plan = {
        "title": "A toy study",
        "training": [{"train": str(folder / "short.yaml"), "output": "run"}],
        "sets": {"Toy": {"metric": "m2", "gold": [str(folder / "few.m2")]}},
        "validation": "Toy",
        "candidates": {"Base": {"model": str(folder / "base"), "size": 3, "max_length": 12}},
        "rerankers": {"BTR": {"models": ["btr:run/model"]}, "MBR": {"models": ["mbr"]}},
        "main": "BTR",
        "top": [2, 3],
        "folds": 2,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
