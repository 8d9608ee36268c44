"""Forms that clients send, as a query, URL-encoded or in parts (multipart). Nothing is written to disk."""

from functools import partial
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from btr.serving.errors import RequestError
from btr.serving.limits import MAX_DOCUMENT

MULTIPART = "multipart/form-data"
MAX_FIELDS = 50


class InMemoryParser(MultiPartParser):
    """Reads a form in parts; files stay in memory."""

    spool_max_size = MAX_DOCUMENT + 1

    def on_part_end(self) -> None:
        """Refuse a field that is not UTF-8: Starlette would read it as Latin-1."""
        if self._current_part.file is None:
            self._current_part.data.decode()
        super().on_part_end()


def is_multipart(request: Request) -> bool:
    """Return whether a request is a form in parts."""
    return request.headers.get("content-type", "").lower().startswith(MULTIPART)


async def read_multipart(request: Request) -> FormData:
    """Read a form in parts."""
    parser = InMemoryParser(
        request.headers, request.stream(), max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_DOCUMENT
    )
    try:
        return await parser.parse()
    except UnicodeDecodeError:
        raise RequestError(400, "the form is not UTF-8.") from None
    except (MultiPartException, KeyError, ValueError) as error:
        raise RequestError(400, f"the form can't be read ({getattr(error, 'message', 'no boundary')}).") from None


async def read_fields(request: Request) -> dict[str, str]:
    """Return the fields of the query and a form; those of the form win.

    Any other Content-Type is read as URL-encoded, since LTeX calls its form JSON.
    """
    parse = partial(parse_qsl, keep_blank_values=True, errors="strict")
    try:
        fields = parse(request.url.query)
        if is_multipart(request):
            form = await read_multipart(request)
            return dict(fields) | {name: value for name, value in form.items() if not isinstance(value, UploadFile)}
        return dict([*fields, *parse((await request.body()).decode())])
    except UnicodeDecodeError:
        raise RequestError(400, "the form is not UTF-8.") from None
