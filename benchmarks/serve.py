"""How `btr serve` does under load: many clients at a time against one request at a time, in the same run.

Starts a server on this machine's loopback address, with the shipped models, and asks for paragraphs of mixed lengths.
Every answer must be the offline one, and none may be an error or get lost; and a full run (one with the defaults) must
answer twice as many a second together as one by one. Else it ends with exit code 1.

    python benchmarks/serve.py [--json] [--seconds 60] [--clients 32]
"""

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

from btr.correction.blocks import cut_blocks
from btr.correction.corrector import Corrector
from btr.correction.render import write_text

FULL = {"seconds": 60, "clients": 32}
LEAST = 2.0  # times as fast
TEXTS = 96
Answer = dict[str, Any]


def make_texts(count: int) -> list[str]:
    """Learners' paragraphs, of one to four sentences of 5 to 40 words."""
    chance = random.Random(1)
    return [" ".join(make_sentence(chance) for _ in range(chance.randint(1, 4))) + "\n" for _ in range(count)]


def make_sentence(chance: random.Random) -> str:
    """As many clauses as have room in a length that is drawn, and one at least."""
    most, said = chance.randint(5, 40), ""
    while True:
        clause = " ".join(map(chance.choice, (PEOPLE, DEEDS, THINGS, ENDS)[: chance.randint(3, 4)]))
        more = f"{said}, and {clause[0].lower()}{clause[1:]}" if said else clause
        if said and len(more.split()) > most:
            return f"{said}."
        said = more


def correct_offline(texts: Sequence[str]) -> dict[str, Answer]:
    """What `btr correct` makes of each text, and what `btr correct --json` says of its sentences."""
    blocks = [block for text in texts for block in cut_blocks([text])]
    records = Corrector.load().correct_blocks(blocks)
    return {
        text: {"text": write_text(record), "sentences": record["sentences"]}
        for text, record in zip(texts, records, strict=True)
    }


class Client:
    """Asks for one text after the other until the time is up; keeps how long each took, and what was wrong."""

    def __init__(self, address: str, offline: dict[str, Answer], first: int) -> None:
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
                elif plain(answer.json()) != self.offline[text]:
                    self.wrong.append(f"not the offline answer: {text}")
                if time.perf_counter() > end:
                    return


def plain(answer: Answer) -> Answer:
    """An answer with sentences as `btr correct --json` writes them."""
    for sentence in answer["sentences"]:
        sentence.pop("suggestion", None)
        for candidate in sentence.get("candidates", ()):
            for key in ("edits", "competes", "flag"):
                candidate.pop(key, None)
    return answer


def load(report: Report, address: str, offline: dict[str, Answer], clients: int, seconds: float) -> float:
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
    report = Report(__doc__ or "", **FULL)
    seconds, clients = report.options["seconds"], report.options["clients"]
    offline = correct_offline(make_texts(TEXTS))
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
    if report.options == FULL and together / alone < LEAST:
        sys.exit(f"batches should be {LEAST:g} times as fast as one request at a time.")


if __name__ == "__main__":
    main()
