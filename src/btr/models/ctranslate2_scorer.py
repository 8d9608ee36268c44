"""Log-probabilities of texts by a causal language model in int8, computed by CTranslate2."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from btr.errors import InputError
from btr.models.convert import convert, ctranslate2_version
from btr.models.locate import first_line
from btr.models.threads import Threaded, is_forked

BATCH = 32  # texts per batch of a worker: the same on every machine, so that results are the same too
MAX_WORKERS = 8


class CTranslate2Scorer:
    """Sums of log-probabilities in int8, on a CPU.

    Only texts of one length are batched, so that a text's result does not depend on the others.
    """

    def __init__(self, name: str, tokenizer: Any, begin: int) -> None:
        self.version = ctranslate2_version()
        self.name, self.tokenizer, self.begin = name, tokenizer, begin
        self.folder = convert(name, "int8", kind="lm")
        self.threads = torch.get_num_threads()  # here, since threads that score later have other numbers
        self.generator = Threaded(self.load, at_once=False)  # many texts have no edit that it is asked about

    def load(self) -> Any:
        """Read the weights."""
        import ctranslate2

        before = torch.get_num_threads()
        threads = min(self.threads, before) if is_forked() else self.threads
        workers = min(MAX_WORKERS, threads)  # batches side by side are faster than threads that share one
        try:
            generator = ctranslate2.Generator(
                str(self.folder), compute_type="int8", inter_threads=workers, intra_threads=threads // workers
            )
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{self.name}: ctranslate2 can't run it ({first_line(error)}).") from None
        torch.set_num_threads(before)  # CTranslate2 changes the number for the whole process
        return generator

    def sums(self, sources: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        """Return the log-probability of each text of each source."""
        if not any(sources):
            return [[] for _ in sources]
        generator = self.generator.get()
        texts = list(dict.fromkeys(tuple(text) for source in sources for text in source))
        lengths: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for text in texts:
            lengths[len(text)].append(text)
        waiting = [
            (group, generator.score_batch(
                [self.tokenizer.convert_ids_to_tokens([self.begin, *text]) for text in group],
                max_batch_size=BATCH, max_input_length=0, asynchronous=True,
            ))
            for group in lengths.values()
        ]  # fmt: skip
        sums = {text: sum(each.result().log_probs) for group, batch in waiting for text, each in zip(group, batch)}
        return [[sums[tuple(text)] for text in source] for source in sources]
