"""`btr generate`: sources in, n-best lists out."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from btr.candidates.decoding import MAX_LENGTH, DecodingSettings
from btr.candidates.engine import Engine, Hypothesis, Tokens
from btr.corpus.candidates import is_runaway
from btr.corpus.files import PathLike, file_signature, read_lines
from btr.corpus.pairs import read_sources
from btr.errors import InputError, needs_models
from btr.models.batches import make_batches
from btr.resume import Share, check_output, write_windows

WINDOW = 128  # sources that are batched among themselves
BUDGET = 8192  # tokens in a batch: sources, times candidates
DIGITS = 6  # of log-probabilities
ENGINES = "transformers", "ctranslate2"


def generate(
    sources: PathLike,
    model: str,
    output: PathLike,
    *,
    method: str = "beam",
    size: int = 5,
    max_length: int = MAX_LENGTH,
    groups: int = 5,
    penalty: float = 0.4,
    top_k: int = 50,
    top_p: float = 0.95,
    seed: int = 0,
    early_stopping: bool = False,
    length_penalty: float = 1.0,
    engine: str = "transformers",
    dtype: str = "float32",
    device: str | None = None,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """Write the candidates of every source of a file (text, M2 or TSV); gives their number, flags and signature.

    What is done is kept: the same call after an interruption goes on.
    """
    early_stopping = early_stopping or engine == "ctranslate2"  # which knows no other way
    settings = DecodingSettings(
        method, size, max_length, groups, penalty, top_k, top_p, seed, early_stopping, length_penalty
    )
    check_engine(engine, settings)
    check_output(output, [sources])
    name = "-" if os.fspath(sources) == "-" else file_signature(sources, "sources")
    loaded = load_engine(model, engine, dtype=dtype, device=device)
    if loaded.limit and settings.max_length > loaded.limit:
        settings = replace(settings, max_length=loaded.limit)
    signature = f"{loaded.signature}|{settings.signature()}"
    told: Counter[str] = Counter()

    def work(window: Sequence[str]) -> Iterable[str]:
        for record in generate_many(loaded, window, settings, budget):
            count(told, record)
            yield json.dumps(record, ensure_ascii=False, allow_nan=False)

    header = {"signature": signature, "sources": name, "budget": budget}
    rows = read_sources(sources)
    write_windows(rows, work, output, header, WINDOW, "Generating", keep_header=False, resumable=name != "-")
    if os.fspath(output) != "-" and not Share.current().rank:  # what earlier runs and other processes wrote counts
        told.clear()
        for line in read_lines(output):
            count(told, json.loads(line))
    return {
        "sources": told.pop("sources", 0),
        "candidates": told.pop("candidates", 0),
        "flags": dict(sorted(told.items())),
        "signature": signature,
    }


def count(told: Counter[str], record: dict[str, Any]) -> None:
    """Add a record's candidates and flags to the counts."""
    told["sources"] += 1
    told["candidates"] += len(record["candidates"])
    told.update({flag: len(numbers) for flag, numbers in record.get("flags", {}).items()})


def check_engine(engine: str, settings: DecodingSettings) -> None:
    """Refuse what an engine can't do, before any work."""
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}.")
    if engine == "ctranslate2" and settings.method != "beam":
        raise InputError(f"ctranslate2 does beam search; for {settings.method}, use the engine transformers.")


def load_engine(
    model: str, engine: str, *, dtype: str = "float32", device: str | None = None, by_length: bool = False
) -> Engine:
    """A model under an engine; what it computes in is float32, or bfloat16 (transformers) or int8 (ctranslate2).

    With `by_length`, ctranslate2 batches sources of like lengths, always as wide: in int8, none depends on the others.
    """
    try:
        if engine == "ctranslate2":
            from btr.candidates.ctranslate2_engine import CTranslate2Engine

            return CTranslate2Engine(model, dtype, device, by_length=by_length)
        from btr.candidates.transformers_engine import TransformersEngine
        from btr.models.load import load

        return TransformersEngine(load("seq2seq", model, dtype=dtype, device=device))
    except ImportError as error:
        raise needs_models("generating", error) from None


def generate_many(
    engine: Engine, sources: Sequence[str], settings: DecodingSettings, budget: int = BUDGET
) -> list[dict[str, Any]]:
    """A record for each source: it, its candidates, their log-probabilities, and flags where there are any.

    Flags name candidates by their number, from 0: `duplicate` of an earlier one; `empty`, so that the source stands in
    its place; `unfinished` at the greatest length; `runaway`, far longer than the source. A source that is blank or
    `too_long` is its own only candidate.
    """
    read = engine.encode(sources)
    long = {k for k, tokens in enumerate(read) if len(tokens) > settings.max_length}
    asked = [k for k, source in enumerate(sources) if source.strip() and k not in long]
    found: dict[int, list[Hypothesis]] = {}
    for batch in make_batches([len(read[k]) for k in asked], budget // settings.size):
        chosen = [asked[k] for k in batch]
        found.update(zip(chosen, engine.generate([read[k] for k in chosen], settings)))
    texts = {k: [" ".join(text.split()) for text in engine.decode([own.tokens for own in found[k]])] for k in asked}
    sums = find_log_probs(engine, {k: read[k] for k in asked}, texts, found, sources, budget)
    return [
        write_record(source, found[k], texts[k], sums[k], engine)
        if k in found
        else {"source": source, "candidates": [source], **({"flags": {"too_long": [0]}} if k in long else {})}
        for k, source in enumerate(sources)
    ]


def write_record(
    source: str, found: Sequence[Hypothesis], texts: Sequence[str], sums: Mapping[str, float], engine: Engine
) -> dict[str, Any]:
    """Candidates as texts, none of them empty, and what is odd about them."""
    candidates = [text or source for text in texts]
    odd = {
        "duplicate": [text in candidates[:k] for k, text in enumerate(candidates)],
        "empty": [not text for text in texts],
        "runaway": [is_runaway(source, text) for text in texts],
        "unfinished": [not engine.is_complete(own.tokens) for own in found],
    }
    flags = {flag: [k for k, holds in enumerate(each) if holds] for flag, each in odd.items() if any(each)}
    log_probs = [round(sums[text], DIGITS) for text in candidates]
    return {"source": source, "candidates": candidates, "log_probs": log_probs, **({"flags": flags} if flags else {})}


def find_log_probs(
    engine: Engine,
    read: Mapping[int, Tokens],
    texts: Mapping[int, Sequence[str]],
    found: Mapping[int, Sequence[Hypothesis]],
    sources: Sequence[str],
    budget: int,
) -> dict[int, dict[str, float]]:
    """The log-probability of each source's candidates, as the tokenizer reads them.

    The search knows it already if the tokens that it found are those; all others are forced through the model.
    """
    sums: dict[int, dict[str, float]] = {k: {} for k in read}
    pairs = [(k, text) for k in read for text in dict.fromkeys(text or sources[k] for text in texts[k])]
    targets = dict(zip(pairs, engine.encode([text for _, text in pairs])))
    for k, own in found.items():
        for candidate, text in zip(own, texts[k]):
            if text and candidate.log_prob is not None and candidate.tokens == targets[k, text]:
                sums[k][text] = candidate.log_prob
    asked = [(k, text) for k, text in pairs if text not in sums[k]]
    for batch in make_batches([max(len(read[pair[0]]), len(targets[pair])) for pair in asked], budget):
        chosen = [asked[n] for n in batch]
        values = engine.log_probs([read[k] for k, _ in chosen], [targets[pair] for pair in chosen])
        for (k, text), value in zip(chosen, values):
            sums[k][text] = value
    return sums
