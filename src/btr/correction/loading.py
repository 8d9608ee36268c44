"""Models that stay loaded: a second corrector with the same models takes no time."""

import logging
from functools import lru_cache
from pathlib import Path

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine
from btr.candidates.generate import load_engine
from btr.decisions.settings import Settings
from btr.models.config import is_t5
from btr.models.locate import locate_model
from btr.rerankers import load_reranker
from btr.rerankers.base import Reranker

logger = logging.getLogger("btr.loading")  # `btr serve` shows what it is loading

CACHED_MODELS = 4  # per process
MAX_LENGTH = 128  # tokens of a sentence, as in training
LENGTH_PENALTY = 0.0  # rank candidates by log-probability; better on CoNLL-13 than the mean over tokens

FolderState = tuple[tuple[str, int, int], ...]


def folder_state(name: str) -> FolderState:
    """Return what shows that a model's folder has changed: its files' names, times and sizes.

    Hidden files don't count, such as the lock of the first conversion.
    """
    folder = Path(locate_model(name))
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    files = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)


@lru_cache(CACHED_MODELS)
def load_engine_once(model: str, state: FolderState, device: str | None, threads: int) -> Engine:
    """Load a base model: CTranslate2 in int8 for a T5, else `transformers`.

    A changed `state`, or another number of threads in this process, loads it anew.
    """
    logger.info("loading", extra={"fields": {"model": model}})
    if is_t5(model):
        return load_engine(model, "ctranslate2", dtype="int8", device=device)
    return load_engine(model, "transformers", device=device)


@lru_cache(CACHED_MODELS)
def load_reranker_once(
    names: tuple[str, ...], state: tuple[FolderState, ...], device: str | None, int8: bool, threads: int
) -> Reranker:
    """Load rerankers. A changed `state`, or another number of threads in this process, loads them anew."""
    for name in names:
        logger.info("loading", extra={"fields": {"reranker": name}})
    return load_reranker(names, device=device, int8=int8)


def decoding_settings(engine: Engine, settings: Settings) -> DecodingSettings:
    """Return how the corrector's candidates are written."""
    return DecodingSettings(
        size=settings.candidates,
        max_length=MAX_LENGTH,
        early_stopping=engine.stops_early,
        length_penalty=LENGTH_PENALTY,
    )
