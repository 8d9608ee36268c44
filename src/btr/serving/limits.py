"""The limits of a server: how much a request may ask for, and who may send it."""

from dataclasses import dataclass

HOST, PORT = "127.0.0.1", 8081  # the port of a local LanguageTool server
ESCAPED_BYTES = 12  # the most bytes that a character takes in a JSON body: \\ud83d\\ude00
MAX_DOCUMENT = 10_000_000  # bytes of a file that is opened or saved
OTHER_BYTES = 1 << 16  # of a body, beside the text


@dataclass(frozen=True)
class Limits:
    """Limits of one request, of all requests together, and the clients that are allowed."""

    max_characters: int = 50_000
    max_requests: int = 128  # running or waiting; others are answered with 503
    timeout: float = 60.0  # seconds
    token: str | None = None
    origins: tuple[str, ...] = ()  # web sites that may send requests, beside the page itself
    is_loopback: bool = True  # whether only this machine reaches the server

    @property
    def max_body(self) -> int:
        """The most bytes that a request's body can have."""
        return ESCAPED_BYTES * self.max_characters + OTHER_BYTES
