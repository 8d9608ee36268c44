"""How fast exact PLL scores are: the engine against the paper's way, on a T5 of base shape with random weights.

The paper's way scores one candidate at a time, encodes the source again for every mask, and computes logits everywhere.

    python benchmarks/pll.py [--json] [--sources 8] [--layers 12]
"""

import copy
import random
import resource
import time
from collections.abc import Sequence
from typing import Any

import torch
from common import Report, t5_shape
from transformers import T5Config, T5ForConditionalGeneration

from btr.corpus.candidates import Candidates
from btr.models.bidirectional import make_bidirectional
from btr.models.int8_layers import quantise
from btr.models.loaded import LoadedModel
from btr.rerankers.btr import BTR

LENGTH, CANDIDATES, VOCABULARY, MASK = 25, 5, 32128, 32099


class Numbers:
    """A tokenizer whose words are the tokens' numbers."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": list(map(int, text.split()))}

    def get_vocab(self) -> dict[str, int]:
        return {"<extra_id_0>": MASK}


def make_model(layers: int) -> Any:
    torch.manual_seed(0)
    model: Any = T5ForConditionalGeneration(T5Config(**t5_shape(layers)))
    return make_bidirectional(model.eval())


def make_rows(count: int) -> list[Candidates]:
    """Sources with candidates that differ from each other in a token or two, as n-best lists do."""
    generator = random.Random(0)
    rows = []
    for _ in range(count):
        base = [generator.randrange(100, 30000) for _ in range(LENGTH - 1)]
        texts = []
        for changes in range(CANDIDATES):
            tokens = list(base)
            for _ in range(changes):
                tokens[generator.randrange(len(tokens))] = generator.randrange(100, 30000)
            texts.append(" ".join(map(str, [*tokens, 1])))
        rows.append(Candidates(texts[0], tuple(texts)))
    return rows


@torch.inference_mode()
def papers_way(model: Any, row: Candidates) -> list[float]:
    source = torch.tensor([list(map(int, row.source.split()))])
    means = []
    for candidate in row.texts:
        tokens = list(map(int, candidate.split()))
        total = 0.0
        for k, token in enumerate(tokens):
            ids = [0, *tokens]
            ids[k + 1] = MASK
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([ids]), use_cache=False).logits
            total += float(logits[0, k].log_softmax(-1)[token])
        means.append(total / len(tokens))
    return means


def timed(reranker: BTR, rows: Sequence[Candidates]) -> tuple[float, list[float]]:
    reranker.scores(rows[:1])  # warm up
    start = time.perf_counter()
    scores = reranker.scores(rows)
    return (time.perf_counter() - start) / len(rows), [score or 0.0 for score in scores[0]]


def long_candidate(model: Any) -> None:
    """One batch of a 512-token candidate against a 512-token source, which is as large as batches get."""
    text = " ".join(map(str, [*range(100, 611), 1]))
    reranker = BTR(LoadedModel(model, Numbers(), "long"))  # type: ignore[arg-type]
    _, plan = next(reranker.plans([text]))
    reranker.plan_rows(plan, 0, Candidates(text, (text,)))
    rows = range(max(1, reranker.budget // 513))
    computed = reranker.compute(plan, rows)
    assert len(computed) == len(rows)


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    report = Report("PLL", sources=8, layers=12)
    model = make_model(report.options["layers"])
    rows = make_rows(report.options["sources"])
    start = time.perf_counter()
    plain = papers_way(model, rows[0])
    papers = time.perf_counter() - start
    report.say(f"the paper's way: {papers:.2f} s for {CANDIDATES} candidates of {LENGTH} tokens")
    before = peak()
    long_candidate(model)
    report.say(f"peak memory: {before:.0f} MB so far, {peak():.0f} MB with a 512-token candidate")
    rough = copy.deepcopy(model)
    quantise(rough)
    for name, candidate in (("fp32", model), ("int8", rough)):
        reranker = BTR(LoadedModel(candidate, Numbers(), name, name == "int8"))  # type: ignore[arg-type]
        seconds, means = timed(reranker, rows[:1])
        error = max(abs(a - b) for a, b in zip(means, plain))
        report.say(f"{name}: {seconds:.2f} s; scores differ from the paper's way by {error:.1e} at most")
        report.ratio(name, papers / seconds)
        if name == "fp32" and error > 1e-4:
            raise SystemExit("the scores are not equal")
        if len(rows) > 1:
            each, _ = timed(reranker, rows)
            report.ratio(f"{name}_{len(rows)}_sources", papers / each)
    report.say(f"peak memory with both models: {peak():.0f} MB")
    report.end()


if __name__ == "__main__":
    main()
