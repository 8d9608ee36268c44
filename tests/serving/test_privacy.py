"""A server stores nothing of what it is sent."""

import asyncio
import gc
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import httpx
import pytest
from judged import judged_corrector
from served import scripted, served
from starlette.responses import PlainTextResponse

from btr.correction.segments import load_splitter
from btr.metrics.errant import discard_parses, extract_edits, load_annotator
from btr.serving.guard import Guard
from btr.serving.limits import Limits
from btr.serving.monitoring import Monitoring

PAIR = "I has two dog .", "I have two dogs ."


def vocabulary_size(nlp):
    """Return how many strings and words spaCy has stored."""
    return len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)


def new_texts(count, letters="qxzvwk", sentences=25):
    """Yield texts with new words of five letters."""
    words = map("".join, product(letters, repeat=5))
    for _ in range(count):
        yield " ".join(f"I has {next(words)} and {next(words)}s." for _ in range(sentences))


def stored_strings(letters):
    """Return the strings with words of these letters that objects of this process hold."""
    word = re.compile(rf"\b[{letters}]{{5}}s?\b")
    gc.collect()
    referents = (each for stored in gc.get_objects() for each in gc.get_referents(stored))
    return {each for each in referents if type(each) is str and word.search(each)}


class Client:
    """Sends the parts of a body to an ASGI application, where None disconnects, and stores the status."""

    def __init__(self, length, path="/v1/correct", headers=None):
        sent = {"host": "localhost", "content-length": str(length), **(headers or {})}
        encoded = [(name.encode(), value.encode()) for name, value in sent.items()]
        self.scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": encoded}
        self.parts = asyncio.Queue()
        self.status = 499

    def send(self, part, more):
        message_type = "http.disconnect" if part is None else "http.request"
        self.parts.put_nowait({"type": message_type, "body": part, "more_body": more})

    async def receive_answer(self, message):
        self.status = message.get("status", self.status)

    async def request(self, app):
        await app(self.scope, self.parts.get, self.receive_answer)


async def answer_length(scope, receive, send):
    """Answer with the length of the body."""
    body = (await receive())["body"]
    await PlainTextResponse(str(len(body)))(scope, receive, send)


@pytest.mark.parametrize(
    ("corrector", "letters"), [(scripted(), "jbfgpd"), (judged_corrector(spelling=True), "zkfgpd")]
)
def test_no_word_of_a_text_is_stored(corrector, letters):
    splitter, annotator = load_splitter(), load_annotator().nlp
    with served(corrector) as address:
        before = vocabulary_size(splitter), vocabulary_size(annotator)

        def correct(text):
            request = {"text": text, "words": [word.strip(".") for word in text.split()[4::5]], "candidates": 3}
            answer = httpx.post(f"{address}/v1/correct", json=request, timeout=60).json()
            return "I have " in answer["text"]

        assert all(map(correct, new_texts(5, letters)))
        assert (vocabulary_size(splitter), vocabulary_size(annotator)) == before
        assert stored_strings(letters) == set()


def test_the_memory_of_all_bodies_is_bounded():
    """Slow clients share the memory that `max_requests` bodies may have; then small requests still succeed."""
    limits = Limits(max_characters=10, max_requests=3, timeout=30)
    guard = Guard(answer_length, limits, Monitoring(), frozenset())
    size = limits.max_body - 1

    async def scenario():
        slow = [Client(size) for _ in range(5)]
        running = [asyncio.ensure_future(client.request(guard)) for client in slow]
        largest = 0
        for sent in range(0, size, 10_000):
            for client in slow:
                client.send(b"x" * min(10_000, size - sent), more=sent + 10_000 < size)
            await asyncio.sleep(0.01)
            largest = max(largest, guard.body_bytes)
        await asyncio.gather(*running)
        small = Client(1)
        small.send(b"x", more=False)
        await small.request(guard)
        return largest, [client.status for client in slow], small.status

    largest, statuses, last = asyncio.run(scenario())
    assert largest <= 3 * limits.max_body
    assert set(statuses) == {200, 503}
    assert (last, guard.body_bytes) == (200, 0)


@pytest.mark.parametrize("path", ["/v1/correct", "/v2/check"])
def test_bodies_of_forbidden_requests_are_not_stored(path):
    guard = Guard(answer_length, Limits(token="sesame"), Monitoring(), frozenset())
    token = {"authorization": "Bearer sesame"}

    async def request(headers):
        client = Client(600_000, path, headers)
        client.send(b"x" * 300_000, more=True)
        running = asyncio.ensure_future(client.request(guard))
        await asyncio.sleep(0.01)
        stored = guard.body_bytes
        client.send(b"x" * 300_000, more=False)
        await running
        assert guard.body_bytes == 0
        return client.status, stored

    async def scenario():
        wrong = {"host": "evil.org"}, {"origin": "https://evil.org"}, {"authorization": "Bearer wrong"}
        assert [await request({**token, **headers}) for headers in wrong] == [(403, 0), (403, 0), (401, 0)]
        # The form of a LanguageTool client might have the token.
        assert await request({}) == (401, 300_000 if path == "/v2/check" else 0)
        assert await request(token) == (200, 300_000)

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["/v1/correct", "/v2/check"])
def test_a_refused_body_is_not_counted(path):
    limits = Limits(max_characters=10, timeout=0.2, token="sesame")
    guard = Guard(answer_length, limits, Monitoring(), frozenset())

    async def scenario():
        statuses = []
        for parts in ([b"x" * 1000], [b"x" * 1000, None], [b"x" * limits.max_body, b"x"], [b"x"] * 2, [b"\xff"]):
            headers = {"authorization": "Bearer sesame"} if parts[0] != b"x" * 1000 else {}
            client = Client(0, path, headers)
            for k, part in enumerate(parts):
                client.send(part, more=k + 1 < len(parts) or parts == [b"x"] * 2)
            await client.request(guard)
            statuses.append(client.status)
        return statuses

    assert asyncio.run(scenario()) == [401, 499, 413, 408, 400]
    assert guard.body_bytes == 0


def test_forgetting_sentences_does_not_change_edits():
    pairs = [(text, text.replace("has", "have")) for text in new_texts(10, sentences=1)] + [PAIR]
    expected = [extract_edits(*pair) for pair in pairs]
    with discard_parses():
        assert [extract_edits(*pair) for pair in pairs] == expected

    def forget(pair):
        with discard_parses():
            return extract_edits(*pair)

    with ThreadPoolExecutor(4) as pool:  # some threads forget, others don't
        results = [pool.submit((forget, lambda pair: extract_edits(*pair))[k % 2], pairs[k % 11]) for k in range(44)]
        assert [result.result() for result in results] == expected * 4


def test_an_error_does_not_stop_the_forgetting():
    extract_edits(*PAIR)
    before = vocabulary_size(load_annotator().nlp)
    with pytest.raises(ZeroDivisionError), discard_parses():
        assert 1 / len(extract_edits("I has a zzyzx .", "I have a zzyzx .")[1:])
    assert vocabulary_size(load_annotator().nlp) == before
    assert [edit.type for edit in extract_edits(*PAIR)] == ["R:VERB:SVA", "R:NOUN:NUM"]
