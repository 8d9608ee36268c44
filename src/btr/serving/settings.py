"""What a server takes, and from whom."""

from dataclasses import dataclass

HOST, PORT = "127.0.0.1", 8081  # the port of a LanguageTool server
ESCAPED = 12  # bytes that a character can take in a body: \\ud83d\\ude00
REST = 1 << 16  # bytes of a body that are not the text


@dataclass(frozen=True)
class Settings:
    """Limits of a request, how many are taken at a time, and who may ask."""

    characters: int = 50_000
    requests: int = 128  # running or waiting; more are sent away with 503
    seconds: float = 60.0
    token: str | None = None
    origins: tuple[str, ...] = ()  # web sites that may ask, beside the page itself
    loopback: bool = True

    @property
    def body(self) -> int:
        """The most bytes that a body can have."""
        return ESCAPED * self.characters + REST
