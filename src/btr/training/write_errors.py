"""`btr write-errors`: pairs for training, made of clean text by a model that has learnt to write errors.

Such a model is trained on reversed pairs (`data.reverse: true` in a recipe). Its errors are sampled, so that they are
as varied as those of learners, and pairs that no learner would have written are left out.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from btr.candidates.decoding import DecodingSettings
from btr.candidates.engine import Engine
from btr.candidates.generate import WINDOW, check_engine, decode_hypotheses, generate_hypotheses, load_engine
from btr.corpus.candidates import Candidates
from btr.corpus.files import PathLike, Paths, as_paths, file_signature, read_lines, writing
from btr.errors import InputError
from btr.models.device import choose_device
from btr.records import Record
from btr.rerankers import load_reranker, parse_name
from btr.rerankers.base import Reranker
from btr.resume import Share, check_output, explaining_interruption, write_windows
from btr.training.synthetic import sentences as split_sentences

KEPT = "kept"
DROPPED = {  # reasons, as people read them
    "unreadable": "sentences have characters that the model can't write, or are too long for it",
    "unfinished": "sources have no end",
    "unchanged": "sources are equal to their targets",
    "length": "sources are far longer or shorter than their targets",
    "changed": "sources have too many changed words",
    "improbable": "sources are too improbable for the language model",
}


@dataclass(frozen=True, slots=True)
class PairLimits:
    """What a pair must be like to be kept."""

    max_length_ratio: float = 1.5  # words of the longer text over those of the shorter
    max_changed: float = 0.4  # changed words, as a share of the target's
    max_log_ratio: float = 1.5  # nats per word by which the source is less probable than the target

    def __post_init__(self) -> None:
        if self.max_length_ratio < 1 or not 0 < self.max_changed <= 1 or self.max_log_ratio <= 0:
            raise InputError(
                "max_length_ratio must be at least 1, max_changed above 0 and at most 1, and max_log_ratio above 0."
            )

    def verdict(self, source: str, target: str) -> str:
        """Return KEPT, or the reason for which a pair is dropped."""
        words, clean = source.split(), target.split()
        if words == clean:
            return "unchanged"
        if not words or max(len(words), len(clean)) > self.max_length_ratio * min(len(words), len(clean)):
            return "length"
        return "changed" if count_changed(words, clean) > self.max_changed * len(clean) else KEPT


@dataclass(frozen=True, slots=True)
class WrittenErrors(Record):
    """How many sentences were read, how many pairs were kept and dropped by reason, and what they depend on."""

    sentences: int
    pairs: int
    dropped: Mapping[str, int]
    signature: str


def write_errors(
    text: Paths,
    model: str,
    output: PathLike,
    *,
    sentences: int | None = None,
    skip_sentences: int = 0,
    top_p: float = 0.95,
    seed: int = 0,
    language_model: str | None = None,
    max_length_ratio: float = 1.5,
    max_changed: float = 0.4,
    max_log_ratio: float = 1.5,
    engine: str = "transformers",
    dtype: str = "float32",
    device: str | None = None,
) -> WrittenErrors:
    """Write pairs of a source with errors and its clean target, as two columns, from paragraphs of clean text.

    Errors are drawn by nucleus sampling. `sentences` is how many are read, after the first `skip_sentences`. With a
    `language_model` (lm:MODEL), pairs whose source it finds too improbable are dropped. After an interruption the same
    call continues where it stopped; with the same seed it writes the same pairs.
    """
    paths = as_paths(text)
    limits = PairLimits(max_length_ratio, max_changed, max_log_ratio)
    settings = DecodingSettings(method="nucleus", size=1, top_p=top_p, seed=seed)
    check_engine(engine, settings)
    check_output(output, paths)
    names = [file_signature(path, "clean text") for path in paths]
    judge = load_language_model(language_model, device) if language_model else None
    writer = load_engine(model, engine, dtype=dtype, device=device)
    signature = "|".join([writer.signature, writer.decoding_signature(settings), *([judge.signature] if judge else [])])
    header = {"signature": signature, "text": names, "sentences": sentences, "skip": skip_sentences, **asdict(limits)}
    drafts, share = Path(f"{os.fspath(output)}.drafts"), Share.current()
    if not is_written(drafts, header):
        clean = split_sentences(line for path in paths for line in read_lines(path))
        chosen = islice(clean, skip_sentences, None if sentences is None else skip_sentences + sentences)

        def work(window: Sequence[str]) -> Iterable[str]:
            return draft_pairs(writer, judge, window, settings, limits)

        write_windows(chosen, work, drafts, header, WINDOW, "Writing errors")
    counts: Counter[str] = Counter()
    if not share.rank:
        with explaining_interruption(drafts):
            write_kept(drafts, output, counts)
    share.wait()
    kept = counts.pop(KEPT, 0)
    return WrittenErrors(kept + counts.total(), kept, dict(sorted(counts.items())), signature)


def load_language_model(name: str, device: str | None) -> Reranker:
    """Load a language model by its reranker's name; on a CPU it computes in int8."""
    if parse_name(name)[0].kind != "lm":
        raise InputError(f"{name}: is no language model; name one as lm:MODEL.")
    return load_reranker(name, device=device, int8=choose_device(device).type == "cpu")


