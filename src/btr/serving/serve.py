"""`btr serve`: the corrector as a web page and an HTTP API."""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from btr.correction.correct import import_corrector
from btr.errors import InputError
from btr.serving.limits import HOST, PORT, Limits

if TYPE_CHECKING:
    from btr.correction.corrector import Corrector

MACOS_OPEN_FILES = 10_240  # OPEN_MAX: macOS has no hard limit by default, and refuses "none" as the soft one


def serve(
    corrector: "Corrector | Callable[[], Corrector] | None" = None,
    *,
    host: str = HOST,
    port: int = PORT,
    token: str | None = None,
    allow_origin: Sequence[str] = (),
    max_characters: int = Limits.max_characters,
    max_requests: int = Limits.max_requests,
    timeout: float = Limits.timeout,
    on_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the page and the API until SIGTERM or Ctrl-C, then finish the running requests.

    A function in place of the corrector loads it once the address is known to be free; by default it is
    `Corrector.from_pretrained`. `on_ready` is called with the address once the server listens.
    """
    try:
        from btr.serving import log
        from btr.serving.app import make_app
        from btr.serving.server import Server
    except ModuleNotFoundError as error:
        raise InputError(f"serving needs the extra 'serve': pip install 'btr-gec[serve]' ({error}).") from None
    limits = Limits(
        max_characters, max_requests, timeout, check_token(token), check_origins(allow_origin), is_loopback(host)
    )
    allow_many_connections()
    with bind(host, port) as listener:
        log.configure()
        if corrector is None:
            corrector = import_corrector().from_pretrained
        if callable(corrector):
            corrector = corrector()
        app = make_app(corrector, limits)
        if corrector.note is not None:
            log.write(corrector.note)
        bound_port = listener.getsockname()[1]
        on_ready(f"http://[{host}]:{bound_port}" if ":" in host else f"http://{host}:{bound_port}")
        log.write("start", host=host, port=bound_port)
        Server(app, timeout).run(listener)
        log.write("stop")


def check_token(token: str | None) -> str | None:
    """Return a token that an HTTP header can carry."""
    if token is not None and not re.fullmatch("[!-~]+", token):
        raise InputError("a token is one or more letters, digits and signs of ASCII, without spaces; see --token.")
    return token


def check_origins(urls: Sequence[str]) -> tuple[str, ...]:
    """Return the origins of web sites, as browsers send them."""
    origins = tuple(url.rstrip("/") for url in urls)
    for origin in origins:
        if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
            raise InputError(
                f"{origin!r} is no origin, such as https://my.org or http://my.org:81; see --allow-origin."
            )
    return origins


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at the address. An address in use is an error before any model is loaded."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"can't listen at {host}, port {port} ({why}); choose another with --host or --port."
        ) from None


def allow_many_connections() -> None:
    """Raise the limit of open files of this process to the most that the system permits."""
    with suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except ValueError:
            resource.setrlimit(resource.RLIMIT_NOFILE, (MACOS_OPEN_FILES, hard))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
