"""The checks before the API: who may send a request, how large it is and how long it takes. Each request is logged."""

import asyncio
import hmac
import ipaddress
import re
import socket
import time
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from btr.serving import log
from btr.serving.errors import RequestError, internal_error, too_many_requests
from btr.serving.forms import MULTIPART
from btr.serving.limits import MAX_DOCUMENT, Limits
from btr.serving.monitoring import Monitoring

CLIENT_GONE = 499  # the client closed the connection; this status is only in the log
MAX_DISCARDED = 1 << 25  # bytes of a refused body that are read and discarded: who still sends reads no answer
ANSWER_SECONDS = 5.0  # beyond the limit of time, to write an answer with what is done
STREAMS = frozenset({"/v1/correct/stream"})  # answers that have a limit of time per paragraph
DOCUMENTS = "/v1/document"  # the paths whose bodies may be as large as a file
PROTECTED = "/v1/", "/v2/check", "/v2/words", "/metrics"  # the paths that need the token
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


class Guard:
    """Refuses requests that are not allowed or too large, ends those that take too long, and logs and counts all."""

    def __init__(self, app: ASGIApp, limits: Limits, monitoring: Monitoring, paths: frozenset[str]) -> None:
        self.app, self.limits, self.monitoring, self.paths = app, limits, monitoring, paths
        host_name = socket.gethostname().lower()
        self.host_names = {host_name, f"{host_name.partition('.')[0]}.local"}
        self.body_bytes = 0  # of all bodies in memory: those that still arrive, and those of running requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        path = scope["path"] = "/" + scope["path"].lstrip("/")  # a client's base URL may end in a slash
        status = CLIENT_GONE
        scope.setdefault("state", {})

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self.answer(scope, receive, send_with_headers)
        except RequestError as error:
            await error.response(path)(scope, receive, send_with_headers)
        except Exception:
            log.logger.exception("failure", extra={"fields": {"path": self.known_path(path)}})
            if status == CLIENT_GONE:  # no answer has begun
                await internal_error().response(path)(scope, receive, send_with_headers)
        finally:
            self.record(scope, status, time.perf_counter() - started)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the client, read the body and let the application answer."""
        headers, path = Headers(scope=scope), scope["path"]
        is_protected = self.limits.token is not None and path.startswith(PROTECTED)
        token = read_bearer(headers)
        is_in_form = token is None and path.startswith("/v2/")  # where clients of LanguageTool send it
        try:
            self.check_origin(headers)
            if is_protected and not is_in_form:
                self.check_token(token)
        except RequestError:
            await self.read_body(scope, receive, discard=True)  # who still sends reads no answer
            raise
        body = await self.read_body(scope, receive)
        self.body_bytes += len(body)
        try:
            if is_protected and is_in_form:
                self.check_token(read_api_key(scope, body))
            await self.run_app(scope, body, receive, send)
        finally:
            self.body_bytes -= len(body)

    async def run_app(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the application answer, unless the client goes away or the time is up."""
        check_utf8(scope, body)
        running = asyncio.ensure_future(self.app(scope, replay(body), send))
        gone = asyncio.ensure_future(wait_for_disconnect(receive))
        seconds = self.limits.timeout
        # The application ends in time by itself, with what is done; streams go on as long as paragraphs come.
        limit = None if scope["path"] in STREAMS else seconds + ANSWER_SECONDS
        try:
            await asyncio.wait({running, gone}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            elif not gone.done():
                raise RequestError(504, f"this took longer than {seconds:g} seconds; send a shorter text.")
        finally:
            for task in (running, gone):
                if not task.done():
                    task.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await task

    def check_origin(self, headers: Headers) -> None:
        """Refuse other web sites, also those whose domain points to this machine's address (DNS rebinding).

        Such a site does not know the token. So with a token, other machines may reach the server by any host name.
        """
        allowed, is_loopback = self.limits.origins, self.limits.is_loopback
        if "*" in allowed:
            return
        host, origin = headers.get("host", ""), headers.get("origin")
        is_known = host in map(netloc, allowed) or self.is_local(host)
        if not is_known and (is_loopback or self.limits.token is None):
            name = "localhost" if is_loopback else "this machine's name"
            raise RequestError(403, f"this server answers to its address or {name} only; see --allow-origin.")
        if origin and origin not in allowed and netloc(origin) != host:
            raise RequestError(403, f"requests from {origin} are not allowed; see --allow-origin.")

    def is_local(self, host: str) -> bool:
        """Return whether a Host header is an address or localhost: no domain that a web site could point to it.

        If other machines reach the server, its host name and names without a dot count too: no web site has such one.
        """
        with suppress(ValueError):
            name = urlsplit(f"//{host}").hostname or ""
            if name == "localhost" or (not self.limits.is_loopback and (name in self.host_names or "." not in name)):
                return True
            return bool(ipaddress.ip_address(name))
        return False

    def check_token(self, token: str | None) -> None:
        """Refuse a client that does not send the server's token."""
        sent = (token or "").strip()
        if not hmac.compare_digest(sent.encode(), (self.limits.token or "").encode()):
            why = "this token is not the server's" if sent else "a token is needed, as 'Authorization: Bearer TOKEN'"
            raise RequestError(401, f"{why}.", {"WWW-Authenticate": "Bearer"})

    async def read_body(self, scope: Scope, receive: Receive, *, discard: bool = False) -> bytes:
        """Return the body if it is not too large and arrives in time; b"" if it is to be discarded.

        All bodies in memory together are no larger than those of `max_requests` requests can be, and one document.
        """
        is_document = scope["path"].startswith(DOCUMENTS)
        max_body = self.limits.max_body + (MAX_DOCUMENT if is_document else 0)
        max_memory = self.limits.max_requests * self.limits.max_body + (MAX_DOCUMENT if is_document else 0)
        length = Headers(scope=scope).get("content-length", "0")
        size = int(length) if length.isdigit() and int(length) > MAX_DISCARDED else 0
        has_more, is_full = size <= MAX_DISCARDED, False
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.timeout):
                while has_more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestError(CLIENT_GONE, "the client went away.")
                    part = message.get("body", b"")
                    size += len(part)
                    is_full = is_full or self.body_bytes + len(part) > max_memory
                    if discard or size > max_body or is_full:
                        self.drop(body)
                    else:
                        body += part
                        self.body_bytes += len(part)
                    has_more = message.get("more_body", False) and size <= MAX_DISCARDED
            whole = bytes(body)
        except TimeoutError:
            why = f"the body did not arrive within {self.limits.timeout:g} seconds."
            raise RequestError(408, why, {"Connection": "close"}) from None
        finally:
            self.drop(body)
        if size > max_body:
            why = f"the body is larger than {max_body:,} bytes; send a shorter text, or several."
            raise RequestError(413, why, {"Connection": "close"})
        if is_full and not discard:
            raise too_many_requests()
        return whole

    def drop(self, body: bytearray) -> None:
        """Discard the part of a body that has arrived."""
        self.body_bytes -= len(body)
        body.clear()

    def record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request, and write its line of the log."""
        path = self.known_path(scope["path"])
        self.monitoring.requests.labels(path, status).inc()
        self.monitoring.request_seconds.labels(path).observe(seconds)
        counts: dict[str, int] = scope["state"].get("counts", {})
        log.write("request", method=scope["method"], path=path, status=status, seconds=round(seconds, 4), **counts)

    def known_path(self, path: str) -> str:
        """Return a path of the API, or "other": an unknown path may hold a user's text."""
        return path if path in self.paths else "other"


