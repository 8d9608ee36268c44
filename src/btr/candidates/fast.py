"""The engine that runs a T5 with CTranslate2: beam search in float32 or int8, several times as fast on a CPU."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from btr.candidates.base import Engine, Found, Search, Tokens
from btr.errors import InputError
from btr.models.convert import COMPUTE, MADE_FROM, convert, read_json, version
from btr.models.load import choose_device, fetch, first_line, load_tokenizer, read_config

BATCH = 32  # sources of a worker's batch: a number that does not depend on the machine, so that results don't
WORKERS = 8  # at most


class Fast(Engine):
    """Beam search by CTranslate2. It stops once `size` candidates are complete (`early_stopping`).

    What is found for a source depends a little on what else is in the batch: padding changes the last bits of
    attention's sums, and rounding to int8 makes much of them. With `by_length` only sources of one length are batched:
    it takes about half as long again, and in int8 on a CPU each source's results are the same in any company.
    """

    def __init__(self, name: str, compute: str = "int8", device: str | None = None, *, by_length: bool = False) -> None:
        version()  # is it there?
        import ctranslate2

        if compute not in COMPUTE:
            raise InputError(f"ctranslate2 computes in {' or '.join(COMPUTE)}, not {compute!r}.")
        place = choose_device(device)
        own, folder = str(fetch(name)), convert(name, compute)
        self.tokenizer = load_tokenizer(own, read_config(own, name), name)
        self.ends = [self.tokenizer.eos_token_id]
        try:
            # Batches side by side are faster than threads that share one.
            threads = torch.get_num_threads()
            workers = min(WORKERS, threads)
            self.translator: Any = ctranslate2.Translator(
                str(folder),
                device=place.type,
                device_index=place.index or 0,
                compute_type=compute,
                inter_threads=workers,
                intra_threads=threads // workers,
            )
            torch.set_num_threads(threads)  # CTranslate2 sets its own number for all
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{name}: ctranslate2 can't run it ({first_line(error)}).") from None
        self.by_length = by_length
        made_from = read_json(folder / MADE_FROM)
        self.signature = f"seq2seq|model:{Path(name).name}#{made_from['files']}|ctranslate2:{version()}|dtype:{compute}"

    def search(self, sources: Sequence[Tokens], search: Search) -> list[list[Found]]:
        results = self._batched(
            self.translator.translate_batch,
            [len(source) for source in sources],
            list(map(self._names, sources)),
            beam_size=search.size,
            num_hypotheses=search.size,
            min_decoding_length=0,  # as in transformers; 1 is the default, so that no output is empty
            max_decoding_length=search.max_length,
            max_input_length=0,
            length_penalty=search.length_penalty,
            max_batch_size=BATCH,
            return_end_token=True,
            return_scores=True,
        )
        numbers: Any = self.tokenizer.convert_tokens_to_ids
        return [
            [
                Found(numbers(tokens), score * len(tokens) ** search.length_penalty)
                for tokens, score in zip(result.hypotheses, result.scores)
            ]
            for result in results
        ]

    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        results = self._batched(
            self.translator.score_batch,
            [(len(source), len(target)) for source, target in zip(sources, targets)],
            list(map(self._names, sources)),
            [self._names(target[:-1]) for target in targets],
            max_input_length=0,
            max_batch_size=BATCH,
        )
        return [float(sum(result.log_probs)) for result in results]

    def _batched(
        self, work: Callable[..., Any], lengths: Sequence[Any], *rows: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Results of `work` for all rows; batches of one length are worked on side by side."""
        groups: dict[Any, list[int]] = defaultdict(list)
        for k, length in enumerate(lengths):
            groups[length if self.by_length else None].append(k)
        waiting = [
            (group, work(*([own[k] for k in group] for own in rows), asynchronous=True, **options))
            for _, group in sorted(groups.items(), reverse=True)  # what takes longest first
        ]
        found = {k: one.result() for group, results in waiting for k, one in zip(group, results)}
        return [found[k] for k in range(len(lengths))]

    def _names(self, tokens: Tokens) -> list[str]:
        return list(self.tokenizer.convert_ids_to_tokens(tokens))
