"""Random requests to the server's application, in this process and with scripted models (benchmarks/fuzz.py)."""

import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from fuzz_inputs import WHAT, WORDS, Attempt, Attempts, BrokenPromiseError, documents, forms
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from btr.correction.dictionary import Dictionary
from btr.serving import log
from btr.serving.app import make_app
from btr.serving.limits import Limits

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
from judged import judged_corrector

BUSY = 503, 504  # statuses that the docs promise for too many requests, and too long ones
HOST = {"Host": "localhost"}


class Defects(logging.Handler):
    """Remembers what exception the server logged last, which its answers do not tell."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0]:
            self.last = f"{record.exc_info[0].__name__} at {log.code_line(record.exc_info[2])}"


def http_parsers(folder: Path) -> Iterator[tuple[str, Attempts]]:
    """Yield the kinds of requests, each with its inputs and what sends one of them."""
    corrector = judged_corrector()
    corrector.dictionary = Dictionary(path=folder / "words.txt")
    app, defects = make_app(corrector, Limits()), Defects()
    for logger in (log.logger, logging.getLogger("asyncio")):
        logger.handlers, logger.propagate = [defects], False
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:

        def send(path: str, content_type: str, body: bytes) -> bool:
            answer = client.post(path, content=body, headers={"Content-Type": content_type})
            return check(answer.status_code, answer.text, defects)

        def send_form(form: tuple[str, bytes]) -> bool:
            return send("/v2/check", *form)

        def send_word(form: tuple[str, bytes]) -> bool:
            return send("/v2/words/add", *form)

        def open_document(form: tuple[str, bytes]) -> bool:
            return send("/v1/document/text", *form)

        def save_document(form: tuple[str, bytes]) -> bool:
            return send("/v1/document/save", *form)

        def correct_document(form: tuple[str, bytes]) -> bool:
            return send("/v1/document", *form)

        yield "HTTP bodies", described_requests(app, defects)
        yield "LanguageTool forms", [*[(forms(WHAT), send_form)] * 3, (forms(WORDS), send_word)]
        examples = [make_document()]
        senders = open_document, save_document, correct_document
        yield "documents", [(documents(examples), sender) for sender in senders]


def check(status: int, text: str, defects: Defects) -> bool:
    """Return whether a request was accepted; a defect of the server is an error."""
    if status >= 500 and status not in BUSY:
        raise BrokenPromiseError(f"status {status}, {defects.last}")
    if status >= 400 and (not text or "\n" in text):
        raise BrokenPromiseError(f"status {status} without a sentence")
    return status < 400


def described_requests(app: ASGIApp, defects: Defects) -> Iterator[Attempt]:
    """Yield requests as the OpenAPI document describes them, and such as it forbids, for each path with a body."""
    import schemathesis
    from schemathesis.generation import GenerationMode
    from schemathesis.python import asgi

    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=HOST)
    session = asgi.get_client(app)
    session.headers.update(HOST)

    def send(case: Any) -> bool:
        answer = case.call(session=session)
        return check(answer.status_code, answer.text, defects)

    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.method == "post" and operation.path.startswith(("/v1/correct", "/v1/score")):
            for mode in GenerationMode:
                yield operation.as_strategy(generation_mode=mode), send


def make_document() -> bytes:
    """Return a .docx with words in bold, a table and a list."""
    document = docx.Document()
    paragraph = document.add_paragraph("I has ")
    paragraph.add_run("two").bold = True
    paragraph.add_run(" dog.")
    document.add_paragraph("She go home.", style="List Bullet")
    document.add_table(1, 2).cell(0, 1).text = "He have it."
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()