def is_written(drafts: Path, header: Mapping[str, object]) -> bool:
    """Return whether a run that was interrupted at its very end has written all drafts."""
    return drafts.is_file() and next(read_lines(drafts), "") == json.dumps(header)


def draft_pairs(
    engine: Engine, judge: Reranker | None, clean: Sequence[str], settings: DecodingSettings, limits: PairLimits
) -> Iterator[str]:
    """Give a line per clean sentence: why it is dropped or that it is kept, the source with errors, and the target."""
    encoded = engine.encode(clean)
    longest = min(settings.max_length, engine.limit or settings.max_length)
    readable = {
        k: tokens
        for k, (tokens, same) in enumerate(zip(encoded, engine.decode(encoded)))
        if len(tokens) <= longest and same.split() == clean[k].split()
    }
    hypotheses = generate_hypotheses(engine, readable, settings)
    pairs: dict[int, tuple[str, str]] = {}  # the verdict and the source
    for k, (hypothesis,) in hypotheses.items():
        (source,) = decode_hypotheses(engine, [hypothesis])
        pairs[k] = (
            limits.verdict(source, clean[k]) if engine.is_complete(hypothesis.tokens) else "unfinished",
            source.replace("\t", " "),
        )
    if judge is not None:
        kept = [k for k, (verdict, _) in sorted(pairs.items()) if verdict == KEPT]
        rows = [Candidates(clean[k], (clean[k], pairs[k][1])) for k in kept]
        for k, row, (right, wrong) in zip(kept, rows, judge.checked_scores(rows)):
            bound = limits.max_log_ratio * len(row.texts[1].split())
            if right is None or wrong is None or right - wrong > bound:
                pairs[k] = "improbable", pairs[k][1]
    for k, target in enumerate(clean):
        yield "\t".join((*pairs.get(k, ("unreadable", "")), target))


def count_changed(words: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words differ: of each stretch that differs, the words of its longer side."""
    operations = SequenceMatcher(None, words, others, False).get_opcodes()
    return sum(max(end - start, to - since) for name, start, end, since, to in operations if name != "equal")


def write_kept(drafts: Path, output: PathLike, counts: Counter[str]) -> None:
    """Write the pairs that are kept, count the others by reason, and remove the drafts."""
    with writing(output) as file:
        for line in islice(read_lines(drafts), 1, None):
            verdict, _, pair = line.partition("\t")
            counts[verdict] += 1
            if verdict == KEPT:
                file.write(f"{pair}\n")
        if not counts:
            drafts.unlink()
            raise InputError(f"{output}: the text has no sentence to write errors in; it needs whole sentences.")
    drafts.unlink()
