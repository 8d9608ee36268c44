"""Detect sentences that are not English: a model that knows English only must leave them alone."""

import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from btr.corpus.files import user_cache
from btr.correction.segments import Segment

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

MIN_PROBABILITY = 0.85  # of another language; with less, the sentence may be a learner's English
MIN_WORDS = 2  # fewer do not show a language
ARRAYS = "nb_ptc", "nb_pc", "nb_classes", "tk_nextmove", "tk_row", "tk_output"  # of langid's model


def is_english(text: str) -> bool:
    """Whether a text is English, or at least not surely in another language."""
    if sum(map(str.isalpha, text.split())) < MIN_WORDS:
        return True
    language, probability = load_identifier().classify(text)
    return bool(language == "en" or probability < MIN_PROBABILITY)


def words_for_language_detection(text: str, segment: Segment) -> str:
    """Return a sentence's words; of the masked ones only lower-case words, since others may be names or code."""
    words = []
    for token in segment.tokens:
        original = text[token.start : token.end]
        if not token.is_masked:
            words.append(token.text)
        elif original.isalpha() and original.islower():
            words.append(original)
    return " ".join(words)


@cache
def load_identifier() -> "LanguageIdentifier":
    """Load langid's model of 97 languages, which is part of its package.

    It takes a second to decompress, so this is done once; from then on its arrays are mapped from the user's cache.
    """
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    file = Path(MODEL_DIR) / MODEL_FILE
    state = file.stat()
    folder = user_cache() / f"langid-{version('py3langid')}-{state.st_size}-{state.st_mtime_ns}"
    try:
        arrays = map_arrays(folder)
    except (OSError, ValueError):  # not there yet, or damaged
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        with suppress(OSError):  # a cache that can't be written to
            write_arrays(identifier, folder)
        return identifier
    return LanguageIdentifier(
        arrays["nb_ptc"],
        arrays["nb_pc"],
        arrays["nb_classes"].tolist(),
        arrays["tk_nextmove"].data,  # like the package's own array, it gives plain integers
        arrays["tk_output"].tolist(),
        norm_probs=True,
        tk_row=arrays["tk_row"].tolist(),
    )


def map_arrays(folder: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a folder into memory: what is not looked at is not read."""
    return {name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in ARRAYS}


def write_arrays(identifier: "LanguageIdentifier", folder: Path) -> None:
    """Write an identifier's arrays to a folder, which appears only when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name in ARRAYS:
            np.save(temporary / f"{name}.npy", np.asarray(getattr(identifier, name)), allow_pickle=False)
        temporary.chmod(0o755)  # made readable by the owner alone
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
