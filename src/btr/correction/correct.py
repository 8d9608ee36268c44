"""`btr correct`: text in, better text out, and everything that was not corrected as it was."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from btr.corpus.files import PathLike, check_text, file_signature, read_lines, writing
from btr.correction import DEFAULT_MODEL, DEFAULT_PROFILE
from btr.correction.blocks import BATCH_CHARACTERS, Block, batch_blocks, read_blocks
from btr.correction.records import NOT_ENGLISH, TOO_LONG, CorrectedBlock, CorrectedSentence, Correction
from btr.correction.render import FORMS, FORMS_WITH_PROBABILITIES, Renderer
from btr.decisions import Verdict
from btr.errors import InputError, needs_models
from btr.records import Record
from btr.resume import Share, check_output, write_windows

if TYPE_CHECKING:
    from btr.correction.corrector import Corrector

MARKDOWN = ".md", ".markdown"
RECORDS = ".records"  # suffix of the file that holds what is known of the sentences until all are corrected
WINDOW = 128  # tokenised sentences that are corrected together
JUDGED_WINDOW = 512  # the same where a judge decides: enough to align their edits on eight cores
JUDGED_CHARACTERS = 48_000  # of a text, for the same reason; only if it goes to a file, since nobody waits for it


@dataclass
class CorrectionCounts(Record):
    """What was done, in numbers of sentences and edits, and the signature of it all."""

    sentences: int = 0
    changed: int = 0
    edits: int = 0
    reranked: int = 0  # sentences whose base candidate was replaced
    too_long: int = 0  # skipped
    not_english: int = 0  # skipped
    signature: str = ""
    note: str | None = None

    def add(self, sentence: CorrectedSentence) -> None:
        """Count a sentence."""
        self.sentences += 1
        self.changed += bool(sentence.edits)
        self.edits += len(sentence.edits)
        self.reranked += sentence.verdict is Verdict.ACCEPT
        self.too_long += sentence.skipped == TOO_LONG
        self.not_english += sentence.skipped == NOT_ENGLISH


def correct(
    text: str,
    *,
    markdown: bool = False,
    model: str = DEFAULT_MODEL,
    reranker: str | Sequence[str] | None = None,
    profile: str = DEFAULT_PROFILE,
    candidates: int | None = None,
    top: int | None = None,
    threshold: float | None = None,
    at_least: bool | None = None,
    gap: float | None = None,
    drop_runaways: bool | None = None,
    average: str | None = None,
    weights: Mapping[str, float] | None = None,
    judge: PathLike | None = None,
    cutoff: float | None = None,
    base_edits_only: bool | None = None,
    spelling: bool | None = None,
    dictionary: PathLike | None = None,
    words: Sequence[str] = (),
    device: str | None = None,
) -> Correction:
    """Correct a text. The models stay loaded, so that further calls are fast.

    Rerankers, the judge and settings that are not given are the profile's. No edit changes `words`, nor those of the
    file `dictionary`.
    """
    check_text(text)  # before any model is loaded
    corrector = import_corrector().from_pretrained(
        model, reranker, profile=profile, candidates=candidates, top=top, threshold=threshold, at_least=at_least,
        gap=gap, drop_runaways=drop_runaways, average=average, weights=weights, judge=judge, cutoff=cutoff,
        base_edits_only=base_edits_only, spelling=spelling, dictionary=dictionary, device=device,
    )  # fmt: skip
    return corrector.correct(text, markdown=markdown, words=words)


def correct_file(
    path: PathLike,
    output: PathLike,
    corrector: "Corrector | Callable[[], Corrector]",
    *,
    form: str = "text",
    markdown: bool | None = None,
    tokenized: bool = False,
    colour: bool = False,
) -> CorrectionCounts:
    """Correct a file in bounded memory. The same call after an interruption continues.

    A function in place of the corrector loads it once the files are known to be right. The form is text, diff, json,
    m2 or alternatives. A file whose name ends in .md is Markdown unless said otherwise. With `tokenized`, input and
    output have one tokenised sentence per line, as benchmark files do.
    """
    if form not in FORMS:
        raise InputError(f"form must be one of {', '.join(FORMS)}, not {form!r}.")
    if tokenized and (form != "text" or markdown):
        raise InputError("tokenised sentences are corrected as plain text: no other form, no Markdown.")
    check_output(output, [path])
    name = "-" if os.fspath(path) == "-" else file_signature(path, "text")  # one clear error if it can't be read
    if callable(corrector):
        corrector = corrector()
    counts = CorrectionCounts(signature=corrector.signature, note=corrector.note)
    if tokenized:
        correct_tokenized(corrector, path, output, name, counts)
        return counts
    if markdown is None:
        markdown = Path(path).suffix.lower() in MARKDOWN
    correct_blocks(corrector, path, output, name, markdown, form, colour, counts)
    return counts


def correct_blocks(
    corrector: "Corrector",
    path: PathLike,
    output: PathLike,
    name: str,
    markdown: bool,
    form: str,
    colour: bool,
    counts: CorrectionCounts,
) -> None:
    """Correct a text block by block, and write it in a form."""
    probabilities = form in FORMS_WITH_PROBABILITIES
    candidate_edits = form == "alternatives" and corrector.judge is None  # to show candidates in the user's own words
    is_streamed = name == "-" or os.fspath(output) == "-"  # nothing that could be resumed
    characters = BATCH_CHARACTERS if corrector.judge is None or is_streamed else JUDGED_CHARACTERS
    batches = batch_blocks(read_blocks(path, markdown), characters)

    def run(batch: Sequence[Block]) -> list[CorrectedBlock]:
        blocks = corrector.correct_blocks(batch, probabilities=probabilities, candidate_edits=candidate_edits)
        return list(blocks)

    if is_streamed:
        render(map(run, batches), output, form, colour, counts)
        return

    def work(window: Sequence[list[Block]]) -> Iterator[str]:
        for batch in window:
            yield json.dumps([block.to_dict() for block in run(batch)], ensure_ascii=False)

    header = {"signature": corrector.signature, "text": name, "markdown": markdown, "probabilities": probabilities}
    if corrector.judge is not None:
        header["characters"] = characters  # batches of another size can't be continued
    if candidate_edits:
        header["candidate_edits"] = True
    records = Path(os.fspath(output) + RECORDS)
    is_complete = records.exists() and next(read_lines(records), "") == json.dumps(header)  # stopped while rendering
    Share.current().wait()
    if not is_complete:
        write_windows(batches, work, records, header, 1, "Correcting")
    if not Share.current().rank:
        lines = islice(read_lines(records), 1, None)
        render((map(CorrectedBlock.from_dict, json.loads(line)) for line in lines), output, form, colour, counts)
        records.unlink()


def correct_tokenized(
    corrector: "Corrector", path: PathLike, output: PathLike, name: str, counts: CorrectionCounts
) -> None:
    """Correct tokenised sentences, one per line."""

    def count(source: str, text: str) -> None:
        counts.sentences += 1
        counts.changed += source.split() != text.split()

    def work(window: Sequence[str]) -> Iterator[str]:
        for source, text in zip(window, corrector.correct_sentences(window)):
            count(source, text)
            yield text

    header = {"signature": corrector.signature, "text": name}
    rows = read_lines(path)
    size = WINDOW if corrector.judge is None else JUDGED_WINDOW
    write_windows(rows, work, output, header, size, "Correcting", keep_header=False, resumable=name != "-")
    if name != "-" and os.fspath(output) != "-" and not Share.current().rank:
        counts.sentences = counts.changed = 0  # what earlier runs and other processes wrote counts too
        for source, text in zip(read_lines(path), read_lines(output)):
            count(source, text)


def import_corrector() -> "type[Corrector]":
    """Return the class, or say what to install."""
    try:
        from btr.correction.corrector import Corrector
    except ModuleNotFoundError as error:
        raise needs_models("correcting", error) from None
    return Corrector


def render(
    batches: Iterable[Iterable[CorrectedBlock]], output: PathLike, form: str, colour: bool, counts: CorrectionCounts
) -> None:
    """Write corrected blocks in a form, and count their sentences."""
    renderer = Renderer(form, colour)
    with writing(output) as file:
        for batch in batches:
            for block in batch:
                for sentence in block.sentences:
                    counts.add(sentence)
                file.write(renderer.write(block))
            file.flush()