def read_bearer(headers: Headers) -> str | None:
    """Return the token in the Authorization header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def read_api_key(scope: Scope, body: bytes) -> str | None:
    """Return the token that a query or form has as `apiKey`."""
    part = re.search(rb'name="apiKey"\r\n(?:[^\r\n]+\r\n)*\r\n([!-~]+)\r\n', body)  # in a form in parts
    if part:
        return part[1].decode()
    fields = scope["query_string"].decode(errors="replace"), body.decode(errors="replace")
    return next((key for text in fields for key in parse_qs(text).get("apiKey", [])), None)


def check_utf8(scope: Scope, body: bytes) -> None:
    """Refuse a body that is not UTF-8, unless it is a form in parts, where a file need not be text."""
    if Headers(scope=scope).get("content-type", "").lower().startswith(MULTIPART):
        return
    try:
        body.decode()
    except UnicodeDecodeError:
        raise RequestError(400, "the body is not UTF-8.") from None


def netloc(url: str) -> str | None:
    """Return the host and port of a URL; None if it has none."""
    try:
        return urlsplit(url).netloc or None
    except ValueError:
        return None


def replay(body: bytes) -> Receive:
    """Return a `receive` that gives the application a body that the guard has read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await asyncio.Event().wait()  # for ever: it is the guard that waits for the client to disconnect
        raise AssertionError

    return receive


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
