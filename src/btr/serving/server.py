"""uvicorn with two time limits that it lacks: for a header to arrive, and for a client to read its answer."""

import asyncio
import math
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

GRACE = 2.0  # seconds that a client has to read its answer once the server stops
TICK = 0.1  # seconds between two looks at the connections
STATE_KEY = "btr.connection"  # of the ASGI scope's `state`


class TimedConnection(asyncio.Protocol):
    """A connection that knows since when its client keeps it waiting.

    uvicorn lets an application limit neither of these times: before a header is complete the application is not
    called, and an answer that a client does not read is soon out of its hands. So this class stands between asyncio
    and uvicorn's protocol. It calls only the methods of `asyncio.Protocol`, and hands itself to the application
    through the `state` of the ASGI scope, which uvicorn copies from the `app_state` that its protocol is given.
    """

    def __init__(self, connections: "set[TimedConnection]", *, app_state: dict[str, Any], **options: Any) -> None:
        self.http = H11Protocol(app_state={**app_state, STATE_KEY: self}, **options)
        self.connections = connections
        self.requests = 0  # that the application works on
        self.idle_since: float | None = time.monotonic()  # without a request
        self.blocked_since: float | None = None  # with bytes that the client has not read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(0)  # so that writing resumes when the client has read everything
        self.connections.add(self)
        self.http.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)
        self.http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.http.data_received(data)

    def eof_received(self) -> None:
        self.http.eof_received()

    def pause_writing(self) -> None:
        self.blocked_since = time.monotonic()
        self.http.pause_writing()

    def resume_writing(self) -> None:
        self.blocked_since = None
        self.http.resume_writing()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Note that the application works on a request of this connection."""
        self.requests += 1
        self.idle_since = None
        try:
            yield
        finally:
            self.requests -= 1
            if not self.requests:
                self.idle_since = time.monotonic()

    def close_if_overdue(self, seconds: float, stopped_at: float | None) -> None:
        """End the connection if the next header, or the reading of an answer, takes longer than allowed."""
        now = time.monotonic()
        if self.idle_since is not None and now - self.idle_since > seconds:
            self.transport.close()
        if self.blocked_since is not None:
            blocked_for = now - max(self.blocked_since, stopped_at or 0.0)
            if blocked_for > (seconds if stopped_at is None else min(GRACE, seconds)):
                self.transport.abort()  # `close` would wait for the client


class Server:
    """uvicorn that waits for no client longer than `seconds`, and ends with exit code 0 after a signal."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.seconds = seconds
        self.connections: set[TimedConnection] = set()
        protocol = cast("type[asyncio.Protocol]", partial(TimedConnection, self.connections))
        config = uvicorn.Config(
            with_connection(app),
            http=protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=math.ceil(seconds),
        )
        self.uvicorn = uvicorn.Server(config)

    def run(self, listener: socket.socket) -> None:
        """Serve until a signal, then finish the running requests. A second Ctrl-C ends at once."""
        with self.handle_signals():
            asyncio.run(self.serve(listener))

    async def serve(self, listener: socket.socket) -> None:
        """Serve, and watch the connections."""
        watching = asyncio.create_task(self.watch())
        try:
            await self.uvicorn.serve([listener])
        finally:
            watching.cancel()

    async def watch(self) -> None:
        """End connections that are overdue."""
        stopped_at = None
        while True:
            await asyncio.sleep(TICK)
            if self.uvicorn.should_exit and stopped_at is None:
                stopped_at = time.monotonic()
            for connection in list(self.connections):
                connection.close_if_overdue(self.seconds, stopped_at)

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, also before uvicorn listens for them.

        After its end uvicorn raises the signal again for the handlers of before: for these, which do nothing more.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(*_: object) -> None:
            self.uvicorn.should_exit = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def with_connection(app: ASGIApp) -> ASGIApp:
    """Tell a request's connection how long the application works on it."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        connection: TimedConnection = scope["state"].pop(STATE_KEY)
        with connection.request():
            await app(scope, receive, send)

    return call
