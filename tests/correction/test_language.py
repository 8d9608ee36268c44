"""Langid's arrays are written to the cache once, and mapped from there: the same languages and probabilities."""

import numpy as np
import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from btr.correction.language import ARRAYS, load_identifier

TEXTS = [
    "She has two dogs .", "Ich habe gestern ein Buch gelesen .", "Это не по-английски", "日本語のテキスト", "",
    "THE END", "C'est la vie , mon ami .", "x" * 300, "\u0301\u0300", "Two café\u0301s",
]  # fmt: skip


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load_identifier.cache_clear()
    yield tmp_path / "btr"
    load_identifier.cache_clear()


def load_anew():
    load_identifier.cache_clear()
    return load_identifier()


def ranks(identifier):
    return [identifier.rank(text) for text in TEXTS]


def is_mapped(identifier):
    return isinstance(identifier.nb_ptc.base, np.memmap)


def test_mapped_arrays_give_the_same(cache):
    expected = ranks(LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
    first, second = load_anew(), load_anew()
    assert (is_mapped(first), is_mapped(second)) == (False, True)
    assert ranks(first) == ranks(second) == expected
    (folder,) = cache.iterdir()
    assert sorted(path.stem for path in folder.iterdir()) == sorted(ARRAYS)


@pytest.mark.parametrize("damage", ["missing", "cut short"])
def test_a_damaged_cache_is_written_anew(cache, damage):
    expected = ranks(load_anew())
    (file,) = cache.glob("*/tk_nextmove.npy")
    content = file.read_bytes()
    file.unlink()
    if damage == "cut short":
        file.write_bytes(content[: len(content) // 2])
    mended, mapped = load_anew(), load_anew()
    assert (is_mapped(mended), is_mapped(mapped)) == (False, True)
    assert ranks(mended) == ranks(mapped) == expected


def test_a_cache_that_cannot_be_written_to_is_done_without(cache, monkeypatch):
    cache.write_text("a file, in which no folder can be made")
    assert not is_mapped(load_anew())
    assert not is_mapped(load_anew())
