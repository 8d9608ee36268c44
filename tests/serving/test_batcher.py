"""Requests that are worked on together, with work that is known."""

import asyncio
import threading
from functools import partial

import pytest
from served import wait_for

from btr.serving.batcher import Batcher, Ended, Full


class Work:
    """Doubles numbers, once it is let, and -3 once more; None and 99 are trouble, -1 and -2 the end of a thread."""

    def __init__(self):
        self.batches = []
        self.free, self.finished = threading.Event(), threading.Event()

    def __call__(self, items):
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


def run(scenario, budget=4, most=10):
    work = Work()
    batcher = Batcher(work, lambda item: 1, budget, most)
    try:
        return work, asyncio.run(scenario(batcher, work))
    finally:
        work.free.set()
        work.finished.set()
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


def test_the_next_batch_begins_while_answers_are_finished():
    async def scenario(batcher, work):
        work.free.set()
        first = asyncio.ensure_future(batcher.run([-3]))
        await asyncio.to_thread(wait_for, lambda: work.batches == [[-3]])
        second = asyncio.ensure_future(batcher.run([1]))
        await asyncio.to_thread(wait_for, lambda: work.batches == [[-3], [1]])
        assert not first.done()
        work.finished.set()
        return await asyncio.gather(first, second)

    assert run(scenario)[1] == [[-6], [2]]


def test_who_is_finished_does_not_wait_for_the_others_of_a_batch():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [1], [-3])
        work.free.set()
        assert await tasks[1] == [2]
        assert not tasks[2].done()
        work.finished.set()
        return await tasks[2]

    work, result = run(scenario)
    assert work.batches == [[0], [1, -3]]
    assert result == [-6]


def test_a_finisher_that_fails_fails_alone():
    async def scenario(batcher, work):
        tasks = await begun(batcher, [99], [-2], [1])
        work.free.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    work, (_, first, second, third) = run(scenario)
    assert work.batches == [[0], [99, -2, 1]]  # the models were asked once
    assert isinstance(first, ZeroDivisionError)
    assert repr(second) == "RuntimeError('KeyboardInterrupt')"
    assert third == [2]


def test_the_end_waits_for_what_is_to_be_finished():
    async def scenario(batcher, work):
        work.free.set()
        tasks = [asyncio.ensure_future(batcher.run([-3]))]
        await asyncio.to_thread(wait_for, lambda: work.batches == [[-3]])
        for k in (1, 2):  # one is in the finisher's queue, one before it, one waits for the models
            tasks.append(asyncio.ensure_future(batcher.run([k])))
            await asyncio.to_thread(wait_for, lambda: not batcher._waiting)
        tasks.append(asyncio.ensure_future(batcher.run([3])))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        await asyncio.to_thread(wait_for, lambda: batcher._closed)
        with pytest.raises(Full):
            await batcher.run([4])
        assert not any(task.done() for task in (closing, *tasks))
        work.finished.set()
        await closing
        return await asyncio.gather(*tasks)

    assert run(scenario)[1] == [[-6], [2], [4], [6]]


def test_without_a_thread_nothing_is_taken():
    async def scenario(batcher, work):
        batcher._begun.put(None)  # as at the end, for the thread that finishes answers
        await asyncio.to_thread(wait_for, lambda: not batcher.is_alive)
        with pytest.raises(Ended):
            await asyncio.wait_for(batcher.run([1]), 10)

    assert run(scenario)[0].batches == []


def test_nothing_asked_nothing_done():
    async def scenario(batcher, work):
        return await batcher.run([])

    assert run(scenario)[1] == []
