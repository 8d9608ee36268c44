"""A server with scripted models, in a thread of the tests."""

import threading
import time
from contextlib import contextmanager

from scripted import Opposed, Scripted

from btr.candidates.decoding import DecodingSettings
from btr.correction.corrector import Corrector
from btr.decisions import Settings
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

    def generate(self, sources, settings):
        assert self.free.wait(60)
        self.batch_sizes.append(len(sources))
        return super().generate(sources, settings)


def scripted(engine=None, reranker=None, size=2, **settings):
    """Return a corrector whose base model follows a script, and whose reranker prefers the source."""
    chosen = Settings(**{"threshold": 0.99, "drop_runaways": True, **settings})
    return Corrector(engine or Scripted(), DecodingSettings(size=size), reranker or Opposed(), chosen)


@contextmanager
def served(corrector, **limits):
    """Serve a corrector, and give the address."""
    chosen = Limits(**limits)
    app = make_app(corrector, chosen)
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
        for candidate in sentence.get("candidates", ()):
            del candidate["edits"]
        for edit in sentence["edits"]:
            if edit.get("confidence") is None:  # no judge decided
                edit.pop("confidence", None)
                sentence.pop("alternatives", None)
        if not sentence.get("alternatives"):
            sentence.pop("alternatives", None)
    return sentences


def wait_for(condition, seconds=60):
    """Wait until a condition holds. Tests assert no times, but they must end."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)
