"""uvicorn as it is used here: nobody is waited for longer than the time-out, and a signal is the wish to stop."""

import asyncio
import math
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from btr.serving.guard import App


class Config(uvicorn.Config):
    """Settings of uvicorn, and the seconds within which a request's header has to come."""

    def __init__(self, app: App, seconds: float) -> None:
        super().__init__(
            app, log_config=None, access_log=False, server_header=False, http=Connection, ws="none", loop="asyncio",
            timeout_graceful_shutdown=math.ceil(seconds),
        )  # fmt: skip
        self.seconds = seconds


class Connection(H11Protocol):
    """A connection that is closed if the next header is not complete in time; uvicorn itself waits for ever."""

    config: Config
    due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.forget()

    def watch(self) -> None:
        """Set the clock when a header is waited for, and stop it when that has come."""
        if self.conn.their_state is not h11.IDLE:
            self.forget()
        elif not self.due:
            self.due = self.loop.call_later(self.config.seconds, self.timeout_keep_alive_handler)

    def forget(self) -> None:
        if self.due:
            self.due.cancel()
            self.due = None


class Server(uvicorn.Server):
    """A server that takes a signal as the wish to stop, and no more."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
