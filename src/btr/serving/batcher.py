"""Requests of all users, worked on together: one thread owns the models, another finishes what they have done."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Queue
from threading import Condition, Thread
from typing import Generic, NoReturn, TypeVar

LINGER = 0.01  # seconds that a batch waits for company: those who just got an answer may ask again

Item = TypeVar("Item")
Result = TypeVar("Result")
Finish = Callable[[], Result]


class Full(Exception):  # noqa: N818 (the server is well)
    """As many requests are waiting as the server takes."""


class Ended(Exception):  # noqa: N818 (named like the other)
    """A thread is gone, and nobody would get an answer."""


class Task(Generic[Item, Result]):
    """A request: items of which some may be done, some in work and some waiting."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.taken = 0
        self.results: dict[int, Result] = {}
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[list[Result]] = self.loop.create_future()

    def put(self, number: int, result: Result | Exception) -> None:
        """Note a result; when all are there, or one failed, the answer is known."""
        if isinstance(result, Exception):
            self._tell(result)
            return
        self.results[number] = result
        if len(self.results) == len(self.items):
            self._tell([self.results[k] for k in range(len(self.items))])

    def _tell(self, answer: list[Result] | Exception) -> None:
        def tell() -> None:
            if self.answer.done():
                return
            if isinstance(answer, Exception):
                self.answer.set_exception(answer)
            else:
                self.answer.set_result(answer)

        with suppress(RuntimeError):  # nobody is there any more: the loop is closed
            self.loop.call_soon_threadsafe(tell)


Taken = list[tuple[Task[Item, Result], int]]  # items by their requests and numbers


class Batcher(Generic[Item, Result]):
    """Takes items of the waiting requests in turn, up to a budget, and works on them in one call.

    `work` gives a function for each item, which finishes it in another thread: so the models go on with the next batch,
    and the first have their answer, and may ask again, while others are finished. A long request waits its turn after
    each round, so that short ones get through. `most` requests are taken at a time. If a batch fails, its items are
    tried one by one, so that only those who asked for trouble get it.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Finish[Result]]],
        size: Callable[[Item], int],
        budget: int,
        most: int,
    ) -> None:
        self.work, self.size, self.budget, self.most = work, size, budget, most
        self.open: set[Task[Item, Result]] = set()  # touched by the event loop's thread only
        self._waiting: deque[Task[Item, Result]] = deque()
        self._ready = Condition()
        self._closed = False
        self._begun: Queue[tuple[Taken[Item, Result], Sequence[Finish[Result]]] | None] = Queue(1)
        self._threads = [
            Thread(target=self._run, name="btr-models", daemon=True),
            Thread(target=self._finish, name="btr-answers", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the threads are there; without them, nobody gets an answer."""
        return all(thread.is_alive() for thread in self._threads)

    async def run(self, items: Sequence[Item]) -> list[Result]:
        """The results of a request's items. If it is cancelled, what has not begun is dropped."""
        if not items:
            return []
        if len(self.open) >= self.most or self._closed:
            raise Full
        if not self.is_alive:
            raise Ended
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
        """Finish what is in work, and end the threads."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        try:
            while taken := self._wait():
                self._begun.put((taken, self._begin([task.items[number] for task, number in taken])))
        finally:
            self._begun.put(None)

    def _finish(self) -> None:
        while both := self._begun.get():
            for (task, number), finish in zip(*both):
                if task.answer.done():  # nobody waits for it any more
                    continue
                try:
                    task.put(number, finish())
                except BaseException as error:
                    task.put(number, tame(error))

    def _wait(self) -> Taken[Item, Result]:
        """What is to be done next, once there is something; nothing at the end."""
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return []
            time.sleep(LINGER)
            with self._ready:
                taken = self._take()
            if taken:  # they may have gone away
                return taken

    def _take(self) -> Taken[Item, Result]:
        taken: Taken[Item, Result] = []
        left = self.budget
        while self._waiting:
            task = self._waiting[0]
            left -= self.size(task.items[task.taken])
            if taken and left < 0:
                break
            self._waiting.popleft()
            if task.answer.done():  # one of its items failed
                continue
            taken.append((task, task.taken))
            task.taken += 1
            if task.taken < len(task.items):
                self._waiting.append(task)
        return taken

    def _begin(self, items: Sequence[Item]) -> Sequence[Finish[Result]]:
        try:
            return self.work(items)
        except BaseException as error:
            if len(items) == 1:
                return [partial(throw, tame(error))]
        return [finish for item in items for finish in self._begin([item])]


def tame(error: BaseException) -> Exception:
    """An error that ends a request, and neither the thread nor the server, as a SystemExit would."""
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


def throw(error: Exception) -> NoReturn:
    """Raise an error later."""
    raise error
