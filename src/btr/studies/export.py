"""`btr export`: pack an output for a competition."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from btr.corpus.files import PathLike, Paths, as_paths, read_text, writing
from btr.errors import InputError
from btr.records import Record
from btr.resume import check_output
from btr.studies import BEA_SENTENCES
from btr.wording import count_of

EPOCH = 1980, 1, 1, 0, 0, 0  # a fixed date, so that the same output gives the same archive


@dataclass(frozen=True)
class Exported(Record):
    """The archive, the name of the text file in it, and how many sentences that has."""

    archive: str
    file: str
    sentences: int


def export(hypotheses: Paths, output: PathLike, *, sentences: int = BEA_SENTENCES) -> Exported:
    """Write the archive that the BEA-19 competition on CodaLab takes.

    It holds one text file with one corrected sentence per line, in the test set's order. Several files are joined.
    """
    if Path(output).suffix != ".zip":
        raise InputError(f"{output}: the archive's name must end in .zip.")
    paths = as_paths(hypotheses)
    check_output(output, paths)
    lines = [line for path in paths for line in read_text(path)]
    if len(lines) != sentences:
        raise InputError(
            f"{' + '.join(map(str, paths))}: has {count_of(len(lines), 'sentence')}, but the set has {sentences:,}; "
            "for another set than BEA-19's test set, give its number with --sentences."
        )
    blank = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
    if blank:
        raise InputError(f"sentence {blank:,} of the output is empty; where nothing is corrected, repeat the source.")
    name = f"{Path(output).stem}.txt"
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with writing(output) as file:
        binary: IO[bytes] = file.buffer  # type: ignore[attr-defined]
        with zipfile.ZipFile(binary, "w") as archive:
            archive.writestr(entry, "".join(f"{line}\n" for line in lines))
    return Exported(str(output), name, len(lines))
