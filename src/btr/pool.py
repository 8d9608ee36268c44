"""One function over many items, on all cores, with the results in order."""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from btr.progress import track

T = TypeVar("T")
R = TypeVar("R")

PR_SET_PDEATHSIG = 1  # of Linux

_function: Callable[[Any], Any]
_items: Sequence[Any]


def parallel_map(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    processes: int | None = None,
    min_per_process: int = 1,
    what: str = "",
) -> list[R]:
    """Return `[function(item) for item in items]`, computed by several processes if there are items enough.

    A process gets at least `min_per_process` items. `what` names the work for the progress bar.
    """
    workers = min(processes or cores(), len(items) // min_per_process)
    if workers <= 1:
        return list(track(map(function, items), len(items), what))
    # Forked workers share the items and what the function holds (a parser, a corpus); elsewhere they are sent once.
    # Sent bit by bit, items would fill a pipe that nobody empties any more when the work is broken off.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    size = max(1, min(256, len(items) // (workers * 4)))
    chunks = [range(start, min(start + size, len(items))) for start in range(0, len(items), size)]
    with sheltered():
        pool = context.Pool(workers, _start, (function, items))
    try:
        return list(track(_flatten(pool.imap(_run, chunks)), len(items), what))
    finally:  # leaving early, by Ctrl-C or an error, ends the workers, too
        with undisturbed():
            pool.terminate()


@contextmanager
def sheltered() -> Iterator[None]:
    """Keep what there is out of the sight of forked workers' garbage collection.

    What belongs to other threads (a model's, a parser's) may be half made at the fork, and is not a worker's to free:
    one that tried has crashed. Nor does a Ctrl-C reach workers, or the pool's threads, from their first moment on: a
    worker that it ended in the middle of reading would leave a lock behind for which the main process waits.
    """
    masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let no Ctrl-C in while a pool is closed: half closed, it would wait for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _function, _items
    _function, _items = function, items
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":  # when the main process is killed, so are we
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(chunk: range) -> list[Any]:
    return [_function(_items[number]) for number in chunk]


def _flatten(chunks: Iterable[list[R]]) -> Iterator[R]:
    for chunk in chunks:
        yield from chunk
