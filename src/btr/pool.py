"""Run one function over many items on all cores, with the results in order."""

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

PR_SET_PDEATHSIG = 1  # an option of Linux's prctl: the signal that a process gets when its parent ends

_function: Callable[[Any], Any]
_items: Sequence[Any]


def parallel_map(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    processes: int | None = None,
    min_per_process: int = 1,
    what: str | None = None,
) -> list[R]:
    """Return `[function(item) for item in items]`, computed by several processes if there are items enough.

    A process gets at least `min_per_process` items. `what` names the work for the progress bar. A worker of another
    pool does all by itself, since it may not start processes.
    """
    is_worker = multiprocessing.current_process().daemon
    workers = 1 if is_worker else min(processes or cores(), len(items) // min_per_process)
    if workers <= 1:
        return list(track(map(function, items), len(items), what))
    # Forked workers share the items and what the function refers to (a parser, a corpus); spawned ones get them at the
    # start. Sent one by one, items would fill a pipe that is no longer emptied after an interruption.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    size = max(1, min(256, len(items) // (workers * 4)))
    chunks = [range(start, min(start + size, len(items))) for start in range(0, len(items), size)]
    with safe_fork():
        pool = context.Pool(workers, _start, (function, items))
    try:
        return list(track(_flatten(pool.imap(_run, chunks)), len(items), what))
    finally:  # Ctrl-C or an error ends the workers, too
        with ignore_interrupts():
            pool.terminate()


@contextmanager
def safe_fork() -> Iterator[None]:
    """Start workers such that they neither free objects of the main process nor get its Ctrl-C.

    Objects of other threads (a model's, a parser's) may be incomplete at the fork: a worker whose garbage collection
    freed one has crashed. And a worker that Ctrl-C ends while it reads leaves a lock for which the main process waits.
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
def ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C while a pool is terminated: an interrupted termination would wait for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _function, _items
    _function, _items = function, items
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":  # end this worker when the main process is killed
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(chunk: range) -> list[Any]:
    return [_function(_items[number]) for number in chunk]


def _flatten(chunks: Iterable[list[R]]) -> Iterator[R]:
    for chunk in chunks:
        yield from chunk
