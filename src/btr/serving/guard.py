"""What stands before the API: who may ask, how much, how long; and what is told of each request."""

import asyncio
import hmac
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response

from btr.serving import log
from btr.serving.measures import Measures
from btr.serving.settings import Settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

RETRY = 5  # seconds after which to ask again
GONE = 499  # the client closed the connection; only the log sees it
DRAINED = 1 << 25  # bytes of too large a body that are read and forgotten, so that the client hears the answer
GUARDED = "/v1/", "/v2/check", "/metrics"  # what a token is asked for
NAMES = {socket.gethostname().lower(), f"{socket.gethostname()}.local".lower()}  # of this machine
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):  # noqa: N818 (nothing is wrong with the server)
    """A request that is not answered: its status, and a sentence that says why."""

    def __init__(self, status: int, why: str, **headers: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self, path: str) -> Response:
        """LanguageTool's clients read errors as plain text, all others as JSON."""
        if path.startswith("/v2/"):
            return PlainTextResponse(f"Error: {self.why}", self.status, self.headers)
        return JSONResponse({"detail": self.why}, self.status, self.headers)


def busy() -> Refused:
    """A refusal for now."""
    return Refused(503, "too many requests at a time; try again soon.", Retry_After=str(RETRY))


FAILURE = Refused(500, "something went wrong here; it is in the server's log.")


