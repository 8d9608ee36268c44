"""The log: one JSON object per line on standard error, and never a word of a user's text."""

import json
import logging
import sys
import time
from pathlib import Path
from types import TracebackType

logger = logging.getLogger("btr.serving")
loading = logging.getLogger("btr.loading")
Value = str | int | float | None


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON.

    Of an exception it writes the type and the line of code only, since messages may quote a text. For the same reason
    it leaves out all but the first line of asyncio's messages.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Value] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage().partition("\n")[0],
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            line |= {"error": record.exc_info[0].__name__, "where": code_line(record.exc_info[2])}
        return json.dumps(line, ensure_ascii=False)


def configure() -> None:
    """Send this server's log, what it is loading, uvicorn's log and asyncio's to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    levels = {logger.name: logging.INFO, loading.name: logging.INFO}
    levels |= {"uvicorn": logging.WARNING, "asyncio": logging.WARNING}
    for name, level in levels.items():
        configured = logging.getLogger(name)
        configured.handlers, configured.propagate = [handler], False
        configured.setLevel(level)


def write(event: str, **fields: Value) -> None:
    """Write a line."""
    logger.info(event, extra={"fields": fields})


def code_line(trace: TracebackType | None) -> str | None:
    """Return the file and line that raised an exception."""
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else None
