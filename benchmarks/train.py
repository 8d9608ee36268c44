"""How fast the BTR's objective is: sources by rows against each pair on its own, on a random T5 of small shape.

The plain way encodes the source again for gold and each of its negatives, and computes logits of every token. Both ways
see the same masks, compute the same loss, and go forward and backward. `--base 1 --layers 12 --negatives 20` is the
paper's BTR.

    python benchmarks/train.py [--json] [--sources 16] [--layers 8] [--negatives 5] [--base 0]
"""

import random
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from common import Report, t5_shape
from transformers import T5Config, T5ForConditionalGeneration

from btr.models.bidirectional import make_bidirectional
from btr.models.decoder import pad
from btr.training.objectives import likelihood, unlikelihood
from btr.training.recipe import Recipe
from btr.training.tasks import Batch, BTRTask

LENGTH, VOCABULARY, ROUNDS = 25, 32128, 3


class Numbers:
    """A tokenizer whose words are the tokens' numbers."""

    all_special_ids = (0, 1, 2)

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [*map(int, text.split()), 1]}

    def __len__(self) -> int:
        return VOCABULARY

    def get_vocab(self) -> dict[str, int]:
        return {f"<extra_id_{k}>": 32099 - k for k in range(100)}


def make_task(layers: int, negatives: int, base: bool) -> BTRTask:
    torch.manual_seed(0)
    model: Any = make_bidirectional(
        T5ForConditionalGeneration(T5Config(**t5_shape(layers, small=not base), dropout_rate=0.0))
    )
    content = {
        "kind": "btr",
        "model": "random",
        "epochs": 1,
        "data": {"pairs": ["none.tsv"], "candidates": ["none.jsonl"]},
        "objective": {"negatives": negatives},
    }
    return BTRTask(Recipe.model_validate(content), model.train(), Numbers())


def make_batch(task: BTRTask, count: int) -> tuple[list[Any], Batch]:
    """Sources with gold and negatives that differ in a few tokens, as n-best lists do."""
    generator = random.Random(0)
    examples: list[Any] = []
    for _ in range(count):
        words = [str(generator.randrange(100, 30000)) for _ in range(generator.randrange(LENGTH - 8, LENGTH + 8))]
        texts = []
        for changes in range(1 + task.recipe.objective.negatives):
            own = list(words)
            for _ in range(changes):
                own[generator.randrange(len(own))] = str(generator.randrange(100, 30000))
            texts.append(" ".join(own))
        examples.append(task.encode(" ".join(words), texts))
    return examples, task.draw(examples, [np.random.default_rng(k) for k in range(count)])


def plain_way(task: BTRTask, examples: list[Any], batch: Batch) -> torch.Tensor:
    """Each (source, target) pair on its own in one batch, logits everywhere."""
    grid = batch.inputs
    most = len(grid.rows) // len(examples)  # rows of a source, idle ones included where negatives were equal
    sources = [example["source"] for example in examples for _ in range(most)]
    ids = pad(sources, 0, grid.rows.device)
    lengths = torch.tensor(list(map(len, sources)))
    logits = task.model(
        input_ids=ids,
        attention_mask=(torch.arange(ids.shape[1]) < lengths[:, None]).long(),
        decoder_input_ids=grid.rows,
        decoder_attention_mask=(torch.arange(grid.rows.shape[1]) < grid.lengths[:, None]).long(),
        use_cache=False,
    ).logits
    log_probs = logits.float().log_softmax(-1).flatten(0, 1)[grid.asked].gather(1, batch.wanted[:, None])[:, 0]
    return torch.where(batch.negative, unlikelihood(log_probs), likelihood(log_probs)).sum()


def timed(work: Callable[[], torch.Tensor]) -> tuple[float, float]:
    """The best of some rounds, forward and backward; and the loss."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        loss = work()
        loss.backward()
        best = min(best, time.perf_counter() - start)
    return best, float(loss.detach())


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    report = Report("train", sources=16, layers=8, negatives=5, base=0)
    options = report.options
    task = make_task(options["layers"], options["negatives"], bool(options["base"]))
    examples, batch = make_batch(task, options["sources"])
    tokens = sum(map(task.size, examples))
    before = peak()
    fast, ours = timed(lambda: task.losses(batch)["likelihood"])
    report.say(
        f"memory: {before:.1f} GB with the model, {peak():.1f} GB with gradients and a batch of {tokens:,} tokens"
    )
    slow, plain = timed(lambda: plain_way(task, examples, batch))
    report.say(f"each pair on its own, logits everywhere: {tokens / slow:,.0f} tokens/s")
    report.say(
        f"sources by rows, logits where masked:    {tokens / fast:,.0f} tokens/s; loss {ours:.4f}, plain {plain:.4f}"
    )
    if abs(ours - plain) > 1e-4 * abs(plain):
        raise SystemExit("the losses are not equal")
    report.ratio("btr_objective", slow / fast)
    report.end()


if __name__ == "__main__":
    main()
