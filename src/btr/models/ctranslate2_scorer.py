"""Log-probabilities of texts by a causal language model in int8, computed by CTranslate2."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from btr.errors import InputError
from btr.models.convert import convert, ctranslate2_version
from btr.models.locate import first_line
from btr.models.threads import Threaded

BATCH = 32  # texts per batch of a worker: the same on every machine, so that results are the same too
MAX_WORKERS = 8


class CTranslate2Scorer:
    """Sums of log-probabilities in int8, on a CPU.

    Only texts of one length are batched, so that a text's result does not depend on the others.
    """

    def __init__(self, name: str, tokenizer: Any, begin: int) -> None:
        self.version = ctranslate2_version()
        import ctranslate2

        folder = convert(name, "int8", kind="lm")
        self.tokenizer, self.begin = tokenizer, begin

        def make() -> Any:
            threads = torch.get_num_threads()
            workers = min(MAX_WORKERS, threads)  # batches side by side are faster than threads that share one
            generator = ctranslate2.Generator(
                str(folder), compute_type="int8", inter_threads=workers, intra_threads=threads // workers
            )
            torch.set_num_threads(threads)  # CTranslate2 changes the number for the whole process
            return generator

        try:
            self.generator = Threaded(make)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{name}: ctranslate2 can't run it ({first_line(error)}).") from None

    def sums(self, sources: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        """Return the log-probability of each text of each source."""
        texts = list(dict.fromkeys(tuple(text) for source in sources for text in source))
        lengths: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for text in texts:
            lengths[len(text)].append(text)
        waiting = [
            (group, self.generator.get().score_batch(
                [self.tokenizer.convert_ids_to_tokens([self.begin, *text]) for text in group],
                max_batch_size=BATCH, max_input_length=0, asynchronous=True,
            ))
            for group in lengths.values()
        ]  # fmt: skip
        sums = {text: sum(each.result().log_probs) for group, batch in waiting for text, each in zip(group, batch)}
        return [[sums[tuple(text)] for text in source] for source in sources]
