"""The hash of a large file is stored, and counts only as long as the file is the same."""

import hashlib
import json
import os

import pytest

from btr.models import identity, stored_hashes
from btr.models.identity import hash_once


@pytest.fixture
def hashed(tmp_path, monkeypatch):
    """Let files of any size and age have stored hashes; return the files that were read to be hashed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(stored_hashes, "MIN_SIZE", 4)
    monkeypatch.setattr(stored_hashes, "MIN_AGE", -1e9)
    files, original = [], identity.hash_file
    monkeypatch.setattr(identity, "hash_file", lambda path: files.append(path) or original(path))
    return files


def hash_in_new_process(path):
    """Return the hash as another process finds it, which has only what is stored."""
    identity._hash_once.cache_clear()
    return hash_once(path)


def digest(text):
    return hashlib.sha256(text).digest()


def test_a_hash_is_computed_once(tmp_path, hashed):
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    assert [hash_in_new_process(path) for _ in range(3)] == [digest(b"12345")] * 3
    assert hashed == [path]


def test_changed_weights_are_hashed_anew(tmp_path, hashed):
    """Also those of the same size, whose time of modification was set to the old one, or that were moved here."""
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    state = path.stat()
    hash_in_new_process(path)
    path.write_bytes(b"54321")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_mtime_ns == state.st_mtime_ns
    assert hash_in_new_process(path) == digest(b"54321")
    (tmp_path / "other").write_bytes(b"abcde")
    os.utime(tmp_path / "other", ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(tmp_path / "other", path)
    assert hash_in_new_process(path) == digest(b"abcde")
    assert len(hashed) == 3


def test_small_and_new_files_have_no_stored_hash(tmp_path, hashed, monkeypatch):
    path = tmp_path / "weights"
    path.write_bytes(b"123")
    for _ in range(2):
        hash_in_new_process(path)
    assert len(hashed) == 2
    path.write_bytes(b"12345")
    monkeypatch.setattr(stored_hashes, "MIN_AGE", 60.0)
    for _ in range(2):
        hash_in_new_process(path)
    assert len(hashed) == 4


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"path": 1, "state": 2, "sha256": 3}', None])
def test_a_damaged_record_is_replaced(tmp_path, hashed, content):
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    hash_in_new_process(path)
    record = stored_hashes.record_path(path)
    if content is None:  # the record of this state, with something that is no hash
        content = json.dumps({**json.loads(record.read_text()), "sha256": "xyz"})
    record.write_text(content)
    assert hash_in_new_process(path) == digest(b"12345")
    assert hash_in_new_process(path) == digest(b"12345")
    assert len(hashed) == 2


def test_without_a_cache_files_are_hashed(tmp_path, hashed, monkeypatch):
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no folder can be made in it
    assert [hash_in_new_process(path) for _ in range(2)] == [digest(b"12345")] * 2
    assert len(hashed) == 2
