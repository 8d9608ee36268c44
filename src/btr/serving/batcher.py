"""Batches of all clients' requests: one thread runs the models, another one finishes the answers."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
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
    """A request: items of which some may be finished, some running and some waiting."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.started = 0  # items
        self.results: dict[int, Result] = {}
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[list[Result]] = self.loop.create_future()

    def add_result(self, index: int, result: Result | Exception) -> None:
        """Store an item's result. The answer is complete with the last result, or the first error."""
        if isinstance(result, Exception):
            self._set_answer(result)
            return
        self.results[index] = result
        if len(self.results) == len(self.items):
            self._set_answer([self.results[k] for k in range(len(self.items))])

    def _set_answer(self, answer: list[Result] | Exception) -> None:
        def set_answer() -> None:
            if self.answer.done():
                return
            if isinstance(answer, Exception):
                self.answer.set_exception(answer)
            else:
                self.answer.set_result(answer)

        with suppress(RuntimeError):  # the event loop is closed: no client is left
            self.loop.call_soon_threadsafe(set_answer)


Batch = list[tuple[Task[Item, Result], int]]  # items, by their task and index


class Batcher(Generic[Item, Result]):
    """Takes items of the waiting requests in turn, up to a budget, and runs the models on all of them at once.

    `run_models` returns a function per item, which finishes it in another thread. Meanwhile the models run on the next
    batch, and each client gets its answer as soon as it is finished. A request goes to the end of the queue after each
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

    async def run(self, items: Sequence[Item]) -> list[Result]:
        """Return the results of a request's items. If it is cancelled, waiting items are dropped."""
        if not items:
            return []
        if len(self.open) >= self.max_requests or self._closed:
            raise QueueFull
        if not self.is_alive:
            raise WorkerStopped
        task: Task[Item, Result] = Task(items)
        self.open.add(task)
        with self._ready:
            self._waiting.append(task)
            self._ready.notify()
        try:
            return await task.answer
        finally:
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
        for (task, index), finish in zip(*unfinished or ((), ())):
            if task.answer.done():  # the client went away, or another item failed
                continue
            try:
                task.add_result(index, finish())
            except BaseException as error:
                task.add_result(index, as_exception(error))
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
        budget = self.budget
        while self._waiting:
            task = self._waiting[0]
            budget -= self.size(task.items[task.started])
            if batch and budget < 0:
                break
            self._waiting.popleft()
            if task.answer.done():  # one of its items failed
                continue
            batch.append((task, task.started))
            task.started += 1
            if task.started < len(task.items):
                self._waiting.append(task)
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
