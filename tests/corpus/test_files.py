import errno
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
    refused_writes,
    replace_folder,
    write_lines,
    writing,
    writing_folder,
    zip_lines,
)
from btr.errors import FileError, InputError


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


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
MESSAGE = r"out: cannot be written \(No space left on device\); make room, and run the same command again\.$"


def as_torch_does():
    """Raise what torch raises where Python could not write for it."""
    try:
        raise FULL
    except OSError:
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534")  # noqa: B904


def as_safetensors_does():
    raise ValueError(f"Error while serializing: I/O error: No space left on device (os error {errno.ENOSPC})")


@pytest.mark.parametrize("fail", [as_torch_does, as_safetensors_does])
def test_a_full_disk_is_one_sentence_whichever_library_writes(tmp_path, fail):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "weights").write_text("before")

    def write():
        with writing_folder(tmp_path / "out") as folder:
            (folder / "weights").write_text("half")
            fail()

    with pytest.raises(FileError, match=MESSAGE):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "weights").read_text() == "before"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_full_device():
    with pytest.raises(FileError, match=r"^/dev/full: cannot be written \(No space left on device\)"):
        write_lines("/dev/full", ["a"] * 10_000)


def test_other_errors_of_writing():
    with pytest.raises(FileError, match=r"^out: cannot be written \(Permission denied\)\.$"), refused_writes("out"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    for error in (
        InputError("line 1: is bad."),
        BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)),
        ValueError("a mistake in the code"),
        OSError("the hub has no such model"),
        ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)),
        FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/elsewhere/weights"),
    ):
        with pytest.raises(type(error)) as raised, refused_writes("out"):
            raise error
        assert raised.value is error


def test_a_mistake_in_the_code_after_an_error_of_the_system_is_shown(tmp_path):
    def blunder():
        try:
            (tmp_path / "missing").read_text()
        except OSError:
            raise KeyError("a mistake") from None

    with pytest.raises(KeyError), writing(tmp_path / "out"):
        blunder()


def test_a_folder_replaced_by_a_run_that_was_killed_between_its_renamings(tmp_path, monkeypatch):
    """The former folder is all that there is: it goes only when the new one has its name."""
    new, old = tmp_path / "model.part", tmp_path / "model.old"
    new.mkdir()
    old.mkdir()

    def killed(*_):
        assert old.is_dir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            replace_folder(new, tmp_path / "model")
    replace_folder(new, tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
