"""Faulty clients and models: the server keeps answering, and nothing leaks."""

import asyncio
import gc
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from served import Waiting, scripted, served, wait_for

from btr.errors import InputError
from btr.serving import log, service
from btr.serving.serve import MACOS_OPEN_FILES, allow_many_connections, serve

HELPERS = Path(__file__).parents[1] / "helpers"
REQUEST = {"text": "I has it."}


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def open_requests(address):
    text = httpx.get(f"{address}/metrics", timeout=60).text
    return float(next(line for line in text.splitlines() if line.startswith("btr_requests_open ")).split()[1])


def works(address):
    return httpx.post(f"{address}/v1/correct", json=REQUEST, timeout=60).json()["text"] == "I have it."


def connect(address):
    url = urlsplit(address)
    return socket.create_connection((url.hostname, url.port), timeout=60)


def send(address, head, body=b""):
    """Send a raw request, and return the connection."""
    connection = connect(address)
    connection.sendall(head.encode() + b"\r\nHost: localhost\r\n\r\n" + body)
    return connection


def post(body, path="/v1/correct"):
    return f"POST {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_nothing_leaks():
    """After all faults, one server has as many threads and descriptors as before."""
    allow_many_connections()
    engine = Waiting()
    with served(scripted(engine), max_requests=8, timeout=30) as address:
        assert works(address)
        before = descriptors(), threading.active_count()
        leave_while_working(address, engine)
        leave_in_the_middle_of_a_body(address)
        send_too_much(address)
        send_nonsense(address)
        come_all_at_once(address)
        assert works(address)
        wait_for(lambda: open_requests(address) == 0)
        wait_for(lambda: descriptors() <= before[0] and threading.active_count() <= before[1])


def leave_while_working(address, engine):
    engine.free.clear()
    body = json.dumps(REQUEST).encode()
    connections = [send(address, post(body), body) for _ in range(5)]
    wait_for(lambda: open_requests(address) == 5)
    for connection in connections:
        connection.close()
    wait_for(lambda: open_requests(address) == 0)  # while the model still works on the first of them
    engine.free.set()
    assert works(address)


def leave_in_the_middle_of_a_body(address):
    for _ in range(5):
        send(address, post(b"x" * 1000), b"x" * 10).close()
    assert works(address)


def send_too_much(address):
    for content in (b"x" * 5_000_000, iter([b"x" * 100_000] * 50)):  # with its length, and in chunks
        answer = httpx.post(f"{address}/v1/correct", content=content, timeout=60)
        assert answer.status_code == 413
        assert "the body is larger than 665,536 bytes" in answer.json()["detail"]
    with send(address, "POST /v1/correct HTTP/1.1\r\nContent-Length: 99999999999") as connection:
        assert b" 413 " in connection.recv(1000).splitlines()[0]
    assert works(address)


def send_nonsense(address):
    for body in (b'{"text": ', b'{"text": "\xff\xfe"}', b"\x00" * 100, b"[" * 100_000, b'{"text": 1e999}'):
        answer = httpx.post(
            f"{address}/v1/correct", content=body, headers={"Content-Type": "application/json"}, timeout=60
        )
        assert answer.status_code in (400, 422)
    with send(address, "NONSENSE") as connection:
        assert b" 400 " in connection.recv(1000).splitlines()[0]
    assert works(address)


def come_all_at_once(address, count=1_000):
    """Every client gets an answer: the text, or 503."""
    url = urlsplit(address)
    body = json.dumps(REQUEST).encode()
    head = post(body).encode() + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    async def request():
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(head + body)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    async def request_all():
        return await asyncio.gather(*(request() for _ in range(count)))

    statuses = []
    for answer in asyncio.run(request_all()):
        first = answer.splitlines()[0]
        statuses.append(int(first.split()[1]))
        if statuses[-1] == 200:
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["text"] == "I have it."
        else:
            assert b"retry-after: 5" in answer
    assert len(statuses) == count
    assert set(statuses) <= {200, 503}
    assert 200 in statuses


