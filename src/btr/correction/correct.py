"""`btr correct`: text in, better text out, and everything that was not corrected as it was."""

import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from btr.corpus.files import PathLike, check_text, file_signature, read_lines, writing
from btr.correction.blocks import Block, cut_blocks, read_blocks
from btr.correction.render import FORMS, Renderer, write_text
from btr.errors import InputError, needs_models
from btr.resume import Share, check_output, write_windows

CHUNK = 6_000  # characters whose sentences are batched together
MARKDOWN = ".md", ".markdown"
RECORDS = ".records"  # what is known of a file's sentences, until all of them are corrected


@dataclass(frozen=True)
class Corrected:
    """A text after correction, and what is known of each of its sentences (as in `btr correct --json`)."""

    text: str
    sentences: list[dict[str, Any]] = field(repr=False)
    signature: str = ""


def correct(text: str, *, markdown: bool = False, **options: Any) -> Corrected:
    """Correct a text. Options: model, reranker, profile, threshold, candidates, top, device."""
    check_text(text)  # before any model is loaded
    return correct_with(load_corrector(options), text, markdown=markdown)


def correct_with(corrector: Any, text: str, *, markdown: bool = False) -> Corrected:
    """Correct a text with models that are there."""
    records = [
        record
        for chunk in chunks(cut_blocks(io.StringIO(check_text(text), newline="\n"), markdown))
        for record in corrector.correct_blocks(chunk)
    ]
    sentences = [sentence for record in records for sentence in record["sentences"]]
    return Corrected("".join(map(write_text, records)), sentences, corrector.signature)


def correct_file(
    path: PathLike,
    output: PathLike = "-",
    *,
    form: str = "text",
    markdown: bool | None = None,
    colour: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Correct a file in bounded memory; gives what was done, in numbers. The same call after a stop goes on.

    The form is text, diff, json, m2 or alternatives. A file whose name ends in .md is Markdown unless said otherwise.
    """
    if form not in FORMS:
        raise InputError(f"form must be one of {', '.join(FORMS)}, not {form!r}.")
    check_output(output, [path])
    if markdown is None:
        markdown = Path(path).suffix.lower() in MARKDOWN
    is_stream = os.fspath(path) == "-"
    name = "-" if is_stream else file_signature(path, "text")  # says in one sentence if the file can't be read
    corrector = load_corrector(options)
    told: Counter[str] = Counter()

    def work(window: Sequence[list[Block]]) -> Iterator[str]:
        for chunk in window:
            yield json.dumps(list(corrector.correct_blocks(chunk)), ensure_ascii=False)

    items = chunks(read_blocks(path, markdown))
    if is_stream or os.fspath(output) == "-":  # nothing to go on with later
        lines: Iterable[str] = (line for chunk in items for line in work([chunk]))
        render(lines, output, form, colour, told)
    else:
        header = {"signature": corrector.signature, "text": name, "markdown": markdown}
        records = Path(os.fspath(output) + RECORDS)
        is_complete = records.exists() and next(read_lines(records), "") == json.dumps(header)  # stopped after it
        Share.current().wait()
        if not is_complete:
            write_windows(items, work, records, header, 1, "Correcting")
        if not Share.current().rank:
            render(islice(read_lines(records), 1, None), output, form, colour, told)
            records.unlink()
    return {**told, "signature": corrector.signature}


def load_corrector(options: dict[str, Any]) -> Any:
    """A corrector, or what to install."""
    try:
        from btr.correction.corrector import Corrector
    except ImportError as error:
        raise needs_models("correcting", error) from None
    return Corrector.load(**options)


def chunks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks of a text, several at a time."""
    chunk: list[Block] = []
    size = 0
    for block in blocks:
        chunk.append(block)
        size += len(block.text)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def render(lines: Iterable[str], output: PathLike, form: str, colour: bool, told: Counter[str]) -> None:
    """Write what was found in the form asked for, and count."""
    renderer = Renderer(form, colour)
    with writing(output) as file:
        for line in lines:
            for record in json.loads(line):
                count(told, record["sentences"])
                file.write(renderer.write(record))
            file.flush()


def count(told: Counter[str], sentences: Iterable[dict[str, Any]]) -> None:
    """Add a block's sentences to the counts."""
    for sentence in sentences:
        told["sentences"] += 1
        told["changed"] += bool(sentence["edits"])
        told["edits"] += len(sentence["edits"])
        told["reranked"] += sentence.get("decision") == "accept"
        if "left" in sentence:
            told[sentence["left"]] += 1
