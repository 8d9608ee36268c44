"""Stopping a run between two updates, so that nothing is lost."""

import signal
import time
from types import FrameType, TracebackType

REPEATED = 2.0  # seconds: a launcher passes the terminal's signal on a second time


class StopRequest:
    """While active, Ctrl-C and SIGTERM are remembered in `requested`; a later signal interrupts at once."""

    def __init__(self) -> None:
        self.requested = False
        self._first = 0.0

    def __enter__(self) -> "StopRequest":
        self._before = {number: signal.signal(number, self._request) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested and time.monotonic() - self._first > REPEATED:
            raise KeyboardInterrupt
        if not self.requested:
            self.requested, self._first = True, time.monotonic()
