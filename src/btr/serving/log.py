"""The log: a JSON object a line, on standard error, and never a word of anybody's text."""

import json
import logging
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

logger = logging.getLogger("btr.serving")


class Lines(logging.Formatter):
    """A record as one line of JSON. Exceptions are named with their place only: messages may quote texts.

    So may all but the first line of what asyncio says.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage().partition("\n")[0],
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            line |= {"error": record.exc_info[0].__name__, "where": place(record.exc_info[2])}
        return json.dumps(line, ensure_ascii=False)


def start() -> None:
    """Let this server's log, uvicorn's and asyncio's go to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, level in ((logger.name, logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.WARNING)):
        own = logging.getLogger(name)
        own.handlers, own.propagate = [handler], False
        own.setLevel(level)


def say(event: str, **fields: Any) -> None:
    """Write a line."""
    logger.info(event, extra={"fields": fields})


def place(trace: TracebackType | None) -> str:
    """Where an exception was raised: file and line."""
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
