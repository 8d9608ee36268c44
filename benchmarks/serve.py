"""How `btr serve` does under load: many clients at a time against one request at a time, in the same run.

Starts a server on this machine's loopback address, with the shipped models. Every answer must be the offline one, and
none may be an error or get lost; else it ends with exit code 1. Bounded: so many clients, so many seconds.

    python benchmarks/serve.py [--json] [--seconds 60] [--clients 32]
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles
from typing import Any

import httpx
from common import Report
from correct import make_text

from btr.correction.blocks import cut_blocks
from btr.correction.corrector import Corrector

TEXTS = 96
Sentences = list[dict[str, Any]]


def correct_offline(texts: Sequence[str]) -> dict[str, Sentences]:
    """What `btr correct --json` says of each text."""
    corrector = Corrector.load()
    blocks = [block for text in texts for block in cut_blocks([text])]
    return {text: record["sentences"] for text, record in zip(texts, corrector.correct_blocks(blocks), strict=True)}


class Client:
    """Asks for one text after the other until the time is up; keeps how long each took, and what was wrong."""

    def __init__(self, address: str, offline: dict[str, Sentences], first: int) -> None:
        self.address, self.offline, self.first = address, offline, first
        self.times: list[float] = []
        self.wrong: list[str] = []

    def run(self, end: float) -> None:
        texts = list(self.offline)
        with httpx.Client(base_url=self.address, timeout=120) as http:
            for k in range(self.first, 1_000_000):
                begun = time.perf_counter()
                text = texts[k * 7 % len(texts)]
                answer = http.post("/v1/correct", json={"text": text})
                self.times.append(time.perf_counter() - begun)
                if answer.status_code != 200:
                    self.wrong.append(f"{answer.status_code}: {answer.text[:100]}")
                elif plain(answer.json()["sentences"]) != self.offline[text]:
                    self.wrong.append(f"not the offline answer: {text}")
                if time.perf_counter() > end:
                    return


def plain(sentences: Sentences) -> Sentences:
    """Sentences as `btr correct --json` writes them."""
    for sentence in sentences:
        sentence.pop("suggestion", None)
        for candidate in sentence.get("candidates", ()):
            candidate.pop("edits")
    return sentences


def load(report: Report, address: str, offline: dict[str, Sentences], clients: int, seconds: float) -> float:
    """Requests a second of so many clients."""
    own = [Client(address, offline, 3 * k) for k in range(clients)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(client.run, begun + seconds) for client in own]:
            done.result()  # a lost answer is an exception
    times = [one for client in own for one in client.times]
    wrong = [one for client in own for one in client.wrong]
    rate = len(times) / (time.perf_counter() - begun)
    cuts = quantiles(times, n=100) if len(times) > 1 else times * 99
    report.say(
        f"{clients:2} at a time: {len(times)} requests, {len(wrong)} wrong; {rate:.2f} a second; "
        f"p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s, p99 {cuts[98]:.2f} s"
    )
    if wrong:
        sys.exit("\n".join(wrong[:5]))
    return rate


def main() -> None:
    report = Report(__doc__ or "", seconds=60, clients=32)
    seconds, clients = report.options["seconds"], report.options["clients"]
    offline = correct_offline(make_text(TEXTS).splitlines(keepends=True))
    command = [sys.executable, "-m", "btr.cli", "serve", "--port", "0", "--timeout", "120"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout
        address = server.stdout.readline().split()[-1]
        load(report, address, offline, 1, 2)  # warm up
        alone = load(report, address, offline, 1, seconds / 4)
        together = load(report, address, offline, clients, seconds)
    finally:
        server.terminate()
        server.wait(150)
    report.ratio("batched_over_one_at_a_time", together / alone)
    report.end()


if __name__ == "__main__":
    main()
