"""Progress bars, on a terminal only."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], total: int | None, what: str | None) -> Iterator[T]:
    """Pass items on, with a bar on standard error if that is a terminal and the work has a name (`what`)."""
    if not what or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as bar

    yield from bar(items, what, total, console=Console(stderr=True), transient=True)
