"""The threads that models compute with: how many there are, and what becomes of them when a process is forked."""

import os
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import torch

from btr.errors import InputError

T = TypeVar("T")

_alive: "WeakSet[Threaded[Any]]" = WeakSet()
_parents: list[object] = []  # what a forked process got from its parent; empty in a process that was not forked


def is_forked() -> bool:
    """Return whether this process was forked from one that had models."""
    return bool(_parents)


def set_threads(threads: int | None) -> None:
    """Let this process compute with so many threads; None leaves their number as it is.

    The number is torch's, and CTranslate2's for models that are loaded later. A forked process has one.
    """
    if threads is None:
        return
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads must be a whole number of at least 1, not {threads!r}.")
    torch.set_num_threads(1 if is_forked() else threads)


class Threaded(Generic[T]):
    """An object with threads of its own, such as CTranslate2's, which a forked process makes anew.

    A fork copies memory but no threads: with the parent's object, the forked process would wait for ever.
    """

    def __init__(self, make: Callable[[], T], *, at_once: bool = True) -> None:
        """Make the object, or with `at_once` False leave that to its first use."""
        self._make = make
        self._lock = Lock()
        self._made: T | None = make() if at_once else None
        _alive.add(self)
        prepare_for_forks()

    def get(self) -> T:
        """Return the object of this process."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def leave_to_parent(self) -> None:
        """Make it anew at the next use. The parent's is kept: to free it is to wait for its threads."""
        _parents.append(self._made)
        self._made, self._lock = None, Lock()  # another thread of the parent may hold the lock


@cache
def prepare_for_forks() -> None:
    """Let processes that are forked from this one compute, each with one thread of torch.

    With several, torch would wait for OpenMP's threads, which are the parent's.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    torch.set_num_threads(1)
    _parents.append(os.getppid())
    for each in list(_alive):
        each.leave_to_parent()
