"""Batches of requests, with stand-ins for the models."""

import asyncio
import sys
import threading
from contextlib import suppress
from functools import partial

import pytest
from served import wait_for

from btr.serving.batcher import Batcher, QueueFull, WorkerStopped


class Models:
    """Stand-ins for models that double numbers once `free` is set.

    None and 99 raise an error, -1 and -2 what would end a thread. -3 is finished once `finished` is set.
    """

    def __init__(self):
        self.started = 0
        self.batches = []
        self.free, self.finished = threading.Event(), threading.Event()

    def __call__(self, items):
        self.started += 1
        assert self.free.wait(60)
        self.batches.append(list(items))
        if None in items:
            raise ValueError("no number")
        if -1 in items:
            raise SystemExit
        return [partial(self.finish, item) for item in items]

    def finish(self, item):
        if item == -3:
            assert self.finished.wait(60)
        if item == -2:
            raise KeyboardInterrupt
        return 2 // (item - 99) if item == 99 else 2 * item


def threads():
    """Return the names of the running threads of batchers."""
    return {thread.name for thread in threading.enumerate()} & {"btr-models", "btr-answers"}


async def collect(batcher, items, per_batch=None):
    with batcher.submit(items, per_batch) as task:
        return [result async for result in task.results()]


def run(scenario, budget=4, max_requests=10):
    models = Models()
    batcher = Batcher(models, lambda item: 1, budget, max_requests)
    try:
        return models, asyncio.run(scenario(batcher, models))
    finally:
        models.free.set()
        models.finished.set()
        batcher.close()
        assert not threads()
        assert not batcher.open


async def queue(batcher, models, *requests):
    """Let requests wait behind a first one that the models work on."""
    tasks = [asyncio.ensure_future(collect(batcher, [0]))]
    await asyncio.to_thread(wait_for, lambda: models.started)
    tasks += [asyncio.ensure_future(collect(batcher, items)) for items in requests]
    await asyncio.sleep(0)
    return tasks


def test_waiting_requests_are_batched_and_each_gets_its_results():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [1], [2, 3], [4])
        models.free.set()
        return await asyncio.gather(*tasks)

    models, results = run(scenario)
    assert results == [[0], [2], [4, 6], [8]]
    assert models.batches == [[0], [1, 2, 4, 3]]


def test_a_long_request_lets_short_ones_through():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, list(range(10, 20)), [1], [2])
        models.free.set()
        return await asyncio.gather(*tasks)

    models, results = run(scenario)
    assert models.batches[1] == [10, 1, 2, 11]
    assert results[1] == [2 * k for k in range(10, 20)]


def test_requests_beyond_the_limit_are_refused():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [1], [2])
        with pytest.raises(QueueFull):
            await collect(batcher, [3])
        models.free.set()
        results = await asyncio.gather(*tasks)
        return results, await collect(batcher, [4])

    assert run(scenario, max_requests=3)[1] == ([[0], [2], [4]], [8])


def test_items_of_cancelled_requests_are_dropped():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [1], [2])
        for task in tasks[:2]:
            task.cancel()
        await asyncio.gather(*tasks[:2], return_exceptions=True)
        assert len(batcher.open) == 1
        models.free.set()
        return await tasks[2]

    models, result = run(scenario)
    assert result == [4]
    assert models.batches == [[0], [2]]


def test_one_bad_item_fails_alone():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [1], [2, None, 3], [99, 5], [4])
        models.free.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    _, (_, first, second, third, fourth) = run(scenario)
    assert (first, fourth) == ([2], [8])
    assert isinstance(second, ValueError)
    assert isinstance(third, ZeroDivisionError)


def test_exit_exceptions_do_not_end_the_threads():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [1], [-1], [-2], [3])
        models.free.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert batcher.is_alive
        return results

    _, (_, first, second, third, fourth) = run(scenario)
    assert (first, fourth) == ([2], [6])
    assert (repr(second), repr(third)) == ("RuntimeError('SystemExit')", "RuntimeError('KeyboardInterrupt')")


