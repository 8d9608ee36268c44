import gzip
import io
import os
import stat
import sys

import pytest

from btr.corpus.files import (
    as_paths,
    check_same_length,
    file_hash,
    file_signature,
    read_lines,
    read_text,
    write_lines,
    writing,
    zip_lines,
)
from btr.errors import InputError


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"a b\nc\n", ["a b", "c"]),
        (b"a b\nc", ["a b", "c"]),
        (b"a b\r\nc\r\n", ["a b", "c"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\n\na\n", ["", "", "a"]),
        (b"a\x0bb\xe2\x80\xa8c\nd\n", ["a\x0bb\u2028c", "d"]),  # only \n ends a line
        (b"", []),
    ],
)
def test_lines(tmp_path, raw, lines):
    plain, packed = tmp_path / "plain.txt", tmp_path / "packed"
    plain.write_bytes(raw)
    packed.write_bytes(gzip.compress(raw))
    assert list(read_lines(plain)) == lines
    assert list(read_lines(packed)) == lines


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb")))
    assert list(read_lines("-")) == ["a", "b"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"good\nbad \xff byte\n", "line 2: byte 0xff is not UTF-8"),
        (b"\x7fELF\0\0", "line 1: has a NUL byte"),
        ("text".encode("utf-16"), "is UTF-16"),
        (gzip.compress(b"a\n" * 9999, mtime=0)[:-40], "is a broken gzip file"),
        (gzip.compress(b"a\n" * 9999, mtime=0)[:20] + b"x" * 20, "is a broken gzip file"),
    ],
)
def test_what_is_no_text(tmp_path, raw, message):
    path = tmp_path / "file"
    path.write_bytes(raw)
    for read in (
        lambda: list(read_lines(path)),
        lambda: file_hash(path) if "gzip" in message else list(read_lines(path)),
    ):
        with pytest.raises(InputError, match=message):
            read()


def test_paths(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(read_lines(tmp_path / "none"))
    with pytest.raises(InputError, match="is a folder"):
        list(read_lines(tmp_path))
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="is empty"):
        read_text(tmp_path / "empty")
    with pytest.raises(InputError, match="is a folder"):
        write_lines(tmp_path, ["a"])
    with pytest.raises(InputError, match="cannot be written"):
        write_lines(tmp_path / "none" / "file", ["a"])


def test_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.txt"
    write_lines(path, ["old"])

    def interrupted():
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(path, interrupted())
    assert path.read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_links_and_devices_stay_what_they_are(tmp_path):
    write_lines(tmp_path / "real.txt", ["old"])
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_lines(tmp_path / "link.txt", ["new"])
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new\n"
    write_lines("/dev/null", ["nothing"])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_gzip_is_written_by_name(tmp_path):
    write_lines(tmp_path / "a.gz", ["café", "b"])
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == "café\nb\n"
    assert list(read_lines(tmp_path / "a.gz")) == ["café", "b"]
    assert stat.S_IMODE((tmp_path / "a.gz").stat().st_mode) & stat.S_IRUSR


def test_standard_output(capsys):
    with writing("-") as file:
        file.write("text\n")
    assert capsys.readouterr().out == "text\n"


def test_side_by_side(tmp_path):
    write_lines(tmp_path / "a", "12")
    write_lines(tmp_path / "b", "123")
    assert list(zip_lines([tmp_path / "a", tmp_path / "a"])) == [("1", "1"), ("2", "2")]
    with pytest.raises(InputError, match="a: ends before line 3"):
        list(zip_lines([tmp_path / "a", tmp_path / "b"]))
    with pytest.raises(InputError, match="b has 3 sentences but a has 2"):
        check_same_length([("a", 2), ("b", 3)])


def test_hash_is_of_the_unpacked_text(tmp_path):
    write_lines(tmp_path / "a", ["x"])
    write_lines(tmp_path / "a.gz", ["x"])
    assert file_hash(tmp_path / "a") == file_hash(tmp_path / "a.gz") == "73cb3858"  # printf 'x\n' | sha256sum


def test_one_path_is_a_list_of_one(tmp_path):
    assert as_paths("gold.m2") == ["gold.m2"]
    assert as_paths(tmp_path) == [tmp_path]
    assert as_paths(("a", tmp_path)) == ["a", tmp_path]
    assert as_paths(None) == as_paths(()) == []


def test_signature_says_what_must_be_a_file(tmp_path):
    write_lines(tmp_path / "a", ["x"])
    assert file_signature(tmp_path / "a", "gold") == "a#73cb3858"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe \(candidates\): is read twice"):
        file_signature(tmp_path / "pipe", "candidates")
    with pytest.raises(InputError, match=r"- \(sources\): is read twice"):
        file_signature("-", "sources")
