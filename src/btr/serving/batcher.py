"""Batches of all clients' requests: one thread runs the models, another one finishes the answers."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from queue import Queue
from threading import Condition, Thread
from typing import Generic, NoReturn, TypeVar

COLLECT_SECONDS = 0.01  # before a batch begins: clients that just got an answer may send the next request

Item = TypeVar("Item")
Result = TypeVar("Result")
Finish = Callable[[], Result]


class QueueFull(Exception):  # noqa: N818 (nothing is wrong)
    """As many requests are waiting as the server accepts."""


class WorkerStopped(Exception):  # noqa: N818 (named like the other)
    """A thread has ended, so that no request would get an answer."""


class Task(Generic[Item, Result]):
    """A request: items of which some may be finished, some running and some waiting.

    At most `per_batch` (in units of size) of a batch are its items; one item always fits.
    """

    def __init__(self, items: Sequence[Item], per_batch: int) -> None:
        self.items, self.per_batch = items, per_batch
        self.started = 0  # items
        self.is_over = False  # the client went away, or an item failed
        self.loop = asyncio.get_running_loop()
        self.finished: asyncio.Queue[Result | Exception] = asyncio.Queue()  # in the order of the items

    def add_result(self, result: Result | Exception) -> None:
        """Store the next item's result. An error is the last one."""
        self.is_over = self.is_over or isinstance(result, Exception)
        with suppress(RuntimeError):  # the event loop is closed: no client is left
            self.loop.call_soon_threadsafe(self.finished.put_nowait, result)

    async def results(self) -> AsyncIterator[Result]:
        """Yield the items' results in order, each as soon as it is finished; raise the first error."""
        for _ in self.items:
            result = await self.finished.get()
            if isinstance(result, Exception):
                raise result
            yield result


Batch = list[tuple[Task[Item, Result], int]]  # items, by their task and index


class Batcher(Generic[Item, Result]):
    """Takes items of the waiting requests in turn, up to a budget, and runs the models on all of them at once.

    `run_models` returns a function per item, which finishes it in another thread. Meanwhile the models run on the next
    batch, and each client gets each result as soon as it is finished. A request goes to the end of the queue after each
    item, so that short requests don't wait for long ones. If a batch fails, its items are tried one by one, so that
    only the requests that cause the failure get an error.
    """

    def __init__(
        self,
        run_models: Callable[[Sequence[Item]], Sequence[Finish[Result]]],
        size: Callable[[Item], int],
        budget: int,
        max_requests: int,
    ) -> None:
        self.run_models, self.size, self.budget, self.max_requests = run_models, size, budget, max_requests
        self.open: set[Task[Item, Result]] = set()  # only the event loop's thread changes it
        self._waiting: deque[Task[Item, Result]] = deque()
        self._ready = Condition()
        self._closed = False
        self._unfinished: Queue[tuple[Batch[Item, Result], Sequence[Finish[Result]]] | None] = Queue(1)
        self._threads = [
            Thread(target=self._run_batches, name="btr-models", daemon=True),
            Thread(target=self._finish_answers, name="btr-answers", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether both threads run; without them no request gets an answer."""
        return all(thread.is_alive() for thread in self._threads)

    @contextmanager
    def submit(self, items: Sequence[Item], per_batch: int | None = None) -> Iterator[Task[Item, Result]]:
        """Accept a request. Once its client leaves the context, waiting items are dropped."""
        if len(self.open) >= self.max_requests or self._closed:
            raise QueueFull
        if not self.is_alive:
            raise WorkerStopped
        task: Task[Item, Result] = Task(items, self.budget if per_batch is None else per_batch)
        self.open.add(task)
        if items:
            with self._ready:
                self._waiting.append(task)
                self._ready.notify()
        try:
            yield task
        finally:
            task.is_over = True
            self.open.discard(task)
            with self._ready, suppress(ValueError):
                self._waiting.remove(task)

    def close(self, seconds: float = 10.0) -> None:
        """Finish the accepted requests, and end the threads."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run_batches(self) -> None:
        try:
            while self._run_next_batch():
                pass  # no variable holds the last batch, and so users' texts, while the thread waits
        finally:
            self._unfinished.put(None)

    def _run_next_batch(self) -> bool:
        batch = self._wait_for_batch()
        if batch:
            self._unfinished.put((batch, self._run([task.items[index] for task, index in batch])))
        return bool(batch)

    def _finish_answers(self) -> None:
        while self._finish_next_batch():
            pass

    def _finish_next_batch(self) -> bool:
        unfinished = self._unfinished.get()
        for (task, _), finish in zip(*unfinished or ((), ())):
            if task.is_over:
                continue
            try:
                task.add_result(finish())
            except BaseException as error:
                task.add_result(as_exception(error))
        return unfinished is not None

    def _wait_for_batch(self) -> Batch[Item, Result]:
        """Wait for requests, and return the next batch; an empty one after `close`."""
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return []
            time.sleep(COLLECT_SECONDS)
            with self._ready:
                batch = self._next_batch()
            if batch:  # the clients may have gone away
                return batch

    def _next_batch(self) -> Batch[Item, Result]:
        batch: Batch[Item, Result] = []
        taken: Counter[Task[Item, Result]] = Counter()  # sizes
        postponed = []  # tasks that have their share of this batch
        while self._waiting:
            task = self._waiting[0]
            if task.is_over:
                self._waiting.popleft()
                continue
            size = self.size(task.items[task.started])
            if task in taken and taken[task] + size > task.per_batch:
                postponed.append(self._waiting.popleft())
                continue
            if batch and taken.total() + size > self.budget:
                break
            self._waiting.popleft()
            batch.append((task, task.started))
            taken[task] += size
            task.started += 1
            if task.started < len(task.items):
                self._waiting.append(task)
        self._waiting.extend(postponed)
        return batch

    def _run(self, items: Sequence[Item]) -> Sequence[Finish[Result]]:
        try:
            return self.run_models(items)
        except BaseException as error:
            if len(items) == 1:
                return [partial(throw, as_exception(error))]
        return [finish for item in items for finish in self._run([item])]


def as_exception(error: BaseException) -> Exception:
    """Return an error that ends a request, but neither the thread nor the server, as SystemExit would."""
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


def throw(error: Exception) -> NoReturn:
    """Raise an error."""
    raise error
