"""The HTTP API: what can be asked, and the page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from btr import __version__
from btr.corpus.candidates import Candidates
from btr.correction.correct import CHUNK
from btr.correction.corrector import Corrector, Record
from btr.errors import InputError
from btr.serving import languagetool, log, schemas
from btr.serving.batcher import Batcher, Ended, Finish, Full
from btr.serving.guard import FAILURE, App, Guard, Refused, busy
from btr.serving.measures import Measures
from btr.serving.settings import Settings
from btr.serving.work import Item, Worker, cut_paragraphs, join, size

ENDED = "a thread that makes the answers has ended; start the server again."
PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
SUMMARY = (
    "Grammatical error correction with reranking. Errors are a status and one sentence: 400 or 422 what was sent is no "
    "good, 401 a token is needed, 413 it is too long, 503 too many are asking (see Retry-After), 504 it took too long."
)


class Service:
    """A corrector, the batcher that shares it out, and what the answers need."""

    def __init__(self, corrector: Corrector, settings: Settings, names: tuple[str, str | None]) -> None:
        self.corrector, self.settings, self.names = corrector, settings, names
        self.measures = Measures()
        self.worker = Worker(corrector)
        self.batcher: Batcher[Item, Record] = Batcher(self.work, size, CHUNK, settings.requests)
        self.measures.open.set_function(lambda: len(self.batcher.open))

    def work(self, items: Sequence[Item]) -> Sequence[Finish[Record]]:
        """A batch's work with the models, measured. If it fails, that is told here: each item may do well alone."""
        self.measures.batches.observe(len(items))
        try:
            with self.measures.working.time():
                return self.worker.run(items)
        except BaseException:
            if len(items) > 1:
                self.measures.failed.inc()
                log.logger.warning("batch failed", exc_info=True, extra={"fields": {"items": len(items)}})
            raise

    async def run(self, items: Sequence[Item]) -> list[Record]:
        """What the models say, if they are not asked too much."""
        try:
            return await self.batcher.run(items)
        except Full:
            raise busy() from None
        except Ended:
            raise Refused(503, ENDED) from None
        except InputError as error:  # what the models can't do
            raise Refused(422, str(error)) from None

    async def correct(self, request: Request, text: str, *, markdown: bool = False, detailed: bool = False) -> Record:
        """A corrected text."""
        self.check_length(len(text))
        corrected = join(await self.run(cut_paragraphs(text, markdown, detailed)))
        sentences = corrected["sentences"]
        edits = sum(len(sentence["edits"]) for sentence in sentences)
        self.measures.sentences.inc(len(sentences))
        self.measures.edits.inc(edits)
        request.state.told = {"characters": len(text), "sentences": len(sentences), "edits": edits}
        return corrected

    def check_length(self, characters: int) -> None:
        """Refuse what is too long."""
        most = self.settings.characters
        if characters > most:
            raise Refused(413, f"the text has {characters:,} characters; this server takes {most:,} at a time.")