def test_too_many_requests_are_refused():
    engine = Waiting()
    with served(scripted(engine), max_requests=2) as address, ThreadPoolExecutor(2) as pool:
        engine.free.clear()
        waiting = [pool.submit(works, address) for _ in range(2)]
        wait_for(lambda: open_requests(address) == 2)
        answer = httpx.post(f"{address}/v1/correct", json=REQUEST)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert httpx.get(f"{address}/health").status_code == 200
        engine.free.set()
        assert all(future.result() for future in waiting)


def test_requests_of_all_clients_are_batched():
    engine = Waiting()
    with served(scripted(engine)) as address, ThreadPoolExecutor(9) as pool:
        engine.free.clear()
        engine.batch_sizes.clear()
        first = pool.submit(works, address)
        wait_for(lambda: open_requests(address) == 1)
        others = [pool.submit(works, address) for _ in range(8)]
        wait_for(lambda: open_requests(address) == 9)
        engine.free.set()
        assert all(future.result() for future in (first, *others))
    assert sum(engine.batch_sizes) == 9
    assert len(engine.batch_sizes) <= 3


class Crowded(Waiting):
    """Fails with more than one sentence per batch, and quotes them; the first batch, which warms it up, is written."""

    def generate(self, sources, settings):
        results = super().generate(sources, settings)
        if len(sources) > 1 and len(self.batch_sizes) > 1:
            raise MemoryError(f"can't read {self.decode(sources)}")
        return results


def test_a_failed_batch_is_logged_though_each_request_succeeds_alone(caplog):
    engine = Crowded()
    with served(scripted(engine)) as address, ThreadPoolExecutor(3) as pool:
        engine.free.clear()
        first = pool.submit(works, address)
        wait_for(lambda: open_requests(address) == 1)
        others = [pool.submit(works, address) for _ in range(2)]
        wait_for(lambda: open_requests(address) == 3)
        engine.free.set()
        assert all(future.result() for future in (first, *others))
        assert "btr_batches_failed_total 1.0" in httpx.get(f"{address}/metrics", timeout=60).text
    (record,) = (line for line in caplog.records if line.levelname == "WARNING")
    line = json.loads(log.JsonFormatter().format(record))
    assert (line["event"], line["error"]) == ("batch failed", "MemoryError")
    assert line["items"] in (2, 3)
    assert "has" not in json.dumps(line)


def test_slow_requests_end():
    engine = Waiting()
    with served(scripted(engine), timeout=0.5) as address:
        engine.free.clear()
        answer = httpx.post(f"{address}/v1/correct", json=REQUEST, timeout=60)
        assert answer.status_code == 504
        assert answer.json()["detail"] == "this took longer than 0.5 seconds; send a shorter text."
        with send(address, post(b"x" * 1000), b"x" * 10) as connection:
            assert b" 408 " in connection.recv(1000).splitlines()[0]
            while connection.recv(1000):  # closed, so that the client can't go on
                pass
        engine.free.set()
        wait_for(lambda: open_requests(address) == 0)
    assert engine.batch_sizes


def test_a_connection_without_a_complete_header_is_closed():
    with served(scripted(), timeout=0.5) as address:
        for sent in (b"", b"GET /health HTTP/1.1\r\nHo"):
            with connect(address) as connection:
                connection.sendall(sent)
                assert connection.recv(1000) == b""  # closed
        with send(address, "GET /health HTTP/1.1") as connection:  # also after a complete request
            assert b" 200 " in connection.recv(1000)
            connection.sendall(b"GET /hea")
            while connection.recv(1000):
                pass
        assert works(address)


def send_and_not_read(address):
    """Request more than the system buffers for a client that does not read; return the connection."""
    connection = connect(address)
    connection.sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
    wait_for(lambda: answered(address) == answered(address, after=0.3) > 0)
    return connection


def answered(address, after=0.0):
    """Return how many requests for the page's script were answered."""
    time.sleep(after)
    text = httpx.get(f"{address}/metrics", timeout=60).text
    return sum(float(line.split()[1]) for line in text.splitlines() if re.match(r"btr_requests_total.*page\.js", line))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_a_client_that_does_not_read_is_disconnected():
    with served(scripted(), timeout=2) as address:
        before = descriptors()
        with send_and_not_read(address):
            wait_for(lambda: descriptors() <= before + 1)  # the client's
        assert answered(address) < 2_000
        assert works(address)


