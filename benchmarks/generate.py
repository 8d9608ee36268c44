"""How fast candidates are written: CTranslate2 against `transformers.generate`, on a T5 of base shape, random weights.

All search with 5 beams, and candidates have 25 tokens. CTranslate2 gets the batches of `btr generate`; `generate` is
called with one source at a time, as its documentation does, and with the same batches, so that it is clear what batches
bring and what the engine brings.

    python benchmarks/generate.py [--json] [--sources 64] [--layers 12]
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from common import Report, t5_shape
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from btr.candidates.ctranslate2_engine import CTranslate2Engine
from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine
from btr.candidates.generate import BUDGET
from btr.candidates.transformers_engine import TransformersEngine
from btr.models.batches import make_batches
from btr.models.load import load

BEAMS, LENGTH, VOCABULARY = 5, 25, 32128
DECODING = DecodingSettings(size=BEAMS, max_length=LENGTH, early_stopping=True)

Batches = Callable[[Sequence[int]], Iterable[Sequence[int]]]


def save_model(folder: str, layers: int) -> None:
    """A T5 v1.1 whose words are w3, w4 …; weights are large enough that its outputs differ."""
    torch.manual_seed(0)
    model: Any = T5ForConditionalGeneration(T5Config(**t5_shape(layers)))
    model.config.tie_word_embeddings = model.config.scale_decoder_outputs = False
    model.lm_head.weight = torch.nn.Parameter(torch.randn(VOCABULARY, 768) * 0.2)
    model.save_pretrained(folder)
    words = ["<pad>", "</s>", "<unk>", *(f"w{k}" for k in range(3, VOCABULARY))]
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)


def make_sources(count: int) -> list[str]:
    generator = random.Random(0)
    lengths = [generator.randrange(LENGTH // 2, LENGTH) for _ in range(count)]
    return [" ".join(f"w{generator.randrange(3, VOCABULARY)}" for _ in range(length)) for length in lengths]


def one_by_one(lengths: Sequence[int]) -> Iterable[Sequence[int]]:
    return ([k] for k in range(len(lengths)))


def by_length(lengths: Sequence[int]) -> Iterable[Sequence[int]]:
    return make_batches(lengths, BUDGET // BEAMS)


def run(engine: Engine, sources: Sequence[str], batches: Batches) -> dict[str, list[str]]:
    """Return the candidates of each source."""
    encoded = engine.encode(sources)
    candidates: dict[str, list[str]] = {}
    for batch in batches([len(tokens) for tokens in encoded]):
        for k, hypotheses in zip(batch, engine.generate([encoded[k] for k in batch], DECODING)):
            candidates[sources[k]] = engine.decode([hypothesis.tokens for hypothesis in hypotheses])
    return candidates


def measure(engine: Engine, sources: Sequence[str], batches: Batches) -> tuple[float, dict[str, list[str]]]:
    """Return sources per second, and their candidates."""
    run(engine, sources[:1], batches)  # warm up
    start = time.perf_counter()
    candidates = run(engine, sources, batches)
    return len(sources) / (time.perf_counter() - start), candidates


def main() -> None:
    report = Report("generate", sources=64, layers=12)
    sources = make_sources(report.options["sources"])
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder, report.options["layers"])
        engine = TransformersEngine(load("seq2seq", folder))
        alone, _ = measure(engine, sources[:8], one_by_one)
        report.say(f"transformers.generate, one source at a time: {alone:.2f} sources/s")
        batched, expected = measure(engine, sources, by_length)
        report.say(f"transformers.generate, batches of similar length: {batched:.2f} sources/s")
        for compute in ("float32", "int8"):
            speed, candidates = measure(CTranslate2Engine(folder, compute), sources, by_length)
            same = sum(candidates[source] == expected[source] for source in sources)
            report.say(
                f"ctranslate2 {compute}, batches of similar length: {speed:.2f} sources/s; "
                f"the n-best lists of transformers for {same} of {len(sources)} sources"
            )
            report.ratio(f"ctranslate2_{compute}", speed / alone)
            report.ratio(f"ctranslate2_{compute}_over_same_batches", speed / batched)
            if compute == "float32" and same < len(sources):
                raise SystemExit("the n-best lists are not equal")
    report.end()


if __name__ == "__main__":
    main()
