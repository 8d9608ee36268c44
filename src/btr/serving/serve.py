"""`btr serve`: the corrector as a web page and an HTTP API."""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from btr.correction import DEFAULT_MODEL, DEFAULT_RERANKERS, NO_RERANKER
from btr.correction.correct import load_corrector
from btr.errors import InputError
from btr.serving.settings import HOST, PORT, Settings


def serve(
    *,
    host: str = HOST,
    port: int = PORT,
    token: str | None = None,
    allow_origin: Sequence[str] = (),
    max_characters: int = Settings.characters,
    max_requests: int = Settings.requests,
    timeout: float = Settings.seconds,
    ready: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> None:
    """Serve the page and the API until SIGTERM or Ctrl-C, then finish what is running.

    Options are those of `btr.correct` (model, reranker, profile, threshold, candidates, top, device). `ready` is told
    the address once the server listens.
    """
    try:
        from btr.serving import log
        from btr.serving.app import make_app
        from btr.serving.server import Server
    except ImportError as error:
        raise InputError(f"serving needs the extra 'serve': pip install 'btr-gec[serve]' ({error}).") from None
    if token is not None and not re.fullmatch("[!-~]+", token):
        raise InputError("a token is one or more letters, digits and signs of ASCII, without spaces; see --token.")
    origins = tuple(origin.rstrip("/") for origin in allow_origin)
    for origin in origins:
        if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
            raise InputError(
                f"{origin!r} is no origin, such as https://my.org or http://my.org:81; see --allow-origin."
            )
    settings = Settings(max_characters, max_requests, timeout, token, origins, is_loopback(host))
    allow_connections()
    with bind(host, port) as listener:
        together = " + ".join([options["reranker"]] if isinstance(options.get("reranker"), str) else options.get("reranker", DEFAULT_RERANKERS))
        names = options.get("model", DEFAULT_MODEL), None if together == NO_RERANKER else together
        app = make_app(load_corrector(options.pop("model", DEFAULT_MODEL), options.pop("reranker", DEFAULT_RERANKERS), **options), settings, names)
        log.start()
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listener.getsockname()[1]}")
        log.say("start", host=host, port=listener.getsockname()[1])
        Server(app, timeout).run(listener)
        log.say("stop")


def bind(host: str, port: int) -> socket.socket:
    """A socket at the address; whether it is free is known before models are loaded."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"can't listen at {host}, port {port} ({why}); choose another with --host or --port."
        ) from None


def allow_connections() -> None:
    """As many open connections as the system lets this process have, not only as many as is usual."""
    with suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
