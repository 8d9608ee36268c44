"""`btr generate`: a file of sources in, a file of candidates out."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from btr.candidates.decoding import MAX_LENGTH, DecodingSettings
from btr.candidates.engine import Engine, Hypothesis, Tokens
from btr.corpus.candidates import Candidates, is_runaway, read_candidates, tokens_of
from btr.corpus.files import PathLike, file_signature
from btr.corpus.pairs import read_sources
from btr.errors import InputError, needs_models
from btr.models.batches import make_batches
from btr.records import Record
from btr.resume import Share, check_output, write_windows

WINDOW = 128  # sources that are batched among themselves
BUDGET = 8192  # tokens per batch: of the sources, times candidates
DIGITS = 6  # of log-probabilities
ENGINES = "transformers", "ctranslate2"
CTRANSLATE2_METHODS = "beam", "top-k", "nucleus"


@dataclass(frozen=True, slots=True)
class Generated(Record):
    """How many sources were read and candidates written, how many have each flag, and what they depend on."""

    sources: int
    candidates: int
    flags: Mapping[str, int]
    signature: str
    seconds: float  # of this run's work, without loading the model


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
    spelling: bool = False,
) -> Generated:
    """Write the candidates of every source of a file (text, M2 or TSV).

    With `spelling`, sources with a word that no list has get further candidates, as in `btr correct`.
    After an interruption the same call continues where it stopped.
    """
    settings = DecodingSettings(
        method=method,
        size=size,
        max_length=max_length,
        groups=groups,
        penalty=penalty,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        early_stopping=early_stopping or engine == "ctranslate2",  # which always stops early
        length_penalty=length_penalty,
    )
    check_engine(engine, settings)
    check_output(output, [sources])
    name = "-" if os.fspath(sources) == "-" else file_signature(sources, "sources")
    loaded = load_engine(model, engine, dtype=dtype, device=device)
    if loaded.limit and settings.max_length > loaded.limit:
        settings = replace(settings, max_length=loaded.limit)
    signature = f"{loaded.signature}|{loaded.decoding_signature(settings)}"
    if spelling:
        from btr.candidates.spelling import add_spellings, spelling_signature

        signature += f"|{spelling_signature()}"
    counts: Counter[str] = Counter()

    def work(window: Sequence[str]) -> Iterable[str]:
        generated = generate_many(loaded, window, settings, budget)
        if spelling:
            generated = add_spellings(loaded, generated, settings.max_length)
        for row in generated:
            count(counts, row)
            yield json.dumps(row.to_dict(), ensure_ascii=False, allow_nan=False)

    header = {"signature": signature, "sources": name, "budget": budget}
    rows, start = read_sources(sources), time.perf_counter()
    write_windows(rows, work, output, header, WINDOW, "Generating", keep_header=False, resumable=name != "-")
    seconds = time.perf_counter() - start
    if os.fspath(output) != "-" and not Share.current().rank:  # earlier runs and other processes wrote some rows
        counts.clear()
        for row in read_candidates(output):
            count(counts, row)
    total, written = counts.pop("sources", 0), counts.pop("candidates", 0)
    return Generated(total, written, dict(sorted(counts.items())), signature, seconds)


def count(counts: Counter[str], row: Candidates) -> None:
    """Add a source's candidates and flags to the counts."""
    counts["sources"] += 1
    counts["candidates"] += len(row.texts)
    counts.update({flag: len(indices) for flag, indices in row.flags.items()})


def check_engine(engine: str, settings: DecodingSettings) -> None:
    """Refuse what an engine can't do, before any work."""
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}.")
    if engine == "ctranslate2" and settings.method not in CTRANSLATE2_METHODS:
        raise InputError(
            f"ctranslate2 does {', '.join(CTRANSLATE2_METHODS)} only; "
            f"for {settings.method}, use the engine transformers."
        )


def load_engine(model: str, engine: str, *, dtype: str = "float32", device: str | None = None) -> Engine:
    """Load a model with an engine; `dtype` is float32, or bfloat16 (transformers) or int8 (ctranslate2)."""
    try:
        if engine == "ctranslate2":
            from btr.candidates.ctranslate2_engine import CTranslate2Engine

            loaded: Engine = CTranslate2Engine(model, dtype, device)
        else:
            from btr.candidates.transformers_engine import TransformersEngine
            from btr.models.load import load

            loaded = TransformersEngine(load("seq2seq", model, dtype=dtype, device=device))
    except ModuleNotFoundError as error:
        raise needs_models("generating", error) from None
    loaded.device = device
    return loaded


