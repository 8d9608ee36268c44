"""How fast the BTR's objective is: sources by rows against each pair on its own, on a random T5 of small shape.

The plain way encodes the source again for gold and each of its negatives, and computes logits of every token. Both ways
see the same masks, compute the same loss, and go forward and backward. `--base 1 --layers 12 --negatives 20` is the
paper's BTR.

Then the same batches are trained on in float32 and in bfloat16, as `precision` of a recipe does: float32 weights, and
matrix products in bfloat16. Both loss curves are printed; `btr_bfloat16` is the ratio of tokens per second.

    python benchmarks/train.py [--json] [--sources 16] [--layers 8] [--negatives 5] [--base 0] [--updates 12]
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
from btr.training.loop import make_optimizer
from btr.training.losses import likelihood_and_unlikelihood
from btr.training.objective import Batch, TrainingPair
from btr.training.precision import cpu_has_bfloat16
from btr.training.recipe import Optimizer, Recipe
from btr.training.t5_objectives import MaskedTarget

LENGTH, VOCABULARY, ROUNDS = 25, 32128, 3
BATCHES = 4  # that training repeats, so that the loss falls


class NumberTokenizer:
    """A tokenizer whose words are the numbers of tokens."""

    all_special_ids = (0, 1, 2)

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [*map(int, text.split()), 1]}

    def __len__(self) -> int:
        return VOCABULARY

    def get_vocab(self) -> dict[str, int]:
        return {f"<extra_id_{k}>": 32099 - k for k in range(100)}


def make_objective(layers: int, negatives: int, base: bool) -> MaskedTarget:
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
    return MaskedTarget(Recipe.model_validate(content), model.train(), NumberTokenizer())


def make_batch(objective: MaskedTarget, count: int, seed: int = 0) -> tuple[list[Any], Batch]:
    """Sources with gold and negatives that differ in a few tokens, as n-best lists do."""
    generator = random.Random(seed)
    examples: list[Any] = []
    for _ in range(count):
        words = [str(generator.randrange(100, 30000)) for _ in range(generator.randrange(LENGTH - 8, LENGTH + 8))]
        texts = []
        for changes in range(1 + objective.recipe.objective.negatives):
            changed = list(words)
            for _ in range(changes):
                changed[generator.randrange(len(changed))] = str(generator.randrange(100, 30000))
            texts.append(" ".join(changed))
        examples.append(objective.encode(TrainingPair(" ".join(words), texts[0], tuple(texts[1:]))))
    return examples, objective.draw(examples, [np.random.default_rng(k) for k in range(count)])


def plain_way(objective: MaskedTarget, examples: list[Any], batch: Batch) -> torch.Tensor:
    """Each (source, target) pair on its own in one batch, logits everywhere."""
    grid = batch.inputs
    most = len(grid.rows) // len(examples)  # rows of a source, idle ones included where negatives were equal
    sources = [example["source"] for example in examples for _ in range(most)]
    ids = pad(sources, 0, grid.rows.device)
    lengths = torch.tensor(list(map(len, sources)))
    logits = objective.model(
        input_ids=ids,
        attention_mask=(torch.arange(ids.shape[1]) < lengths[:, None]).long(),
        decoder_input_ids=grid.rows,
        decoder_attention_mask=(torch.arange(grid.rows.shape[1]) < grid.lengths[:, None]).long(),
        use_cache=False,
    ).logits
    log_probs = logits.float().log_softmax(-1).flatten(0, 1)[grid.positions].gather(1, batch.labels[:, None])[:, 0]
    return likelihood_and_unlikelihood(log_probs, batch.is_negative).sum()


def timed(work: Callable[[], torch.Tensor]) -> tuple[float, float]:
    """The best of some rounds, forward and backward; and the loss."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        loss = work()
        loss.backward()
        best = min(best, time.perf_counter() - start)
    return best, float(loss.detach())


def train_in(precision: str, options: dict[str, int]) -> tuple[list[float], float]:
    """Train from the same start on the same batches: the loss per update, and tokens per second after the first."""
    objective = make_objective(options["layers"], options["negatives"], bool(options["base"]))
    drawn = [make_batch(objective, options["sources"], seed) for seed in range(BATCHES)]
    weights = list(objective.model.parameters())
    optimizer = make_optimizer(Optimizer(name="adamw", learning_rate=1e-3), weights)
    losses, seconds, tokens = [], 0.0, 0
    for update in range(options["updates"]):
        examples, batch = drawn[update % BATCHES]
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = objective.loss(batch) / max(1.0, batch.count)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if update:  # the first one prepares kernels and the optimizer's state
            seconds += time.perf_counter() - start
            tokens += sum(map(objective.size, examples))
        losses.append(float(loss.detach()))
    return losses, tokens / seconds


def compare_precisions(report: Report) -> None:
    """Print speed and loss in float32 and in bfloat16, side by side."""
    plain, slow = train_in("float32", report.options)
    half, fast = train_in("bfloat16", report.options)
    report.say("update   loss in float32   in bfloat16")
    for update, (one, other) in enumerate(zip(plain, half), 1):
        report.say(f"{update:6}   {one:15.4f}   {other:11.4f}")
    report.say(f"float32: {slow:,.0f} tokens/s; bfloat16: {fast:,.0f} tokens/s")
    if not cpu_has_bfloat16():
        report.say(
            "this processor has no bfloat16 units (AVX512-BF16, AMX): it emulates them, and the ratio means nothing"
        )
    report.ratio("btr_bfloat16", fast / slow)


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    report = Report("train", sources=16, layers=8, negatives=5, base=0, updates=12)
    if report.options["updates"] < 2:
        raise SystemExit("--updates must be at least 2: the first one is not timed")
    options = report.options
    objective = make_objective(options["layers"], options["negatives"], bool(options["base"]))
    examples, batch = make_batch(objective, options["sources"])
    tokens = sum(map(objective.size, examples))
    before = peak()
    fast, ours = timed(lambda: objective.loss(batch))
    report.say(
        f"memory: {before:.1f} GB with the model, {peak():.1f} GB with gradients and a batch of {tokens:,} tokens"
    )
    slow, plain = timed(lambda: plain_way(objective, examples, batch))
    report.say(f"each pair on its own, logits everywhere: {tokens / slow:,.0f} tokens/s")
    report.say(
        f"sources by rows, logits where masked:    {tokens / fast:,.0f} tokens/s; loss {ours:.4f}, plain {plain:.4f}"
    )
    if abs(ours - plain) > 1e-4 * abs(plain):
        raise SystemExit("the losses are not equal")
    report.ratio("btr_objective", slow / fast)
    compare_precisions(report)
    report.end()


if __name__ == "__main__":
    main()
