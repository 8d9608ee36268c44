"""The engine that runs a T5 with CTranslate2 in float32 or int8: several times as fast on a CPU."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine, Hypothesis, Tokens, derive_seed
from btr.errors import InputError
from btr.models.config import read_facts
from btr.models.convert import COMPUTE_TYPES, convert, ctranslate2_version
from btr.models.device import choose_device
from btr.models.identity import model_hash
from btr.models.locate import fetch_folder, first_line
from btr.models.threads import Threaded
from btr.models.tokenizer import load_plain_tokenizer

BATCH = 32  # sources per batch of a worker: the same on every machine, so that results are the same too
MAX_WORKERS = 8
WIDTH_STEP = 8  # fixed widths, to which sources are padded, are multiples of this
FILLERS = "<extra_id_0>", "▁<extra_id_0>"  # a T5 soon ends its output for a source of these alone


class CTranslate2Engine(Engine):
    """Beam search and sampling by CTranslate2.

    Beam search stops once `size` candidates are complete (`early_stopping`).
    Nucleus sampling looks at the `top_k` most probable tokens only: to sort all of them takes most of the time.

    Padding changes the last bits of attention's sums, and rounding to int8 magnifies them. In int8 on a CPU, sources
    are therefore batched with others of about their length and padded to a fixed width: the result for a source does
    not depend on the other sources.
    """

    stops_early = True

    def __init__(self, name: str, compute: str = "int8", device: str | None = None) -> None:
        version = ctranslate2_version()
        import ctranslate2

        if compute not in COMPUTE_TYPES:
            raise InputError(f"ctranslate2 computes in {' or '.join(COMPUTE_TYPES)}, not {compute!r}.")
        torch_device = choose_device(device)
        folder, converted = str(fetch_folder(name)), convert(name, compute)
        self.tokenizer = load_plain_tokenizer(folder, read_facts(folder, name), name)
        self.ends = [self.tokenizer.eos_token_id]

        def make(max_workers: int = MAX_WORKERS) -> Any:
            # Batches side by side are faster than threads that share one.
            threads = torch.get_num_threads()
            workers = min(max_workers, threads)
            translator = ctranslate2.Translator(
                str(converted),
                device=torch_device.type,
                device_index=torch_device.index or 0,
                compute_type=compute,
                inter_threads=workers,
                intra_threads=threads // workers,
            )
            torch.set_num_threads(threads)  # CTranslate2 changes the number for the whole process
            return translator

        self.make_translator = make
        try:
            self.translator = Threaded(make)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{name}: ctranslate2 can't run it ({first_line(error)}).") from None
        self.fixed_widths = compute == "int8" and torch_device.type == "cpu"
        vocabulary = self.tokenizer.get_vocab()
        self.tokens = len(vocabulary)
        self.end_name = str(self.tokenizer.eos_token)
        self.filler = next((token for token in FILLERS if token in vocabulary), self.end_name)
        self.signature = (
            f"seq2seq|model:{Path(name).name}#{model_hash(name)}|ctranslate2:{version}|dtype:{compute}"
            f"{f'|width:{WIDTH_STEP}' if self.fixed_widths else ''}"
        )

    def decoding_signature(self, settings: DecodingSettings) -> str:
        return settings.signature() + (f"|k:{settings.top_k}" if settings.method == "nucleus" else "")

    def generate(self, sources: Sequence[Tokens], settings: DecodingSettings) -> list[list[Hypothesis]]:
        names = list(map(self._token_names, sources))
        is_sampled = settings.method != "beam"
        translator = self._seeded_translator(settings, sources) if is_sampled else self.translator.get()
        sampling: dict[str, float] = {"sampling_topk": min(settings.top_k, self.tokens)} if is_sampled else {}
        if settings.method == "nucleus":
            sampling["sampling_topp"] = settings.top_p
        results = self._run(
            translator.translate_batch,
            [(group, [rows]) for group, rows in self._batches(names)],
            beam_size=1 if is_sampled else settings.size,
            num_hypotheses=settings.size,
            **sampling,
            min_decoding_length=0,  # as in transformers; by default it is 1, so that no output is empty
            max_decoding_length=settings.max_length,
            length_penalty=settings.length_penalty,
            return_end_token=True,
            return_scores=True,
        )
        to_ids: Any = self.tokenizer.convert_tokens_to_ids
        return [
            [
                Hypothesis(to_ids(tokens), None if is_sampled else score * len(tokens) ** settings.length_penalty)
                for tokens, score in zip(result.hypotheses, result.scores)
            ]
            for result in results
        ]

    def _seeded_translator(self, settings: DecodingSettings, sources: Sequence[Tokens]) -> Any:
        """Return a translator whose random numbers depend on the seed and the sources only.

        CTranslate2 seeds a thread when it first draws, and never again: hence new threads. One worker reads the batches
        in order.
        """
        import ctranslate2

        ctranslate2.set_random_seed(derive_seed(settings.seed, sources) % 2**32)
        return self.make_translator(max_workers=1)

    def log_probs(self, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[float]:
        rows = [(self._token_names(source), self._token_names(target[:-1])) for source, target in zip(sources, targets)]
        groups: dict[tuple[int, int] | None, list[int]] = defaultdict(list)
        for k, (source, target) in enumerate(rows):
            groups[(len(source), len(target)) if self.fixed_widths else None].append(k)
        batches = [(group, [[rows[k][side] for k in group] for side in range(2)]) for group in groups.values()]
        return [float(sum(result.log_probs)) for result in self._run(self.translator.get().score_batch, batches)]

    def _batches(self, names: Sequence[list[str]]) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Yield the indices of the sources of each batch, and its rows: the sources, and a filler if one is needed."""
        if not self.fixed_widths:
            yield list(range(len(names))), list(names)
            return
        for group, filler_width in group_by_width(list(map(len, names))):
            rows = [names[k] for k in group]
            if filler_width is not None:
                rows.append([self.filler] * (filler_width - 1) + [self.end_name])
            yield group, rows

    def _run(
        self, work: Callable[..., Any], batches: Iterable[tuple[list[int], list[Any]]], **options: Any
    ) -> list[Any]:
        """Return the result of `work` for every row, in order; batches are computed side by side."""
        waiting = [
            (group, work(*rows, asynchronous=True, max_input_length=0, max_batch_size=BATCH, **options))
            for group, rows in batches
        ]
        results = {k: each.result() for group, pending in waiting for k, each in zip(group, pending)}
        return [results[k] for k in range(len(results))]

    def _token_names(self, tokens: Tokens) -> list[str]:
        return list(self.tokenizer.convert_ids_to_tokens(tokens))


def group_by_width(lengths: Sequence[int]) -> Iterator[tuple[list[int], int | None]]:
    """Group items whose lengths round up to the same multiple of WIDTH_STEP, the longest first.

    A group leaves room for a filler row in its batch. The second value is the filler's length, or None where an item
    has the full width already.
    """
    widths: dict[int, list[int]] = defaultdict(list)
    for k, length in enumerate(lengths):
        widths[-(-length // WIDTH_STEP) * WIDTH_STEP].append(k)
    for width, items in sorted(widths.items(), reverse=True):
        for start in range(0, len(items), BATCH - 1):
            group = items[start : start + BATCH - 1]
            yield group, None if max(lengths[k] for k in group) == width else width
