"""Corrections as a stream of JSON lines, one paragraph at a time."""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import StreamingResponse

from btr.correction.records import Correction
from btr.serving import log
from btr.serving.errors import RequestError, internal_error
from btr.serving.jobs import Part
from btr.serving.schemas import CorrectResponse

MEDIA_TYPE = "application/x-ndjson"
HEADERS = {"X-Accel-Buffering": "no"}  # nginx collects an answer unless told otherwise

Results = AsyncIterator[tuple[Part, Correction] | int]  # the number of parts, then the parts


async def respond(results: Results) -> StreamingResponse:
    """Return the answer. An error before the first paragraph begins is raised, so that it has its own status."""
    count = await anext(results)
    return StreamingResponse(write_lines(count, results), media_type=MEDIA_TYPE, headers=HEADERS)


async def write_lines(count: object, results: Results) -> AsyncIterator[str]:
    """Yield the lines: the number of paragraphs, each paragraph, and `done` or an error."""
    yield to_line({"paragraphs": count})
    number = 0
    try:
        async for result in results:
            assert not isinstance(result, int)
            part, correction = result
            response = CorrectResponse.model_validate(correction.to_dict())
            shown = response.model_dump(mode="json", exclude_unset=True)
            yield to_line({"paragraph": number, "start": part.start, "end": part.end, "result": shown})
            number += 1
        yield to_line({"done": True})
    except RequestError as error:
        yield to_line({"error": error.message})
    except Exception:
        log.logger.exception("failure", extra={"fields": {"path": "/v1/correct/stream"}})
        yield to_line({"error": internal_error().message})


def to_line(record: dict[str, Any]) -> str:
    """Return a record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