class Guard:
    """Refuses what is not allowed or too large, ends what takes too long, and writes a line and counts for each."""

    def __init__(self, app: App, settings: Settings, measures: Measures, paths: frozenset[str]) -> None:
        self.app, self.settings, self.measures, self.paths = app, settings, measures, paths
        self.kept = 0  # bytes of all bodies, those that still come and those that are worked on

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        path = scope["path"] = "/" + scope["path"].lstrip("/")  # an address may end in a slash already
        told = {"status": GONE}
        scope.setdefault("state", {})

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self.answer(scope, receive, tell)
        except Refused as refused:
            await refused.response(path)(scope, receive, tell)
        except Exception:
            log.logger.exception("failure", extra={"fields": {"path": self.name(path)}})
            if told["status"] == GONE:  # nothing was answered yet
                await FAILURE.response(path)(scope, receive, tell)
        finally:
            self.note(scope, told["status"], time.perf_counter() - begun)

    async def answer(self, scope: Message, receive: Receive, send: Send) -> None:
        """Read what is asked, if it may be."""
        headers, path = Headers(scope=scope), scope["path"]
        guarded = self.settings.token is not None and path.startswith(GUARDED)
        given = read_bearer(headers)
        in_form = given is None and path.startswith("/v2/")  # where LanguageTool's clients send it
        try:
            self.check_origin(headers)
            if guarded and not in_form:
                self.check_token(given)
        except Refused:
            await self.read(headers, receive, keep=False)  # since who still sends does not hear of a refusal
            raise
        body = await self.read(headers, receive)
        self.kept += len(body)
        try:
            if guarded and in_form:
                self.check_token(read_key(body))
            await self.work(scope, body, receive, send)
        finally:
            self.kept -= len(body)

    async def work(self, scope: Message, body: bytes, receive: Receive, send: Send) -> None:
        """Let the application answer, unless the client goes away or the time is up."""
        try:
            body.decode()
        except UnicodeDecodeError:
            raise Refused(400, "the body is not UTF-8.") from None
        work = asyncio.ensure_future(self.app(scope, replay(body, receive), send))
        gone = asyncio.ensure_future(wait_gone(receive))
        try:
            await asyncio.wait({work, gone}, timeout=self.settings.seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            elif not gone.done():
                raise Refused(504, f"this took longer than {self.settings.seconds:g} seconds; send a shorter text.")
        finally:
            for task in (work, gone):
                if not task.done():
                    task.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await task

    def check_origin(self, headers: Headers) -> None:
        """Refuse other web sites, also those that gave their own name to this machine's address.

        A token, which they don't know, keeps those out as well; only then may others reach the server by any name.
        """
        allowed, is_loopback = self.settings.origins, self.settings.loopback
        if "*" in allowed:
            return
        host, origin = headers.get("host", ""), headers.get("origin")
        is_known = host in map(netloc, allowed) or is_own(host, is_loopback)
        if not is_known and (is_loopback or self.settings.token is None):
            own = "localhost" if is_loopback else "this machine's name"
            raise Refused(403, f"this server is asked by its address or as {own}; see --allow-origin.")
        if origin and origin not in allowed and netloc(origin) != host:
            raise Refused(403, f"requests from {origin} are not allowed; see --allow-origin.")

    def check_token(self, given: str | None) -> None:
        """Refuse who does not know the token."""
        own = (given or "").strip()
        if not hmac.compare_digest(own.encode(), (self.settings.token or "").encode()):
            why = "this token is not the server's" if own else "a token is needed, as 'Authorization: Bearer TOKEN'"
            raise Refused(401, f"{why}.", WWW_Authenticate="Bearer")

    async def read(self, headers: Headers, receive: Receive, *, keep: bool = True) -> bytes:
        """The body, if it is not too large and comes in time; nothing of it if it is not to be kept.

        All bodies together are no larger than those of the most requests that are taken can be.
        """
        most, length = self.settings.body, headers.get("content-length", "0")
        size = int(length) if length.isdigit() and int(length) > DRAINED else 0
        more, is_full = size <= DRAINED, False
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(GONE, "the client went away.")
                    part = message.get("body", b"")
                    size += len(part)
                    is_full = is_full or (keep and self.kept + len(part) > self.settings.requests * most)
                    if keep and size <= most and not is_full:
                        body += part
                        self.kept += len(part)
                    else:  # the rest is read and forgotten
                        self.drop(body)
                    more = message.get("more_body", False) and size <= DRAINED
            whole = bytes(body)
        except TimeoutError:
            why = f"the body did not come within {self.settings.seconds:g} seconds."
            raise Refused(408, why, Connection="close") from None
        finally:
            self.drop(body)
        if size > most:
            why = f"the body is larger than {most:,} bytes; send a shorter text, or several."
            raise Refused(413, why, Connection="close")
        if is_full:
            raise busy()
        return whole

    def drop(self, body: bytearray) -> None:
        """Forget what has come of a body."""
        self.kept -= len(body)
        body.clear()

    def note(self, scope: Message, status: int, seconds: float) -> None:
        """Count a request, and write its line."""
        path = self.name(scope["path"])
        self.measures.requests.labels(path, status).inc()
        self.measures.seconds.labels(path).observe(seconds)
        told = scope["state"].get("told", {})
        log.say("request", method=scope["method"], path=path, status=status, seconds=round(seconds, 4), **told)

    def name(self, path: str) -> str:
        """A path that is known; others could be anything, a text as well."""
        return path if path in self.paths else "other"


def read_bearer(headers: Headers) -> str | None:
    """The token in the header, if there is one."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given if scheme.lower() == "bearer" else None


def read_key(form: bytes) -> str | None:
    """The token as apiKey in a form, if there is one."""
    return next(iter(parse_qs(form.decode(errors="replace")).get("apiKey", [])), None)


def netloc(url: str) -> str:
    """The host and port of an address; nothing if it is malformed."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def is_own(host: str, is_loopback: bool) -> bool:
    """Whether a Host header is an address, or localhost: no name that somebody else could have given.

    Where others than this machine may ask, nor is its own name one, nor those without a dot, which no web site has.
    """
    with suppress(ValueError):
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost" or (not is_loopback and (name in NAMES or "." not in name)):
            return True
        return bool(ipaddress.ip_address(name))
    return False


def replay(body: bytes, receive: Receive) -> Receive:
    """A body that was read, for the application to read again; nothing comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        if messages:
            return messages.pop()
        await asyncio.Event().wait()  # the guard itself waits for the client to go
        raise AssertionError

    return again


async def wait_gone(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
