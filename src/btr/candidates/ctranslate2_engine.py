"""The engine that runs a T5 with CTranslate2: beam search in float32 or int8, several times as fast on a CPU."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine, Hypothesis, Tokens
from btr.errors import InputError
from btr.models.convert import COMPUTE, MADE_FROM, convert, read_json, version
from btr.models.load import choose_device, fetch_folder, first_line, load_tokenizer, read_config

BATCH = 32  # sources of a worker's batch: a number that does not depend on the machine, so that results don't
WORKERS = 8  # at most
STEP = 8  # with `by_length`, the widths to which sources are padded are multiples of this
FILLERS = "<extra_id_0>", "▁<extra_id_0>"  # a source of nothing else soon ends, in a T5


class CTranslate2Engine(Engine):
    """Beam search by CTranslate2. It stops once `size` candidates are complete (`early_stopping`).

    What is found for a source depends a little on what else is in the batch: padding changes the last bits of
    attention's sums, and rounding to int8 makes much of them. With `by_length`, sources are batched with those of about
    their length, and always padded to the same width: so in int8 on a CPU each source's results are the same in any
    company.
    """

    def __init__(self, name: str, compute: str = "int8", device: str | None = None, *, by_length: bool = False) -> None:
        version()  # is it there?
        import ctranslate2

        if compute not in COMPUTE:
            raise InputError(f"ctranslate2 computes in {' or '.join(COMPUTE)}, not {compute!r}.")
        place = choose_device(device)
        own, folder = str(fetch_folder(name)), convert(name, compute)
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
        known = self.tokenizer.get_vocab()
        self.filler = next((token for token in FILLERS if token in known), str(self.tokenizer.eos_token))
        made_from = read_json(folder / MADE_FROM)
        self.signature = f"seq2seq|model:{Path(name).name}#{made_from['files']}|ctranslate2:{version()}|dtype:{compute}"
        if by_length:
            self.signature += f"|width:{STEP}"

    def generate(self, sources: Sequence[Tokens], settings: DecodingSettings) -> list[list[Hypothesis]]:
        names = list(map(self._names, sources))
        results = self._run(
            self.translator.translate_batch,
            [(group, [[names[k] for k in group] + filling]) for group, filling in self._groups(list(map(len, names)))],
            beam_size=settings.size,
            num_hypotheses=settings.size,
            min_decoding_length=0,  # as in transformers; 1 is the default, so that no output is empty
            max_decoding_length=settings.max_length,
            length_penalty=settings.length_penalty,
            return_end_token=True,
            return_scores=True,
        )
        numbers: Any = self.tokenizer.convert_tokens_to_ids
        return [
            [
                Hypothesis(numbers(tokens), score * len(tokens) ** settings.length_penalty)
                for tokens, score in zip(result.hypotheses, result.scores)
            ]
            for result in results
        ]

    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        rows = [(self._names(source), self._names(target[:-1])) for source, target in zip(sources, targets)]
        groups: dict[Any, list[int]] = defaultdict(list)
        for k, row in enumerate(rows):
            groups[tuple(map(len, row)) if self.by_length else None].append(k)
        asked = [(group, [[rows[k][side] for k in group] for side in range(2)]) for _, group in sorted(groups.items())]
        return [float(sum(result.log_probs)) for result in self._run(self.translator.score_batch, asked)]

    def _groups(self, lengths: Sequence[int]) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Sources to batch, the longest first, and what makes a batch as wide as it should be."""
        widths: dict[int, list[int]] = defaultdict(list)
        for k, length in enumerate(lengths):
            widths[-(-length // STEP) * STEP if self.by_length else 0].append(k)
        for width, every in sorted(widths.items(), reverse=True):
            size = BATCH - 1 if self.by_length else len(every)
            for start in range(0, len(every), size):
                group = every[start : start + size]
                is_full = max(lengths[k] for k in group) >= width
                yield group, [] if is_full else [[self.filler] * (width - 1) + [str(self.tokenizer.eos_token)]]

    def _run(self, work: Callable[..., Any], asked: Iterable[tuple[list[int], list[Any]]], **options: Any) -> list[Any]:
        """What `work` finds for all rows; batches are worked on side by side."""
        waiting = [
            (group, work(*rows, asynchronous=True, max_input_length=0, max_batch_size=BATCH, **options))
            for group, rows in asked
        ]
        found = {k: one.result() for group, results in waiting for k, one in zip(group, results)}
        return [found[k] for k in range(len(found))]

    def _names(self, tokens: Tokens) -> list[str]:
        return list(self.tokenizer.convert_ids_to_tokens(tokens))
