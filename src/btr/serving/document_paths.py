"""The paths that open, correct and save documents: .docx, .txt and .md."""

from pathlib import PurePath
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.datastructures import UploadFile

from btr.serving.documents import WordDocument
from btr.serving.errors import RequestError
from btr.serving.forms import MULTIPART, is_multipart, read_multipart
from btr.serving.schemas import check_plain
from btr.serving.service import Service, run_in

TYPES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
}


class OpenedFile:
    """A document that a client sent."""

    def __init__(self, name: str, content: bytes) -> None:
        self.kind = PurePath(name).suffix.lower()
        if self.kind not in TYPES:
            raise RequestError(422, "the file's name must end in .docx, .txt or .md.")
        self.word = WordDocument(content) if self.kind == ".docx" else None
        try:
            self.text = check_plain(self.word.text if self.word else content.decode("utf-8-sig"))
        except ValueError:  # also if it is not UTF-8
            raise RequestError(422, "the file is not text in UTF-8.") from None

    def save(self, text: str) -> Response:
        """Return the document with the words of a new text."""
        content = text.encode()
        if self.word:
            self.word.write(text)
            content = self.word.to_bytes()
        return Response(content, media_type=TYPES[self.kind])


def add_documents(api: FastAPI, service: Service) -> None:
    """Add the paths."""
    file = {"type": "string", "format": "binary", "description": "A .docx, .txt or .md file."}

    def describe(**fields: Any) -> Any:
        schema = {"type": "object", "properties": {"file": file, **fields}, "required": ["file", *fields]}
        return {"requestBody": {"content": {MULTIPART: {"schema": schema}}, "required": True}}

    async def read(request: Request) -> tuple[OpenedFile, str | None]:
        if not is_multipart(request):
            raise RequestError(422, f"send the file in a form ({MULTIPART}), as the field 'file'.")
        form = await read_multipart(request)
        sent, text = form.get("file"), form.get("text")
        if not isinstance(sent, UploadFile):
            raise RequestError(422, "file: Field required.")
        opened = await run_in(service.files, OpenedFile, sent.filename or "", await sent.read())
        return opened, text if isinstance(text, str) else None

    @api.post("/v1/document", tags=["documents"], openapi_extra=describe())
    async def correct(request: Request) -> Response:
        """Correct a document: the same kind of file, with the formatting of what is not changed."""
        opened, _ = await read(request)
        correction = await service.correct(request, opened.text, markdown=opened.kind == ".md")
        if correction.complete is False:
            raise service.took_too_long()
        return await run_in(service.files, opened.save, correction.text)

    @api.post("/v1/document/text", tags=["documents"], openapi_extra=describe())
    async def text(request: Request) -> dict[str, str]:
        """Return the text of a document; the paragraphs of a .docx are separated by a blank line."""
        opened, _ = await read(request)
        return {"text": opened.text}

    @api.post("/v1/document/save", tags=["documents"], openapi_extra=describe(text={"type": "string"}))
    async def save(request: Request) -> Response:
        """Return a document with the words of a new text, which began as that of `/v1/document/text`."""
        opened, changed = await read(request)
        if changed is None:
            raise RequestError(422, "text: Field required.")
        service.check_length(max(len(opened.text), len(changed)))
        return await run_in(service.files, opened.save, changed)
