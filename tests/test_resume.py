"""Long work that is interrupted, killed, started twice or shared: the file is that of one undisturbed run."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest
from in_child import FORKED, in_child

from btr.errors import FileError, InputError, Interrupted
from btr.resume import write_windows

HEADER = {"signature": "upper"}
ITEMS = [f"item {number}" for number in range(20)]
WHOLE = [item.upper() for item in ITEMS]


def upper(window):
    return (item.upper() for item in window)


def write(output, items=ITEMS, header=HEADER, work=upper, **options):
    write_windows(items, work, output, header, 3, "Testing", keep_header=False, **options)
    return output.read_text().splitlines()


def interrupt_at(number):
    """The items up to one, where Ctrl-C comes."""
    yield from ITEMS[:number]
    raise KeyboardInterrupt


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_interrupted_run_continues(tmp_path):
    with pytest.raises(Interrupted, match=r"out.part holds what is done"):
        write(tmp_path / "out", interrupt_at(8))
    assert names(tmp_path) == ["out.part"]
    counted = []

    def counting(window):
        counted.extend(window)
        return upper(window)

    assert write(tmp_path / "out", work=counting) == WHOLE
    assert counted == ITEMS[6:]  # two windows of three were done
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_is_written_again(tmp_path, cut):
    with pytest.raises(Interrupted):
        write(tmp_path / "out", interrupt_at(12))
    part = tmp_path / "out.part"
    part.write_bytes(part.read_bytes()[:-cut])
    assert write(tmp_path / "out") == WHOLE


def test_the_part_file_of_another_run_stays(tmp_path):
    with pytest.raises(Interrupted):
        write(tmp_path / "out", interrupt_at(8))
    with pytest.raises(InputError, match="is an unfinished file of another model, input or setting"):
        write(tmp_path / "out", header={"signature": "lower"})
    assert names(tmp_path) == ["out.part"]


def test_bad_input_leaves_nothing(tmp_path):
    def bad(window):
        raise InputError("line 1: is bad.")

    with pytest.raises(InputError, match="is bad"):
        write(tmp_path / "out", work=bad)
    assert names(tmp_path) == []


def test_a_file_that_can_not_be_read_or_written_loses_nothing(tmp_path):
    """What is done stays when an input has vanished on the way, and when the disk is full."""

    def read():
        yield from ITEMS[:8]
        raise FileError("in: no such file; check the path.")

    with pytest.raises(FileError, match="no such file"):
        write(tmp_path / "out", read())
    assert names(tmp_path) == ["out.part"]

    def write_to_full_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with pytest.raises(FileError, match=r"out\.part: cannot be written \(File too large\)\.$"):
            write(tmp_path / "out")
        return names(tmp_path)

    assert in_child(FORKED, write_to_full_disk) == ["out.part"]
    assert write(tmp_path / "out") == WHOLE


def test_a_stream_is_not_continued(tmp_path):
    with pytest.raises(Interrupted):
        write(tmp_path / "out", interrupt_at(8), resumable=False)
    others = ["another stream"] * 20
    assert write(tmp_path / "out", others, resumable=False) == ["ANOTHER STREAM"] * 20


SLOW = """
import sys, time
from btr.resume import write_windows
def work(window):
    yield from (item.upper() for item in window)
    time.sleep(60)
items = [f"item {number}" for number in range(20)]
write_windows(items, work, sys.argv[1], {"signature": "upper"}, 3, "Testing", keep_header=False)
"""


@pytest.fixture
def running(tmp_path):
    """Another process that has written its first lines."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", SLOW, tmp_path / "out"], env=environment)
    part, deadline = tmp_path / "out.part", time.monotonic() + 60
    while time.monotonic() < deadline and not part.exists():
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


def test_a_second_run_is_refused_at_once(tmp_path, running):
    before = time.monotonic()
    with pytest.raises(InputError, match=r"out.part: another run is writing to it; wait for it, or choose another"):
        write(tmp_path / "out")
    assert time.monotonic() - before < 5
    assert names(tmp_path) == [".out.part.lock", "out.part"]


def test_the_lock_of_a_killed_run_does_not_block(tmp_path, running):
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert ".out.part.lock" in names(tmp_path)
    assert write(tmp_path / "out") == WHOLE
    assert names(tmp_path) == ["out"]
