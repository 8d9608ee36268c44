"""A server with scripted models, in a thread of the tests."""

import threading
import time
from contextlib import contextmanager

from scripted import Opposed, Scripted

from btr.candidates.base import Search
from btr.correction.corrector import Corrector
from btr.rerankers.base import Rule
from btr.serving.app import make_app
from btr.serving.limits import Limits
from btr.serving.serve import bind
from btr.serving.server import Server


class Waiting(Scripted):
    """An engine that waits for the event `free`; `batch_sizes` are the sizes of its batches."""

    def __init__(self):
        super().__init__()
        self.free = threading.Event()
        self.free.set()
        self.batch_sizes = []

    def search(self, sources, search):
        assert self.free.wait(60)
        self.batch_sizes.append(len(sources))
        return super().search(sources, search)


def scripted(engine=None, threshold=0.99):
    """Return a corrector whose base model follows a script, and whose reranker prefers the source."""
    return Corrector(engine or Scripted(), Search(size=2), Opposed(), Rule(threshold))


@contextmanager
def served(corrector, names=("scripted", "opposed"), **limits):
    """Serve a corrector, and give the address."""
    chosen = Limits(**limits)
    app = make_app(corrector, chosen, names)
    listener = bind("127.0.0.1", 0)
    server = Server(app, chosen.timeout)
    thread = threading.Thread(target=server.run, args=(listener,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.uvicorn.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def as_offline(sentences):
    """Return sentences of an answer as `btr correct --json` writes them."""
    for sentence in sentences:
        sentence.pop("suggestion", None)
        for candidate in sentence.get("candidates", ()):
            for key in ("edits", "competes", "flag"):
                candidate.pop(key, None)
    return sentences


def wait_for(condition, seconds=60):
    """Wait until a condition holds. Tests assert no times, but they must end."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)