def generate_many(
    engine: Engine, sources: Sequence[str], settings: DecodingSettings, budget: int = BUDGET
) -> list[Candidates]:
    """Return the candidates of each source, with their log-probabilities and flags.

    A source that is blank, or longer than `max_length` tokens, is passed through as its only candidate.
    """
    encoded = engine.encode(sources)
    too_long = {k for k, tokens in enumerate(encoded) if len(tokens) > settings.max_length}
    readable = {k: encoded[k] for k, source in enumerate(sources) if source.strip() and k not in too_long}
    hypotheses = generate_hypotheses(engine, readable, settings, budget)
    texts = {k: decode_hypotheses(engine, each) for k, each in hypotheses.items()}
    log_probs = compute_log_probs(engine, readable, texts, hypotheses, sources, budget)
    return [
        make_candidates(source, hypotheses[k], texts[k], log_probs[k], engine)
        if k in hypotheses
        else Candidates(source, (source,), flags={"too_long": (0,)} if k in too_long else {})
        for k, source in enumerate(sources)
    ]


def generate_hypotheses(
    engine: Engine, encoded: Mapping[int, Tokens], settings: DecodingSettings, budget: int = BUDGET
) -> dict[int, list[Hypothesis]]:
    """Return the hypotheses of each source, batched by length; sources are tokens by number."""
    numbers = list(encoded)
    hypotheses: dict[int, list[Hypothesis]] = {}
    for batch in make_batches([len(encoded[k]) for k in numbers], budget // settings.size):
        chosen = [numbers[k] for k in batch]
        hypotheses.update(zip(chosen, engine.generate([encoded[k] for k in chosen], settings)))
    return hypotheses


def decode_hypotheses(engine: Engine, hypotheses: Sequence[Hypothesis]) -> list[str]:
    """Return the texts of hypotheses, with single spaces."""
    return [" ".join(text.split()) for text in engine.decode([hypothesis.tokens for hypothesis in hypotheses])]


def make_candidates(
    source: str,
    hypotheses: Sequence[Hypothesis],
    texts: Sequence[str],
    log_probs: Mapping[str, float],
    engine: Engine,
) -> Candidates:
    """Return a source's candidates with their flags; the source stands in for an empty candidate."""
    candidates = tuple(text or source for text in texts)
    tokens = [tokens_of(text) for text in candidates]
    flagged = {
        "duplicate": [each in tokens[:k] for k, each in enumerate(tokens)],
        "empty": [not text for text in texts],
        "runaway": [is_runaway(source, text) for text in texts],
        "unfinished": [not engine.is_complete(hypothesis.tokens) for hypothesis in hypotheses],
    }
    return Candidates(
        source,
        candidates,
        tuple(round(log_probs[text], DIGITS) for text in candidates),
        {flag: tuple(k for k, holds in enumerate(each) if holds) for flag, each in flagged.items() if any(each)},
    )


def compute_log_probs(
    engine: Engine,
    encoded: Mapping[int, Tokens],
    texts: Mapping[int, Sequence[str]],
    hypotheses: Mapping[int, Sequence[Hypothesis]],
    sources: Sequence[str],
    budget: int,
) -> dict[int, dict[str, float]]:
    """Return the log-probability of each source's candidates, by text, for the tokens that the tokenizer gives them.

    A hypothesis of other tokens than these, or without a log-probability, is computed by teacher forcing.
    """
    log_probs: dict[int, dict[str, float]] = {k: {} for k in encoded}
    pairs = [(k, text) for k in encoded for text in dict.fromkeys(text or sources[k] for text in texts[k])]
    targets = dict(zip(pairs, engine.encode([text for _, text in pairs])))
    for k, each in hypotheses.items():
        for hypothesis, text in zip(each, texts[k]):
            if text and hypothesis.log_prob is not None and hypothesis.tokens == targets[k, text]:
                log_probs[k][text] = hypothesis.log_prob
    missing = [(k, text) for k, text in pairs if text not in log_probs[k]]
    for batch in make_batches([max(len(encoded[pair[0]]), len(targets[pair])) for pair in missing], budget):
        chosen = [missing[number] for number in batch]
        values = engine.log_probs([encoded[k] for k, _ in chosen], [targets[pair] for pair in chosen])
        for (k, text), value in zip(chosen, values):
            log_probs[k][text] = value
    return log_probs
