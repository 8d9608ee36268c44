"""The HTTP API and the page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from btr import __version__
from btr.corpus.candidates import Candidates
from btr.correction.corrector import Corrector
from btr.correction.records import CorrectedSentence
from btr.correction.variants import offered_profiles
from btr.serving import languagetool, schemas, streaming
from btr.serving.document_paths import COMPLETE, CORRECTED_UNTIL, add_documents
from btr.serving.errors import RequestError, internal_error
from btr.serving.forms import MULTIPART, read_fields
from btr.serving.guard import Guard
from btr.serving.limits import Limits
from btr.serving.service import WORKER_STOPPED, Service
from btr.serving.word_paths import add_words

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE_FOLDER = files("btr.serving") / "page"
PAGES = {f"/{file.name}": file.name for file in PAGE_FOLDER.iterdir() if not file.name.endswith(".html")}
PAGES |= {"/": "index.html", "/docs": "docs.html"}
DESCRIPTION = (
    "Grammatical error correction with reranking. An error is a status and one sentence: 400 or 422 the request is "
    "malformed, 401 a token is needed, 403 the web site is not allowed, 408 the request did not arrive in time, 413 it "
    "is too long, 503 there are too many requests (Retry-After says when to try again), 504 it took too long."
)


def make_app(corrector: Corrector, limits: Limits) -> ASGIApp:
    """Return the API behind its guard."""
    service = Service(corrector, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    api = FastAPI(
        title="btr", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    api.add_exception_handler(RequestValidationError, answer_validation_error)
    api.add_exception_handler(HTTPException, answer_http_error)
    api.add_exception_handler(RequestError, answer_request_error)
    api.add_exception_handler(Exception, answer_defect)
    add_correction(api, service)
    add_documents(api, service)
    add_languagetool(api, service)
    add_words(api, service)
    add_pages(api, service)
    paths = frozenset(PAGES) | frozenset(api.openapi()["paths"]) | {"/metrics", "/openapi.json"}
    app: ASGIApp = Guard(api, limits, service.monitoring, paths)
    if limits.origins:
        headers = ["Authorization", "Content-Type"]
        app = CORSMiddleware(app, limits.origins, allow_methods=["GET", "POST"], allow_headers=headers,
                             expose_headers=[COMPLETE, CORRECTED_UNTIL])  # fmt: skip
    return app


def add_correction(api: FastAPI, service: Service) -> None:
    """Add the paths that correct, score and describe the server."""

    @api.post("/v1/correct", response_model=schemas.CorrectResponse, response_model_exclude_unset=True, tags=["btr"])
    async def correct(body: schemas.CorrectRequest, request: Request) -> Any:
        """Correct a text: each sentence's edits, candidates and the decision among them."""
        correction = await service.correct(
            request,
            body.text,
            markdown=body.markdown,
            candidate_edits=True,
            options=body.options,
            words=body.words,
        )
        return correction.to_dict()

    lines = {"200": {"description": "One JSON object per line.", "content": {streaming.MEDIA_TYPE: {}}}}

    @api.post("/v1/correct/stream", tags=["btr"], openapi_extra={"responses": lines})
    async def stream(body: schemas.CorrectRequest, request: Request) -> Response:
        """Correct a text paragraph by paragraph: the number of paragraphs, each with its result, then `done`."""
        results = service.stream(
            request, body.text, markdown=body.markdown, options=body.options, words=body.words
        )  # fmt: skip
        return await streaming.respond(results)

    @api.post("/v1/score", tags=["btr"])
    async def score(body: schemas.ScoreRequest) -> schemas.ScoreResponse:
        """Score candidates of a sentence with the reranker, or with the base model if there is none."""
        log_probs = tuple(body.log_probs) if body.log_probs is not None else None
        scored = await service.score(Candidates(body.source, tuple(body.candidates), log_probs))
        return schemas.ScoreResponse.from_scores(scored)

    @api.get("/v1/models", tags=["btr"])
    async def models() -> schemas.ModelsResponse:
        """Show the models and settings of this server."""
        corrector = service.corrector
        profiles = offered_profiles(corrector)
        cutoff = corrector.settings.cutoff
        return schemas.ModelsResponse(
            model=corrector.model_name,
            reranker=corrector.reranker_name,
            candidates=corrector.decoding.size,
            threshold=corrector.settings.threshold,
            at_least=corrector.settings.at_least,
            judge=corrector.judge.signature if corrector.judge else None,
            cutoff=cutoff,
            profiles=[schemas.OfferedProfile.model_validate(each) for each in profiles],
            profile=next((each.name for each in profiles if cutoff is not None and each.cutoff == cutoff), None),
            signature=corrector.signature,
            max_characters=service.limits.max_characters,
        )

    @api.get("/health", tags=["server"])
    async def health() -> schemas.HealthResponse:
        """Show whether the server works; if not, the status is 503, and it must be started again."""
        check_alive(service)
        return schemas.HealthResponse()


