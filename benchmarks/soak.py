"""`btr serve` under load for an hour, with clients that go away, clients that read slowly, and a restart.

Starts a server on this machine's loopback address with the shipped models. 32 clients send paragraphs one after the
other; two more go away before their answers, in the middle of a body or of a stream, and two read their answers a few
bytes at a time. In the middle the server gets SIGTERM while all of them wait, and another is started at the same port.

Every answer must equal that of `btr correct`, and none may be lost, also those that are computed at the SIGTERM. In the
life of each server, measured without clients after a first round of all texts and again at its end: no more threads and
file descriptors than at the start, and (in runs of at least five minutes) less than 5 % more resident memory. Otherwise
the exit code is 1.

    python benchmarks/soak.py [--json] [--seconds 3600] [--clients 32] [--texts 96]
"""

import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from threading import Event
from typing import IO
from urllib.parse import urlsplit

import httpx
from common import Report
from serve import Answer, Client, correct_offline, make_texts

FULL = {"seconds": 3600, "clients": 32, "texts": 96}
MAX_GROWTH = 1.05
JUDGED_SECONDS = 300  # in shorter runs memory has not settled
TIMEOUT = 120  # seconds for an answer
IN_FLIGHT = 2.0  # seconds before a SIGTERM: a request that was sent earlier must be answered
FAULTY = 2  # clients of each faulty kind
PAUSE = 0.5  # seconds between two requests of a faulty client


@dataclass(frozen=True)
class Usage:
    """What a server uses while no client is connected."""

    memory: int  # resident, in bytes
    threads: int
    descriptors: int


