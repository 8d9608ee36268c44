"""The paths that open, correct and save documents: .docx, .txt and .md."""

from pathlib import PurePath
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from btr.serving.documents import WordDocument
from btr.serving.errors import RequestError
from btr.serving.forms import MULTIPART, is_multipart, read_multipart
from btr.serving.schemas import CorrectOptions, check_plain
from btr.serving.service import Service, run_in

TYPES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
}
COMPLETE, CORRECTED_UNTIL = "Btr-Complete", "Btr-Corrected-Until"  # headers of an answer with a part of the work

Json = dict[str, Any]  # a description of the API, and the fields of a form


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

    text_field = {"text": {"type": "string"}}
    options_fields = CorrectOptions.model_json_schema()["properties"]
    options_fields["words"] = {"type": "string", "description": "Words that are never changed, separated by spaces."}

    def describe(required: Json, optional: Json) -> Json:
        properties = {"file": file, **required, **optional}
        schema = {"type": "object", "properties": properties, "required": ["file", *required]}
        return {"requestBody": {"content": {MULTIPART: {"schema": schema}}, "required": True}}

    async def read(request: Request) -> tuple[OpenedFile, dict[str, str]]:
        if not is_multipart(request):
            raise RequestError(422, f"send the file in a form ({MULTIPART}), as the field 'file'.")
        form = await read_multipart(request)
        sent = form.get("file")
        if not isinstance(sent, UploadFile):
            raise RequestError(422, "file: Field required.")
        opened = await run_in(service.files, OpenedFile, sent.filename or "", await sent.read())
        return opened, {name: value for name, value in form.items() if isinstance(value, str)}

    @api.post("/v1/document", tags=["documents"], openapi_extra=describe({}, options_fields))
    async def correct(request: Request) -> Response:
        """Correct a document: the same kind of file, with the formatting of what is not changed."""
        opened, fields = await read(request)
        chosen = read_options(fields)
        correction = await service.correct(
            request, opened.text, markdown=opened.kind == ".md", options=chosen.options, words=chosen.words
        )
        response = await run_in(service.files, opened.save, correction.text)
        if correction.complete is False:
            response.headers[COMPLETE], response.headers[CORRECTED_UNTIL] = "false", str(correction.corrected_until)
        return response

    @api.post("/v1/document/text", tags=["documents"], openapi_extra=describe({}, {}))
    async def text(request: Request) -> dict[str, str]:
        """Return the text of a document; the paragraphs of a .docx are separated by a blank line."""
        opened, _ = await read(request)
        return {"text": opened.text}

    @api.post("/v1/document/save", tags=["documents"], openapi_extra=describe(text_field, {}))
    async def save(request: Request) -> Response:
        """Return a document with the words of a new text, which began as that of `/v1/document/text`."""
        opened, fields = await read(request)
        if "text" not in fields:
            raise RequestError(422, "text: Field required.")
        service.check_length(max(len(opened.text), len(fields["text"])))
        return await run_in(service.files, opened.save, fields["text"])


def read_options(fields: dict[str, str]) -> CorrectOptions:
    """Check the fields of a form that choose settings; empty ones count as absent."""
    values: Json = {name: value for name, value in fields.items() if value}
    values["words"] = fields.get("words", "").split()
    try:
        return CorrectOptions.model_validate(values, strict=False)
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None