def test_the_next_batch_begins_while_answers_are_finished():
    async def scenario(batcher, models):
        models.free.set()
        first = asyncio.ensure_future(collect(batcher, [-3]))
        await asyncio.to_thread(wait_for, lambda: models.batches == [[-3]])
        second = asyncio.ensure_future(collect(batcher, [1]))
        await asyncio.to_thread(wait_for, lambda: models.batches == [[-3], [1]])
        assert not first.done()
        models.finished.set()
        return await asyncio.gather(first, second)

    assert run(scenario)[1] == [[-6], [2]]


def test_an_answer_does_not_wait_for_others_of_its_batch():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [1], [-3])
        models.free.set()
        assert await tasks[1] == [2]
        assert not tasks[2].done()
        models.finished.set()
        return await tasks[2]

    models, result = run(scenario)
    assert models.batches == [[0], [1, -3]]
    assert result == [-6]


def test_an_error_while_finishing_fails_one_request():
    async def scenario(batcher, models):
        tasks = await queue(batcher, models, [99], [-2], [1])
        models.free.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    models, (_, first, second, third) = run(scenario)
    assert models.batches == [[0], [99, -2, 1]]  # the models ran once
    assert isinstance(first, ZeroDivisionError)
    assert repr(second) == "RuntimeError('KeyboardInterrupt')"
    assert third == [2]


def test_close_waits_for_unfinished_requests():
    async def scenario(batcher, models):
        models.free.set()
        tasks = [asyncio.ensure_future(collect(batcher, [-3]))]
        await asyncio.to_thread(wait_for, lambda: models.batches == [[-3]])
        for k in (1, 2):  # one is in the queue of the finishing thread, one before it, one waits for the models
            tasks.append(asyncio.ensure_future(collect(batcher, [k])))
            await asyncio.to_thread(wait_for, lambda k=k: len(models.batches) == k + 1)
        tasks.append(asyncio.ensure_future(collect(batcher, [3])))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        with pytest.raises(QueueFull):
            await asyncio.wait_for(wait_until_closed(batcher), 60)
        assert not any(task.done() for task in (closing, *tasks))
        models.finished.set()
        await closing
        return await asyncio.gather(*tasks)

    assert run(scenario)[1] == [[-6], [2], [4], [6]]


async def wait_until_closed(batcher):
    """Wait until a batcher refuses requests; those that it still accepts are cancelled."""
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(collect(batcher, [4]), 0.01)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_requests_are_refused_once_a_thread_has_ended():
    async def scenario():
        batcher = Batcher(Models(), lambda item: sys.exit(), budget=4, max_requests=10)
        first = asyncio.ensure_future(collect(batcher, [1]))
        await asyncio.to_thread(wait_for, lambda: not batcher.is_alive)
        with pytest.raises(WorkerStopped):
            await asyncio.wait_for(collect(batcher, [1]), 10)
        first.cancel()
        batcher.close()

    asyncio.run(scenario())
    assert not threads()


def test_a_request_without_items_has_no_results():
    async def scenario(batcher, models):
        return await collect(batcher, [])

    assert run(scenario)[1] == []


def test_results_come_one_by_one_and_a_client_that_leaves_stops_the_work():
    async def scenario(batcher, models):
        models.free.set()
        with batcher.submit([1, 2, *[3] * 1000], per_batch=1) as task:
            results = task.results()
            return [await anext(results) for _ in range(2)]

    models, first = run(scenario)
    assert first == [2, 4]
    assert models.batches[:2] == [[1], [2]]
    assert len(models.batches) < 900  # each batch waits some milliseconds for other clients


def test_a_request_with_a_share_leaves_room_for_others():
    async def scenario(batcher, models):
        tasks = [asyncio.ensure_future(collect(batcher, [0]))]
        await asyncio.to_thread(wait_for, lambda: models.started)
        tasks += [asyncio.ensure_future(collect(batcher, [1, 2, 3], 2)), asyncio.ensure_future(collect(batcher, [7]))]
        await asyncio.sleep(0)
        models.free.set()
        return await asyncio.gather(*tasks)

    models, results = run(scenario)
    assert results == [[0], [2, 4, 6], [14]]
    assert models.batches == [[0], [1, 7, 2], [3]]
