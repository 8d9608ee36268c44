"""What a server keeps of what it was sent: nothing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import httpx
import pytest
from served import scripted, served
from starlette.responses import PlainTextResponse

from btr.correction.segments import load_splitter
from btr.metrics import errant
from btr.metrics.errant import discard_parses, extract_edits, load_annotator
from btr.serving.guard import Guard
from btr.serving.measures import Measures
from btr.serving.settings import Settings

PAIR = "I has two dog .", "I have two dogs ."


def known(nlp):
    """How much spaCy knows: strings and words."""
    return len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)


def new_texts(count, sentences=25):
    """Texts of words that nobody has seen."""
    words = map("".join, product("qxzvwk", repeat=5))
    for _ in range(count):
        yield " ".join(f"I has {next(words)} and {next(words)}s." for _ in range(sentences))


class Client:
    """Sends a body in parts, None if it goes away; and notes the status."""

    def __init__(self, length, path="/v1/correct", headers=None):
        own = {"host": "localhost", "content-length": str(length), **(headers or {})}
        encoded = [(name.encode(), value.encode()) for name, value in own.items()]
        self.scope = {"type": "http", "method": "POST", "path": path, "headers": encoded}
        self.parts = asyncio.Queue()
        self.status = 499

    def send(self, part, more):
        kind = "http.disconnect" if part is None else "http.request"
        self.parts.put_nowait({"type": kind, "body": part, "more_body": more})

    async def hear(self, message):
        self.status = message.get("status", self.status)

    async def ask(self, guard):
        await guard(self.scope, self.parts.get, self.hear)


async def answer_length(scope, receive, send):
    """An application that says how long the body was."""
    body = (await receive())["body"]
    await PlainTextResponse(str(len(body)))(scope, receive, send)


def test_no_word_of_a_text_is_kept():
    corrector = scripted()
    rules, annotator = load_splitter(), load_annotator().nlp
    with served(corrector) as address:
        before = known(rules), known(annotator)
        for text in new_texts(5):
            answer = httpx.post(f"{address}/v1/correct", json={"text": text}, timeout=60).json()
            assert answer["text"] == text.replace("has", "have")
        assert (known(rules), known(annotator)) == before
    assert corrector.see_known.cache_info().currsize == 0
    assert errant._parse.cache_info().currsize == 0
    assert not annotator.get_pipe("lemmatizer").cache


def test_bodies_that_come_at_a_time_are_bounded():
    """Slow ones together are kept up to the most that the requests taken may have; small ones still get through."""
    settings = Settings(characters=10, requests=3, seconds=30)
    guard = Guard(answer_length, settings, Measures(), frozenset())
    size = settings.body - 1

    async def scenario():
        slow = [Client(size) for _ in range(5)]
        asked = [asyncio.ensure_future(own.ask(guard)) for own in slow]
        most = 0
        for sent in range(0, size, 10_000):
            for own in slow:
                own.send(b"x" * min(10_000, size - sent), more=sent + 10_000 < size)
            await asyncio.sleep(0.01)
            most = max(most, guard.kept)
        await asyncio.gather(*asked)
        small = Client(1)
        small.send(b"x", more=False)
        await small.ask(guard)
        return most, [own.status for own in slow], small.status

    most, statuses, last = asyncio.run(scenario())
    assert most <= 3 * settings.body
    assert set(statuses) == {200, 503}
    assert (last, guard.kept) == (200, 0)


@pytest.mark.parametrize("path", ["/v1/correct", "/v2/check"])
def test_no_body_is_counted_once_it_is_refused(path):
    settings = Settings(characters=10, seconds=0.2, token="sesame")
    guard = Guard(answer_length, settings, Measures(), frozenset())

    async def scenario():
        statuses = []
        for parts in ([b"x" * 1000], [b"x" * 1000, None], [b"x" * settings.body, b"x"], [b"x"] * 2, [b"\xff"]):
            headers = {"authorization": "Bearer sesame"} if parts[0] != b"x" * 1000 else {}
            client = Client(0, path, headers)
            for k, part in enumerate(parts):
                client.send(part, more=k + 1 < len(parts) or parts == [b"x"] * 2)
            await client.ask(guard)
            statuses.append(client.status)
        return statuses

    assert asyncio.run(scenario()) == [401, 499, 413, 408, 400]
    assert guard.kept == 0


def test_edits_are_the_same_when_sentences_are_forgotten():
    pairs = [(text, text.replace("has", "have")) for text in new_texts(10, sentences=1)] + [PAIR]
    kept = [extract_edits(*pair) for pair in pairs]
    with discard_parses():
        assert [extract_edits(*pair) for pair in pairs] == kept

    def forget(pair):
        with discard_parses():
            return extract_edits(*pair)

    with ThreadPoolExecutor(4) as pool:  # some forget, others don't
        asked = [pool.submit((forget, lambda pair: extract_edits(*pair))[k % 2], pairs[k % 11]) for k in range(44)]
        assert [own.result() for own in asked] == kept * 4


def test_sentences_are_forgotten_after_an_error_too():
    extract_edits(*PAIR)
    before = known(load_annotator().nlp)
    with pytest.raises(ZeroDivisionError), discard_parses():
        assert 1 / len(extract_edits("I has a zzyzx .", "I have a zzyzx .")[1:])
    assert known(load_annotator().nlp) == before
    assert [edit.type for edit in extract_edits(*PAIR)] == ["R:VERB:SVA", "R:NOUN:NUM"]