def check_alive(service: Service) -> None:
    """Refuse if no request would get an answer."""
    if not service.batcher.is_alive:
        raise RequestError(503, WORKER_STOPPED)


def add_languagetool(api: FastAPI, service: Service) -> None:
    """Add the paths of LanguageTool's protocol."""

    form = {"schema": schemas.CheckRequest.model_json_schema()}
    content = {"application/x-www-form-urlencoded": form, MULTIPART: form}
    picky_cutoff = languagetool.find_picky_cutoff(offered_profiles(service.corrector))

    async def check(request: Request) -> Any:
        """Correct a text as a LanguageTool server does; other fields of its clients are ignored."""
        body = languagetool.read_check(await read_fields(request))
        language = languagetool.find_language(body.language)
        text = languagetool.read_text(body.text, body.data)
        correction = await service.correct(request, text.plain)
        rule_filter = languagetool.RuleFilter.from_request(body)
        is_complete = correction.complete is not False
        sentences: Sequence[CorrectedSentence] = correction.sentences
        if body.level == "picky":
            sentences = [languagetool.with_picky_edits(sentence, picky_cutoff) for sentence in sentences]
        return languagetool.write_answer(text, language, sentences, rule_filter, is_complete)

    api.post("/v2/check", tags=["LanguageTool"], openapi_extra={"requestBody": {"content": content}})(check)
    api.get("/v2/check", tags=["LanguageTool"], include_in_schema=False)(check)

    @api.get("/v2/healthcheck", tags=["LanguageTool"])
    async def healthcheck() -> Response:
        """Say OK if the server works."""
        check_alive(service)
        return PlainTextResponse("OK")

    @api.get("/v2/info", tags=["LanguageTool"])
    async def info() -> Any:
        """Show the software and its version."""
        return {"software": languagetool.SOFTWARE}

    @api.get("/v2/maxtextlength", tags=["LanguageTool"])
    async def max_text_length() -> Response:
        """Show how many characters a text may have."""
        return PlainTextResponse(str(service.limits.max_characters))

    @api.get("/v2/languages", tags=["LanguageTool"])
    async def languages() -> Any:
        """List the languages: the variants of English."""
        return languagetool.LANGUAGES


def add_pages(api: FastAPI, service: Service) -> None:
    """Add the page, the description of the API, and `/metrics`."""

    def add(path: str, name: str) -> None:
        content, media_type = (PAGE_FOLDER / name).read_bytes(), MEDIA_TYPES[Path(name).suffix]

        @api.get(path, include_in_schema=False)
        async def page() -> Response:
            return Response(content, media_type=media_type)

    for path, name in PAGES.items():
        add(path, name)

    @api.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.monitoring.to_text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def answer_validation_error(request: Request, error: Exception) -> Response:
    """Say what is wrong with a request, without quoting it."""
    assert isinstance(error, RequestValidationError)
    messages = []
    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"][1:])
        if problem["type"] == "json_invalid":
            messages.append(f"the body is not JSON ({problem['ctx']['error']})")
        elif field or problem["type"] == "value_error":
            message = problem["msg"].removeprefix("Value error, ")
            messages.append(f"{field}: {message}" if field else message)
        else:
            messages.append("the body must be a JSON object, with 'Content-Type: application/json'")
    return RequestError(422, "; ".join(messages) + ".").response(request.url.path)


async def answer_http_error(request: Request, error: Exception) -> Response:
    """Say that there is no such path, or that it has another method."""
    assert isinstance(error, HTTPException)
    return RequestError(error.status_code, f"{error.detail}; see /docs.").response(request.url.path)


async def answer_request_error(request: Request, error: Exception) -> Response:
    """Say why the API refuses a request."""
    assert isinstance(error, RequestError)
    return error.response(request.url.path)


async def answer_defect(request: Request, _: Exception) -> Response:
    """Answer after a defect of this program; the guard logs it."""
    return internal_error().response(request.url.path)