class RunningServer:
    """A `btr serve` process."""

    def __init__(self, log: IO[str], port: int = 0) -> None:
        command = [sys.executable, "-m", "btr.cli", "serve", "--port", str(port), "--timeout", str(TIMEOUT)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout
        self.address = self.process.stdout.readline().split()[-1]
        self.port = urlsplit(self.address).port or 0

    def usage(self) -> Usage:
        folder = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        memory = int(status["VmRSS"].split()[0]) << 10
        return Usage(memory, int(status["Threads"]), len(list((folder / "fd").iterdir())))

    def idle_usage(self, before: Usage | None = None) -> Usage:
        """Return what it uses once no request runs and no client is connected; give up waiting for that in time."""
        end = time.monotonic() + 2 * TIMEOUT
        while True:
            time.sleep(1)
            metrics = httpx.get(f"{self.address}/metrics", timeout=TIMEOUT).text
            usage = self.usage()
            is_over = "btr_requests_open 0.0" in metrics and (
                before is None or (usage.threads <= before.threads and usage.descriptors <= before.descriptors)
            )
            if is_over or time.monotonic() > end:
                return usage

    def stop(self) -> int:
        """Send SIGTERM; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(2 * TIMEOUT)


class Soak:
    """What the clients share: the address, the time when they end, and whether they may go on."""

    def __init__(self, server: RunningServer, expected: dict[str, Answer]) -> None:
        self.address, self.port, self.expected = server.address, server.port, expected
        self.go, self.restarting = Event(), Event()
        self.end = self.stopped_at = float("inf")

    @property
    def is_over(self) -> bool:
        return time.perf_counter() > self.end


class SteadyClient(Client):
    """Sends one text after the other. What is lost although no restart excuses it is an error."""

    def __init__(self, soak: Soak, first: int) -> None:
        super().__init__(soak.address, soak.expected, first)
        self.soak, self.texts = soak, list(soak.expected)
        self.repeated = 0  # requests that a restart refused

    def soak_until_end(self) -> None:
        k = self.first
        while not self.soak.is_over:
            self.soak.go.wait(1)
            with httpx.Client(base_url=self.address, timeout=TIMEOUT) as http:
                while self.soak.go.is_set() and not self.soak.is_over:
                    k += self.send_next(http, self.texts[k * 7 % len(self.texts)])

    def send_next(self, http: httpx.Client, text: str) -> bool:
        """Send a text; return whether it got an answer."""
        started = time.perf_counter()
        try:
            answer = http.post("/v1/correct", json={"text": text})
        except httpx.TransportError as error:
            if not self.soak.restarting.is_set() or started < self.soak.stopped_at - IN_FLIGHT:
                self.errors.append(f"lost: {type(error).__name__}")
            self.repeated += 1
            time.sleep(0.2)
            return False
        self.times.append(time.perf_counter() - started)
        self.check(text, answer)
        return True


class FaultyClient(SteadyClient):
    """Goes away before its answer, or reads it slowly."""

    def __init__(self, soak: Soak, first: int, is_slow: bool) -> None:
        super().__init__(soak, first)
        self.is_slow, self.random = is_slow, random.Random(first)
        self.done = 0

    def send_next(self, http: httpx.Client, text: str) -> bool:
        body = json.dumps({"text": text}).encode()
        path = "/v1/correct" if self.is_slow else self.random.choice(["/v1/correct", "/v1/correct/stream"])
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.soak.port), TIMEOUT) as connection:
            if self.is_slow:
                connection.sendall(request)
                self.read_slowly(connection, text)
            else:
                connection.sendall(request[: self.random.choice([len(request), -10])])
                time.sleep(self.random.uniform(0, 3))
            self.done += 1
        time.sleep(PAUSE)
        return True

    def read_slowly(self, connection: socket.socket, text: str) -> None:
        """Read an answer in small parts, and check it; at a restart the server waits for no slow client."""
        received = b""
        while part := connection.recv(200):
            received += part
            time.sleep(0.02)
        head, _, content = received.partition(b"\r\n\r\n")
        if not self.soak.restarting.is_set():
            self.check(text, httpx.Response(int(head.split()[1]), content=content))


@contextmanager
def working(soak: Soak, clients: Sequence[SteadyClient]) -> Iterator[None]:
    """Let clients work; wait until all have ended, and pass on what any of them raised."""
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(client.soak_until_end) for client in clients]
        try:
            yield
        except BaseException:
            soak.end = 0.0
            raise
        for each in running:
            each.result()


def send_all_once(soak: Soak, clients: int) -> None:
    """Send each text once, with all clients, and check the answers: what grows at first has grown then."""
    checker = Client(soak.address, soak.expected, 0)

    def send(text: str) -> None:
        checker.check(text, httpx.post(f"{soak.address}/v1/correct", json={"text": text}, timeout=2 * TIMEOUT))

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(send, soak.expected))
    if checker.errors:
        sys.exit("\n".join(checker.errors[:5]))


def soak_server(report: Report, log: IO[str]) -> list[str]:
    """Run two servers, one after the other, under load; return the promises that were broken."""
    seconds, count = report.options["seconds"], report.options["clients"]
    expected = correct_offline(make_texts(report.options["texts"]))
    server = RunningServer(log)
    try:
        soak = Soak(server, expected)
        steady = [SteadyClient(soak, 3 * k) for k in range(count)]
        faulty = [FaultyClient(soak, k, is_slow=k % 2 == 0) for k in range(2 * FAULTY)]
        send_all_once(soak, count)
        usages = [server.idle_usage()]
        with working(soak, [*steady, *faulty]):
            soak.go.set()
            time.sleep(seconds / 2)
            soak.go.clear()
            usages.append(server.idle_usage(usages[0]))
            soak.go.set()
            time.sleep(2 * IN_FLIGHT)
            soak.restarting.set()
            soak.stopped_at = time.perf_counter()
            codes = [server.stop()]
            soak.go.clear()
            server = RunningServer(log, server.port)
            soak.restarting.clear()
            send_all_once(soak, count)
            usages.append(server.idle_usage())
            soak.end = time.perf_counter() + seconds / 2
            soak.go.set()
        usages.append(server.idle_usage(usages[2]))
        codes.append(server.stop())
    finally:
        server.process.kill()
    print_figures(report, steady, faulty)
    return check_errors([*steady, *faulty], codes) + check_usages(report, usages, seconds >= JUDGED_SECONDS)


def print_figures(report: Report, steady: Sequence[SteadyClient], faulty: Sequence[FaultyClient]) -> None:
    """Print the counts and times of all clients."""
    times = [each for client in steady for each in client.times]
    cuts = quantiles(times, n=100) if len(times) > 1 else times * 99
    report.ratios |= {"requests": len(times), "p50": cuts[49], "p95": cuts[94], "p99": cuts[98]}
    report.say(
        f"{len(steady)} clients: {len(times):,} answers; p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s, "
        f"p99 {cuts[98]:.2f} s; {sum(client.repeated for client in steady)} refused at the restart, and sent again"
    )
    slow, gone = (sum(client.done for client in faulty if client.is_slow is kind) for kind in (True, False))
    report.say(f"{gone:,} requests of clients that went away, {slow:,} answers that were read slowly")


def check_errors(clients: Sequence[Client], codes: Sequence[int]) -> list[str]:
    """Return what went wrong with the answers, and at the ends of the servers."""
    errors = [error for client in clients for error in client.errors]
    return [*errors[:5], *(f"a server ended with exit code {code}" for code in codes if code)]


def check_usages(report: Report, usages: Sequence[Usage], is_memory_judged: bool) -> list[str]:
    """Print what each server used at the start and the end of its life; return what grew."""
    broken = []
    for number, before, after in zip(("first", "second"), usages[::2], usages[1::2]):
        growth = after.memory / before.memory
        report.ratios[f"memory_of_{number}"] = growth
        report.say(
            f"{number} server: {before.memory / 1e6:.0f} → {after.memory / 1e6:.0f} MB ({100 * (growth - 1):+.1f} %), "
            f"{before.threads} → {after.threads} threads, {before.descriptors} → {after.descriptors} descriptors"
        )
        if is_memory_judged and growth >= MAX_GROWTH:
            broken.append(f"the {number} server's memory has grown to {growth:.2f} times what it was")
        if after.threads > before.threads or after.descriptors > before.descriptors:
            broken.append(f"the {number} server has threads or descriptors left over")
    return broken


def main() -> None:
    report = Report(__doc__ or "", **FULL)
    with tempfile.TemporaryFile("w+") as log:
        broken = soak_server(report, log)
        log.seek(0)
        lines = [json.loads(line) for line in log]
    serious = [line["event"] for line in lines if line["level"] != "info"]
    report.say(f"{len(lines):,} lines of the log, {len(serious)} of them warnings or errors")
    report.end()
    if broken or serious:
        sys.exit("\n".join([*broken, *serious[:5]]))


if __name__ == "__main__":
    main()
