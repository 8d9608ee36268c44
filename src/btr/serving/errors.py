"""Answers to requests that the server can't or won't fulfil."""

from starlette.responses import JSONResponse, PlainTextResponse, Response

RETRY_SECONDS = 5  # after which a client may try again


class RequestError(Exception):
    """A request that is refused: the status of the answer, and a sentence that says why."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers

    def response(self, path: str) -> Response:
        """Return the answer: plain text for clients of LanguageTool, JSON for all others."""
        if path.startswith("/v2/"):
            return PlainTextResponse(f"Error: {self.message}", self.status, self.headers)
        return JSONResponse({"detail": self.message}, self.status, self.headers)


def too_many_requests() -> RequestError:
    """Return the error for a server that is busy."""
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return RequestError(503, "too many requests at a time; try again soon.", headers)


def internal_error() -> RequestError:
    """Return the error for a defect of this program."""
    return RequestError(500, "something went wrong here; the server's log has the details.")
