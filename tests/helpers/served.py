"""A server with models that are known, in a thread of the tests."""

import threading
import time
from contextlib import contextmanager

from scripted import Opposed, Scripted

from btr.candidates.decoding import DecodingSettings
from btr.correction.corrector import Corrector
from btr.rerankers.base import Rule
from btr.serving.app import make_app
from btr.serving.serve import bind
from btr.serving.server import Server
from btr.serving.settings import Settings


class Waiting(Scripted):
    """Does nothing until it is let; `seen` are the batches that it was given."""

    def __init__(self):
        super().__init__()
        self.free = threading.Event()
        self.free.set()
        self.seen = []

    def generate(self, sources, settings):
        assert self.free.wait(60)
        self.seen.append(len(sources))
        return super().generate(sources, settings)


def scripted(engine=None, threshold=0.99):
    """A corrector whose base model changes what its script says, and whose reranker would rather not."""
    return Corrector(engine or Scripted(), DecodingSettings(size=2), Opposed(), Rule(threshold))


@contextmanager
def served(corrector, names=("scripted", "opposed"), **settings):
    """The address of a server, as long as it is needed."""
    chosen = Settings(**settings)
    app = make_app(corrector, chosen, names)
    listener = bind("127.0.0.1", 0)
    server = Server(app, chosen.seconds)
    thread = threading.Thread(target=server.run, args=(listener,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.uvicorn.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def plain(sentences):
    """Sentences of an answer as `btr correct --json` writes them."""
    for sentence in sentences:
        sentence.pop("suggestion", None)
        for candidate in sentence.get("candidates", ()):
            for key in ("edits", "took_part", "flag"):
                candidate.pop(key, None)
    return sentences


def wait_for(holds, seconds=60):
    """Wait until something holds; times are not asserted, but tests must end."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
