"""`btr serve` under load: many clients at once against one client, in the same run.

Starts a server on this machine's loopback address with the shipped models, and sends paragraphs of mixed lengths. Every
answer must equal that of `btr correct`; none may be an error or be lost. A full run (with the defaults) must answer at
least twice as many requests per second with many clients as with one. Otherwise the exit code is 1. Last, a text as
long as a request may be is streamed; the time to its first paragraph is printed, and it is cancelled after a few.

    python benchmarks/serve.py [--json] [--seconds 60] [--clients 32] [--texts 96]
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles
from typing import Any

import httpx
from common import Report
from correct import DEEDS, ENDS, PEOPLE, THINGS

from btr.correction.corrector import Corrector

FULL = {"seconds": 60, "clients": 32, "texts": 96}
MIN_SPEEDUP = 2.0
LONGEST = 50_000  # characters of a request
STREAMED = 3  # paragraphs that are read before the request is cancelled
Answer = dict[str, Any]  # JSON


def make_texts(count: int) -> list[str]:
    """Return paragraphs of a learner, of one to four sentences of 5 to 40 words."""
    generator = random.Random(1)
    return [" ".join(make_sentence(generator) for _ in range(generator.randint(1, 4))) + "\n" for _ in range(count)]


def make_sentence(generator: random.Random) -> str:
    """Return a sentence of as many clauses as a random length allows, at least one."""
    max_words, sentence = generator.randint(5, 40), ""
    while True:
        clause = " ".join(map(generator.choice, (PEOPLE, DEEDS, THINGS, ENDS)[: generator.randint(3, 4)]))
        longer = f"{sentence}, and {clause[0].lower()}{clause[1:]}" if sentence else clause
        if sentence and len(longer.split()) > max_words:
            return f"{sentence}."
        sentence = longer


def correct_offline(texts: Sequence[str]) -> dict[str, Answer]:
    """Return the corrections of `btr correct`, by text."""
    corrections = Corrector.from_pretrained().correct_many(texts)
    return {text: correction.to_dict() for text, correction in zip(texts, corrections, strict=True)}


class Client:
    """Sends one text after the other until the time is up; stores the times, and errors."""

    def __init__(self, address: str, expected: dict[str, Answer], first: int) -> None:
        self.address, self.expected, self.first = address, expected, first
        self.times: list[float] = []
        self.errors: list[str] = []

    def run(self, end: float) -> None:
        texts = list(self.expected)
        with httpx.Client(base_url=self.address, timeout=120) as http:
            for k in range(self.first, 1_000_000):
                started = time.perf_counter()
                text = texts[k * 7 % len(texts)]
                answer = http.post("/v1/correct", json={"text": text})
                self.times.append(time.perf_counter() - started)
                self.check(text, answer)
                if time.perf_counter() > end:
                    return

    def check(self, text: str, answer: httpx.Response) -> None:
        """Store an error if an answer is not that of `btr correct`."""
        if answer.status_code != 200:
            self.errors.append(f"{answer.status_code}: {answer.text[:100]}")
        elif without_candidate_edits(answer.json()) != self.expected[text]:
            self.errors.append(f"not the answer of btr correct: {text}")


def without_candidate_edits(answer: Answer) -> Answer:
    """Return an answer as `btr correct` gives it."""
    for sentence in answer["sentences"]:
        for candidate in sentence.get("candidates", ()):
            del candidate["edits"]
    return answer


def load(report: Report, address: str, expected: dict[str, Answer], clients: int, seconds: float) -> float:
    """Return the requests per second that a number of clients get answered."""
    running = [Client(address, expected, 3 * k) for k in range(clients)]
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(client.run, started + seconds) for client in running]:
            done.result()  # a lost answer is an exception
    times = [each for client in running for each in client.times]
    errors = [each for client in running for each in client.errors]
    rate = len(times) / (time.perf_counter() - started)
    cuts = quantiles(times, n=100) if len(times) > 1 else times * 99
    report.say(
        f"{clients:2} clients: {len(times)} requests, {len(errors)} errors; {rate:.2f} per second; "
        f"p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s, p99 {cuts[98]:.2f} s"
    )
    if errors:
        sys.exit("\n".join(errors[:5]))
    return rate


def stream(report: Report, address: str, expected: dict[str, Answer]) -> None:
    """Stream a text of many paragraphs, and cancel it; each paragraph that came must be that of `btr correct`."""
    paragraphs = list(expected)
    while sum(map(len, paragraphs)) + len(paragraphs) < LONGEST:
        paragraphs += expected
    text = "\n".join(paragraphs)[:LONGEST]
    started = time.perf_counter()
    with (
        httpx.Client(base_url=address, timeout=120) as http,
        http.stream("POST", "/v1/correct/stream", json={"text": text}) as answer,
    ):
        lines = answer.iter_lines()
        count = json.loads(next(lines))["paragraphs"]
        for k in range(STREAMED):
            paragraph = json.loads(next(lines))
            if k == 0:
                report.say(
                    f"stream of {len(text):,} characters: {time.perf_counter() - started:.2f} s to the first of {count}"
                )
            given = text[paragraph["start"] : paragraph["end"]].rstrip("\n") + "\n"
            if paragraph["result"]["text"].rstrip("\n") != expected[given]["text"].rstrip("\n"):
                sys.exit(f"not the answer of btr correct: {given}")
    httpx.post(f"{address}/v1/correct", json={"text": paragraphs[0]}, timeout=60).raise_for_status()  # it goes on


def main() -> None:
    report = Report(__doc__ or "", **FULL)
    seconds, clients = report.options["seconds"], report.options["clients"]
    expected = correct_offline(make_texts(report.options["texts"]))
    command = [sys.executable, "-m", "btr.cli", "serve", "--port", "0", "--timeout", "120"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout
        address = server.stdout.readline().split()[-1]
        load(report, address, expected, 1, 2)  # warm up
        alone = load(report, address, expected, 1, seconds / 4)
        together = load(report, address, expected, clients, seconds)
        stream(report, address, expected)
    finally:
        server.terminate()
        server.wait(150)
    report.ratio("batched_over_one_at_a_time", together / alone)
    report.end()
    if report.options == FULL and together / alone < MIN_SPEEDUP:
        sys.exit(f"many clients should get {MIN_SPEEDUP:g} times as many answers per second as one.")


if __name__ == "__main__":
    main()