def test_a_client_that_does_not_read_does_not_delay_the_stop():
    with served(scripted()) as address:  # its time-out is longer than the test waits for the stop
        connection = send_and_not_read(address)
    connection.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_reported(monkeypatch):
    monkeypatch.setattr(service, "size", lambda job: sys.exit())  # nothing a client sends ends a thread
    with served(scripted(), timeout=0.5) as address:
        assert httpx.get(f"{address}/health", timeout=60).status_code == 200
        assert httpx.post(f"{address}/v1/correct", json=REQUEST, timeout=60).status_code == 504
        answers = (
            httpx.get(f"{address}/health", timeout=60),
            httpx.post(f"{address}/v1/correct", json=REQUEST, timeout=60),
        )
        for answer in answers:
            assert answer.status_code == 503
            assert answer.json()["detail"] == "a thread of the server has ended; start the server again."


def test_where_no_limit_is_refused_macos_limit_holds(monkeypatch):
    """macOS has no hard limit of open files, and refuses a soft one that is not a number."""
    limits = []

    def set_limit(kind, pair):
        if pair[0] == resource.RLIM_INFINITY:
            raise ValueError("current limit exceeds maximum limit")
        limits.append(pair)

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    allow_many_connections()
    assert limits == [(MACOS_OPEN_FILES, resource.RLIM_INFINITY)]


def test_sigterm_finishes_running_requests():
    """After SIGTERM a server process answers the running request, refuses new ones, and ends with exit code 0."""
    code = """
        import resource
        import sys
        sys.path.insert(0, sys.argv[1])
        from served import Waiting, scripted
        from btr import Corrector
        from btr.cli import main

        class Patient(Waiting):
            def generate(self, sources, settings):
                if len(self.batch_sizes):
                    print("working", *resource.getrlimit(resource.RLIMIT_NOFILE), flush=True)
                    sys.stdin.readline()
                return super().generate(sources, settings)

        Corrector.from_pretrained = lambda *names, **settings: scripted(Patient())
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        sys.argv = ["btr", "serve", "--port", "0", "--allow-origin", "https://my.org/"]
        main()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(HELPERS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        address = process.stdout.readline().split()[-1]
        with ThreadPoolExecutor(1) as pool:
            site = {"Origin": "https://my.org"}
            answer = pool.submit(httpx.post, f"{address}/v1/correct", json=REQUEST, headers=site, timeout=120)
            working, connections, limit = process.stdout.readline().split()
            assert working == "working"
            assert connections in (limit, str(MACOS_OPEN_FILES))
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: refuses(address))
            process.stdin.write("\n")
            process.stdin.flush()
            assert answer.result().json()["text"] == "I have it."
            assert "server" not in answer.result().headers
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    start, *requests, stop = map(json.loads, err.splitlines())
    assert (start["event"], stop["event"]) == ("start", "stop")
    answered = [line["status"] for line in requests if line["path"] == "/v1/correct"]
    assert answered == [200]  # the others tested whether it accepts connections


def refuses(address):
    try:
        httpx.get(f"{address}/health")
    except httpx.ConnectError:
        return True
    return False


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "btr.serving.server")
    with pytest.raises(InputError, match=r"serving needs the extra 'serve': pip install 'btr-gec\[serve\]'"):
        serve(port=0)


@pytest.mark.parametrize("token", ["", "open sesame", "sesame\n", "sésame"])
def test_a_token_that_no_header_can_carry_is_refused(token):
    with pytest.raises(InputError, match="without spaces; see --token"):
        serve(port=0, token=token)


@pytest.mark.parametrize("origin", ["foo", "http://x/path", "my.org:81", "http://"])
def test_an_origin_is_a_scheme_and_a_host(origin):
    with pytest.raises(InputError, match="is no origin, such as https"):
        serve(port=0, allow_origin=["https://my.org/", origin])


def test_a_port_in_use_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as used, pytest.raises(InputError, match="listen at 127"):
        serve(port=used.getsockname()[1])
