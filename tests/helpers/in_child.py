"""Work in a process of its own, which is forked from this one or shares nothing with it."""

import multiprocessing

FORKED = multiprocessing.get_context("fork")
SPAWNED = multiprocessing.get_context("spawn")
TIMEOUT = 240  # seconds after which a process hangs


def in_child(context, work):
    """Return what a function gives in a process of its own."""
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=send, args=(theirs, work))
    process.start()
    theirs.close()  # so that a process that ends without an answer is seen
    try:
        assert ours.poll(TIMEOUT), "the process hangs"
        return ours.recv()
    finally:
        process.kill()
        process.join()
        ours.close()


def send(connection, work):
    connection.send(work())


def texts_of(corrector, texts):
    return [each.text for each in corrector.correct_many(texts)]
