"""uvicorn as it is used here: nobody is waited for longer than the time-out, and a signal is the wish to stop."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from btr.serving.guard import App

GRACE = 2.0  # seconds in which a client has to take its answer when the server stops


class Config(uvicorn.Config):
    """Settings of uvicorn, and the seconds within which a request's header has to come."""

    def __init__(self, app: App, seconds: float) -> None:
        super().__init__(
            app, log_config=None, access_log=False, server_header=False, http=Connection, ws="none", loop="asyncio",
            timeout_graceful_shutdown=math.ceil(seconds),
        )  # fmt: skip
        self.seconds = seconds


class Clock:
    """Does something after some seconds, unless it is stopped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        self.loop, self.act = loop, act
        self.handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        self.stop()
        self.handle = self.loop.call_later(seconds, self.act)

    def stop(self) -> None:
        if self.handle:
            self.handle.cancel()
            self.handle = None


class Connection(H11Protocol):
    """A connection that ends if the next header is not complete in time, or if an answer is not taken in time.

    uvicorn itself waits for ever.
    """

    config: Config

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.patience = self.config.seconds
        self.coming = Clock(self.loop, self.timeout_keep_alive_handler)
        self.going = Clock(self.loop, transport.abort)
        transport.set_write_buffer_limits(0)  # writing pauses until the client has taken all
        self.watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.coming.stop()
        self.going.stop()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.going.start(self.patience)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.going.stop()

    def shutdown(self) -> None:
        super().shutdown()
        self.patience = min(GRACE, self.patience)
        if self.going.handle:
            self.going.start(self.patience)

    def watch(self) -> None:
        """Set the clock when a header is waited for, and stop it when that has come."""
        if self.conn.their_state is not h11.IDLE:
            self.coming.stop()
        elif not self.coming.handle:
            self.coming.start(self.config.seconds)


class Server(uvicorn.Server):
    """A server that takes a signal as the wish to stop, and no more."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
