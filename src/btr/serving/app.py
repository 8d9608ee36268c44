"""The HTTP API and the page."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from btr import __version__
from btr.corpus.candidates import Candidates
from btr.correction.blocks import BATCH_CHARACTERS
from btr.correction.corrector import Corrector
from btr.correction.records import CorrectedBlock, Correction
from btr.correction.selection import ScoredCandidates
from btr.errors import InputError
from btr.serving import languagetool, log, schemas
from btr.serving.batcher import Batcher, Finish, QueueFull, WorkerStopped
from btr.serving.errors import RequestError, internal_error, too_many_requests
from btr.serving.guard import Guard
from btr.serving.jobs import Job, Result, Worker, cut_paragraphs, size
from btr.serving.limits import Limits
from btr.serving.monitoring import Monitoring

WORKER_STOPPED = "a thread of the server has ended; start the server again."
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
DESCRIPTION = (
    "Grammatical error correction with reranking. An error is a status and one sentence: 400 or 422 the request is "
    "malformed, 401 a token is needed, 403 the web site is not allowed, 408 the request did not arrive in time, 413 it "
    "is too long, 503 there are too many requests (Retry-After says when to try again), 504 it took too long."
)


class Service:
    """A corrector, and the batcher that shares it among the requests."""

    def __init__(self, corrector: Corrector, limits: Limits) -> None:
        self.corrector, self.limits = corrector, limits
        self.monitoring = Monitoring()
        self.worker = Worker(corrector)
        self.parser = ThreadPoolExecutor(1, "btr-parser")
        self.batcher: Batcher[Job, Result] = Batcher(self.run_models, size, BATCH_CHARACTERS, limits.max_requests)
        self.monitoring.open_requests.set_function(lambda: len(self.batcher.open))

    def run_models(self, jobs: Sequence[Job]) -> Sequence[Finish[Result]]:
        """Run the models on a batch. A failure is logged here, since each job may succeed when it is tried alone."""
        self.monitoring.batch_items.observe(len(jobs))
        try:
            with self.monitoring.batch_seconds.time():
                return self.worker.run(jobs)
        except BaseException:
            if len(jobs) > 1:
                self.monitoring.failed_batches.inc()
                log.logger.warning("batch failed", exc_info=True, extra={"fields": {"items": len(jobs)}})
            raise

    async def run(self, jobs: Sequence[Job]) -> list[Result]:
        """Return the results of a request's jobs; errors become answers."""
        try:
            return await self.batcher.run(jobs)
        except QueueFull:
            raise too_many_requests() from None
        except WorkerStopped:
            raise RequestError(503, WORKER_STOPPED) from None
        except InputError as error:  # the models can't read this input
            raise RequestError(422, str(error)) from None

    async def correct(
        self, request: Request, text: str, *, markdown: bool = False, candidate_edits: bool = False
    ) -> Correction:
        """Correct a text."""
        self.check_length(len(text))
        # Deeply nested Markdown takes seconds to parse: other requests must not wait for it.
        loop = asyncio.get_running_loop()
        jobs = await loop.run_in_executor(self.parser, cut_paragraphs, text, markdown, candidate_edits)
        blocks = cast("list[CorrectedBlock]", await self.run(jobs))
        correction = Correction.join(blocks, self.corrector.signature)
        sentences, edits = len(correction.sentences), len(correction.edits)
        self.monitoring.sentences.inc(sentences)
        self.monitoring.edits.inc(edits)
        request.state.counts = {"characters": len(text), "sentences": sentences, "edits": edits}
        return correction

    async def score(self, row: Candidates) -> ScoredCandidates:
        """Score the candidates of a sentence, and decide among them."""
        self.check_length(size(row))
        (scored,) = await self.run([row])
        return cast(ScoredCandidates, scored)

    def check_length(self, characters: int) -> None:
        """Refuse a text that is too long."""
        limit = self.limits.max_characters
        if characters > limit:
            raise RequestError(413, f"the text has {characters:,} characters; this server accepts {limit:,} at a time.")


def make_app(corrector: Corrector, limits: Limits) -> ASGIApp:
    """Return the API behind its guard."""
    service = Service(corrector, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.batcher.close()
        service.parser.shutdown(wait=False)

    api = FastAPI(
        title="btr", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    api.add_exception_handler(RequestValidationError, answer_validation_error)
    api.add_exception_handler(HTTPException, answer_http_error)
    api.add_exception_handler(RequestError, answer_request_error)
    api.add_exception_handler(Exception, answer_defect)
    add_correction(api, service)
    add_languagetool(api, service)
    add_pages(api, service)
    paths = frozenset(PAGES) | frozenset(api.openapi()["paths"]) | {"/metrics", "/openapi.json"}
    app: ASGIApp = Guard(api, limits, service.monitoring, paths)
    if limits.origins:
        headers = ["Authorization", "Content-Type"]
        app = CORSMiddleware(app, limits.origins, allow_methods=["GET", "POST"], allow_headers=headers)
    return app


def add_correction(api: FastAPI, service: Service) -> None:
    """Add the paths that correct, score and describe the server."""

    @api.post("/v1/correct", response_model=schemas.CorrectResponse, response_model_exclude_unset=True, tags=["btr"])
    async def correct(body: schemas.CorrectRequest, request: Request) -> Any:
        """Correct a text: each sentence's edits, candidates and the decision among them."""
        correction = await service.correct(request, body.text, markdown=body.markdown, candidate_edits=True)
        return correction.to_dict()

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
        return schemas.ModelsResponse(
            model=corrector.model_name,
            reranker=corrector.reranker_name,
            candidates=corrector.decoding.size,
            threshold=corrector.settings.threshold,
            at_least=corrector.settings.at_least,
            judge=corrector.judge.signature if corrector.judge else None,
            cutoff=corrector.settings.cutoff,
            signature=corrector.signature,
            max_characters=service.limits.max_characters,
        )

    @api.get("/health", tags=["server"])
    async def health() -> schemas.HealthResponse:
        """Show whether the server works; if not, the status is 503, and it must be started again."""
        if not service.batcher.is_alive:
            raise RequestError(503, WORKER_STOPPED)
        return schemas.HealthResponse()


def add_languagetool(api: FastAPI, service: Service) -> None:
    """Add the paths of LanguageTool's protocol."""

    form = {"application/x-www-form-urlencoded": {"schema": schemas.CheckRequest.model_json_schema()}}

    @api.post("/v2/check", tags=["LanguageTool"], openapi_extra={"requestBody": {"content": form, "required": True}})
    async def check(request: Request) -> Any:
        """Correct a text as a LanguageTool server does; other fields of its clients are ignored."""
        body = languagetool.read_form(request.url.query, await request.body())
        language = languagetool.find_language(body.language)
        text = languagetool.read_text(body.text, body.data)
        correction = await service.correct(request, text.plain)
        rule_filter = languagetool.RuleFilter.from_request(body)
        return languagetool.write_answer(text, language, correction.sentences, rule_filter)

    @api.get("/v2/languages", tags=["LanguageTool"])
    async def languages() -> Any:
        """List the languages: the variants of English."""
        return languagetool.LANGUAGES


def add_pages(api: FastAPI, service: Service) -> None:
    """Add the page, the description of the API, and `/metrics`."""
    folder = files("btr.serving") / "page"

    def add(path: str, name: str, media_type: str) -> None:
        content = (folder / name).read_bytes()

        @api.get(path, include_in_schema=False)
        async def page() -> Response:
            return Response(content, media_type=media_type)

    for path, (name, media_type) in PAGES.items():
        add(path, name, media_type)

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
