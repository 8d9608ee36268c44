"""Requests that are worked on together, with work that is known."""

import asyncio
import threading
from functools import partial

import pytest
from served import wait_for

from btr.serving.batcher import Batcher, Full


class Work:
    """Doubles numbers, once it is let; None and 99 are trouble, negative ones the end of a thread."""

    def __init__(self):
        self.batches = []
        self.free = threading.Event()

    def __call__(self, items):
        assert self.free.wait(60)
        self.batches.append(list(items))
        if None in items:
            raise ValueError("no number")
        if -1 in items:
            raise SystemExit
        return [partial(self.finish, item) for item in items]

    def finish(self, item):
        if item == -2:
            raise KeyboardInterrupt
        return 2 // (item - 99) if item == 99 else 2 * item


def run(scenario, budget=4, most=10):
    work = Work()
    batcher = Batcher(work, lambda item: 1, budget, most)
    try:
        return work, asyncio.run(scenario(batcher, work))
    finally:
        work.free.set()
        batcher.close()
        assert not any(thread.is_alive() for thread in batcher._threads)
        assert not batcher.open
        assert not batcher._waiting


async def begun(batcher, *requests):
    """Requests that wait, after a first that is in work."""
    tasks = [asyncio.ensure_future(batcher.run([0]))]
    await asyncio.to_thread(wait_for, lambda: not batcher._waiting and batcher.open)
    tasks += [asyncio.ensure_future(batcher.run(items)) for items in requests]
    await asyncio.sleep(0)
    return tasks


def test_what_waits_is_done_together_and_everybody_gets_their_own():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [1], [2, 3], [4])
        work.free.set()
        return await asyncio.gather(*tasks)

    work, results = run(scenario)
    assert results == [[0], [2], [4, 6], [8]]
    assert work.batches == [[0], [1, 2, 4, 3]]


def test_a_long_request_lets_short_ones_through():
    async def scenario(batcher, work):
        tasks = await begun(batcher, list(range(10, 20)), [1], [2])
        work.free.set()
        return await asyncio.gather(*tasks)

    work, results = run(scenario)
    assert work.batches[1] == [10, 1, 2, 11]
    assert results[1] == [2 * k for k in range(10, 20)]


def test_no_more_than_the_most_are_taken():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [1], [2])
        with pytest.raises(Full):
            await batcher.run([3])
        work.free.set()
        results = await asyncio.gather(*tasks)
        return results, await batcher.run([4])

    assert run(scenario, most=3)[1] == ([[0], [2], [4]], [8])


def test_who_goes_away_leaves_no_work_behind():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [1], [2])
        for task in tasks[:2]:
            task.cancel()
        await asyncio.gather(*tasks[:2], return_exceptions=True)
        assert len(batcher.open) == 1
        work.free.set()
        return await tasks[2]

    work, result = run(scenario)
    assert result == [4]
    assert work.batches == [[0], [2]]


def test_one_bad_item_fails_alone():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [1], [2, None, 3], [99, 5], [4])
        work.free.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    _, (_, first, second, third, fourth) = run(scenario)
    assert (first, fourth) == ([2], [8])
    assert isinstance(second, ValueError)
    assert isinstance(third, ZeroDivisionError)


def test_the_thread_survives_what_would_end_it():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [1], [-1], [-2], [3])
        work.free.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert batcher.is_alive
        return results

    _, (_, first, second, third, fourth) = run(scenario)
    assert (first, fourth) == ([2], [6])
    assert (repr(second), repr(third)) == ("RuntimeError('SystemExit')", "RuntimeError('KeyboardInterrupt')")


def test_nothing_asked_nothing_done():
    async def scenario(batcher, work):
        return await batcher.run([])

    assert run(scenario)[1] == []
