"""What the paths of the API share: a corrector, its variants, and the batcher that shares it among the requests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import ParamSpec, TypeVar, cast

from fastapi import Request

from btr.corpus.candidates import Candidates
from btr.correction.blocks import BATCH_CHARACTERS
from btr.correction.corrector import Corrector
from btr.correction.records import CorrectedBlock, Correction
from btr.correction.selection import ScoredCandidates
from btr.correction.variants import Options, vary, with_dictionary
from btr.decisions.settings import PAPER
from btr.errors import InputError
from btr.serving import log
from btr.serving.batcher import Batcher, Finish, QueueFull, WorkerStopped
from btr.serving.errors import RequestError, too_many_requests
from btr.serving.jobs import Job, Part, Result, Worker, cut_paragraphs, cut_parts, size
from btr.serving.limits import Limits
from btr.serving.monitoring import Monitoring

WORKER_STOPPED = "a thread of the server has ended; start the server again."
CACHED_VARIANTS = 16  # correctors with settings that requests chose
STREAM_CHARACTERS = 1_000  # of one stream in a batch, so that its first paragraph comes soon

SERVER_OPTIONS = Options()

P = ParamSpec("P")
T = TypeVar("T")


class Service:
    """A corrector, and the batcher that shares it among the requests."""

    def __init__(self, corrector: Corrector, limits: Limits) -> None:
        self.corrector, self.limits = corrector, limits
        self.monitoring = Monitoring()
        self.worker = Worker(corrector)
        # What takes long has a thread of its own: neither the event loop nor requests of another kind wait for it.
        self.parser = ThreadPoolExecutor(1, "btr-parser")  # cuts texts into paragraphs
        self.loader = ThreadPoolExecutor(1, "btr-loader")  # loads the models of another profile
        self.files = ThreadPoolExecutor(1, "btr-files")  # opens and saves documents and the dictionary
        self.batcher: Batcher[Job, Result] = Batcher(self.run_models, size, BATCH_CHARACTERS, limits.max_requests)
        self.monitoring.open_requests.set_function(lambda: len(self.batcher.open))
        self.vary = lru_cache(CACHED_VARIANTS)(partial(vary, corrector))

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

    async def choose_corrector(self, options: Options, words: Sequence[str]) -> Corrector:
        """Return the corrector with a request's settings, and with its words, which no cache stores."""
        corrector = self.corrector
        if options != SERVER_OPTIONS:
            executor = self.loader if options.profile == PAPER else self.parser
            corrector = await run_in(executor, self.vary, options)
        dictionary = self.corrector.dictionary.with_words(words)
        return corrector if corrector.dictionary is dictionary else with_dictionary(corrector, dictionary)

    def close(self) -> None:
        """Finish the accepted requests, and end the threads."""
        self.batcher.close()
        for executor in (self.parser, self.loader, self.files):
            executor.shutdown(wait=False)

    async def correct(
        self,
        request: Request,
        text: str,
        *,
        markdown: bool = False,
        candidate_edits: bool = False,
        options: Options = SERVER_OPTIONS,
        words: Sequence[str] = (),
    ) -> Correction:
        """Correct a text. If it takes too long, the rest stays as it is, and the answer says where it begins."""
        self.check_length(len(text))
        blocks: list[CorrectedBlock] = []
        jobs: list[Job] = []
        signature = ""
        try:
            async with asyncio.timeout(self.limits.timeout):
                with answer_errors():
                    corrector = await self.choose_corrector(options, words)
                    signature = corrector.signature
                    jobs = await run_in(self.parser, cut_paragraphs, text, markdown, candidate_edits, corrector)
                    with self.batcher.submit(jobs) as task:
                        async for result in task.results():
                            blocks.append(cast(CorrectedBlock, result))
        except TimeoutError:
            if not any(block.sentences for block in blocks):
                raise self.took_too_long() from None
        correction = Correction.join(blocks, signature)
        self.count(request, len(text), [correction])
        if len(blocks) == len(jobs):
            return correction
        end = blocks[-1].start + len(blocks[-1].text)
        return Correction(correction.text + text[end:], correction.sentences, signature, False, end)

    async def stream(
        self, request: Request, text: str, *, markdown: bool, options: Options, words: Sequence[str]
    ) -> AsyncIterator[tuple[Part, Correction] | int]:
        """Yield the number of a text's parts, then each part with its correction, whose offsets begin at the part.

        The limit of time is for each part: a text that takes long is no error as long as it goes on.
        """
        self.check_length(len(text))
        corrections: list[Correction] = []
        with answer_errors():
            corrector = await self.choose_corrector(options, words)
            parts = await run_in(self.parser, cut_parts, text, markdown, corrector)
            with self.batcher.submit([job for part in parts for job in part.jobs], STREAM_CHARACTERS) as task:
                yield len(parts)
                results = task.results()
                for part in parts:
                    blocks = [await self.next_block(results) for _ in part.jobs]
                    corrections.append(Correction.join(blocks, corrector.signature))
                    yield part, corrections[-1]
        self.count(request, len(text), corrections)

    async def next_block(self, results: AsyncIterator[Result]) -> CorrectedBlock:
        """Wait for the next result of a stream."""
        try:
            async with asyncio.timeout(self.limits.timeout):
                return cast(CorrectedBlock, await anext(results))
        except TimeoutError:
            raise self.took_too_long() from None

    async def score(self, row: Candidates) -> ScoredCandidates:
        """Score the candidates of a sentence, and decide among them."""
        self.check_length(size(row))
        try:
            async with asyncio.timeout(self.limits.timeout):
                with answer_errors(), self.batcher.submit([row]) as task:
                    return cast(ScoredCandidates, await anext(task.results()))
        except TimeoutError:
            raise self.took_too_long() from None

    def count(self, request: Request, characters: int, corrections: Sequence[Correction]) -> None:
        """Count sentences and edits, for the log and `/metrics`."""
        sentences = sum(len(correction.sentences) for correction in corrections)
        edits = sum(len(correction.edits) for correction in corrections)
        self.monitoring.sentences.inc(sentences)
        self.monitoring.edits.inc(edits)
        request.state.counts = {"characters": characters, "sentences": sentences, "edits": edits}

    def took_too_long(self) -> RequestError:
        """Return the error for a request that was not answered in time."""
        return RequestError(504, f"this took longer than {self.limits.timeout:g} seconds; send a shorter text.")

    def check_length(self, characters: int) -> None:
        """Refuse a text that is too long."""
        limit = self.limits.max_characters
        if characters > limit:
            raise RequestError(413, f"the text has {characters:,} characters; this server accepts {limit:,} at a time.")


async def run_in(executor: Executor, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Run a function in a thread of an executor, and wait for its result."""
    return await asyncio.get_running_loop().run_in_executor(executor, lambda: function(*arguments, **options))


@contextmanager
def answer_errors() -> Iterator[None]:
    """Turn errors of the batcher and the models into answers."""
    try:
        yield
    except QueueFull:
        raise too_many_requests() from None
    except WorkerStopped:
        raise RequestError(503, WORKER_STOPPED) from None
    except InputError as error:  # the models can't read this input, or the options are wrong
        raise RequestError(422, str(error)) from None