def make_app(corrector: Corrector, settings: Settings, names: tuple[str, str | None]) -> App:
    """The whole application: the API behind its guard. `names` are those of the base model and the reranker."""
    service = Service(corrector, settings, names)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.batcher.close()

    api = FastAPI(
        title="btr", version=__version__, description=SUMMARY, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    api.add_exception_handler(RequestValidationError, tell_invalid)
    api.add_exception_handler(HTTPException, tell_http)
    api.add_exception_handler(Refused, tell_refused)
    api.add_exception_handler(Exception, tell_failure)
    add_own(api, service)
    add_languagetool(api, service)
    add_pages(api, service)
    paths = frozenset(PAGE) | frozenset(api.openapi()["paths"]) | {"/metrics", "/openapi.json"}
    app: App = Guard(api, settings, service.measures, paths)
    if settings.origins:
        headers = ["Authorization", "Content-Type"]
        app = CORSMiddleware(app, settings.origins, allow_methods=["GET", "POST"], allow_headers=headers)
    return app


def add_own(api: FastAPI, service: Service) -> None:
    """The project's own API."""

    @api.post("/v1/correct", response_model=schemas.Corrected, response_model_exclude_unset=True, tags=["btr"])
    async def correct(asked: schemas.Text, request: Request) -> Any:
        """Correct a text: each sentence's edits, candidates and the decision among them."""
        return await service.correct(request, asked.text, markdown=asked.markdown, detailed=True)

    @api.post("/v1/score", response_model=schemas.Scored, tags=["btr"])
    async def score(asked: schemas.Pair) -> Any:
        """Score candidates of a sentence with the reranker, or with the base model if there is none."""
        row = Candidates(asked.source, tuple(asked.candidates))
        service.check_length(size(row))
        return (await service.run([row]))[0]

    @api.get("/v1/models", response_model=schemas.Models, tags=["btr"])
    async def models() -> Any:
        """What this server corrects with."""
        corrector = service.corrector
        return {
            "model": service.names[0],
            "reranker": service.names[1],
            "candidates": corrector.search.size,
            "threshold": corrector.rule.threshold,
            "signature": corrector.signature,
            "max_characters": service.settings.characters,
        }

    @api.get("/health", response_model=schemas.Health, tags=["server"])
    async def health() -> Any:
        """Whether the server is well: else 503, and it has to be started again."""
        if not service.batcher.is_alive:
            raise Refused(503, ENDED)
        return {"status": "ok"}


def add_languagetool(api: FastAPI, service: Service) -> None:
    """What LanguageTool's clients ask for."""

    form = {"application/x-www-form-urlencoded": {"schema": schemas.Check.model_json_schema()}}

    @api.post("/v2/check", tags=["LanguageTool"], openapi_extra={"requestBody": {"content": form, "required": True}})
    async def check(request: Request) -> Any:
        """Correct a text as a LanguageTool server does; what else its clients send is ignored."""
        asked = languagetool.read_form(request.url.query, await request.body())
        language = languagetool.check_language(asked.language)
        text = languagetool.read_text(asked.text, asked.data)
        corrected = await service.correct(request, text.plain)
        return languagetool.check(text, language, corrected["sentences"], languagetool.Wanted.of(asked))

    @api.get("/v2/languages", tags=["LanguageTool"])
    async def languages() -> Any:
        """The languages: English, wherever it is spoken."""
        return languagetool.LANGUAGES


def add_pages(api: FastAPI, service: Service) -> None:
    """The page, the API's description, and `/metrics`."""
    folder = files("btr.serving") / "page"

    def add(path: str, name: str, kind: str) -> None:
        content = (folder / name).read_bytes()

        @api.get(path, include_in_schema=False)
        async def page() -> Response:
            return Response(content, media_type=kind)

    for path, (name, kind) in PAGE.items():
        add(path, name, kind)

    @api.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.measures.write(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def tell_invalid(request: Request, error: Exception) -> Response:
    """What is wrong with a request, in a sentence that does not repeat it."""
    assert isinstance(error, RequestValidationError)
    told = []
    for own in error.errors():
        where = ".".join(str(part) for part in own["loc"][1:])
        if own["type"] == "json_invalid":
            told.append(f"the body is not JSON ({own['ctx']['error']})")
        elif where:
            told.append(f"{where}: {own['msg']}")
        else:
            told.append("the body must be a JSON object, with 'Content-Type: application/json'")
    return Refused(422, "; ".join(told) + ".").response(request.url.path)


async def tell_http(request: Request, error: Exception) -> Response:
    """No such path, or a method that it does not take."""
    assert isinstance(error, HTTPException)
    return Refused(error.status_code, f"{error.detail}; see /docs.").response(request.url.path)


async def tell_refused(request: Request, error: Exception) -> Response:
    """A refusal from within the API."""
    assert isinstance(error, Refused)
    return error.response(request.url.path)


async def tell_failure(request: Request, _: Exception) -> Response:
    """A mistake of ours, which goes on to the guard and its log."""
    return FAILURE.response(request.url.path)
