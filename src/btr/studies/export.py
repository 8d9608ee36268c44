"""`btr export`: outputs as those take them who score them."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from btr.corpus.files import PathLike, read_text, writing
from btr.errors import InputError

BEA_SENTENCES = 4477  # of the BEA-19 test set
EPOCH = 1980, 1, 1, 0, 0, 0  # the same output, the same archive


def export(hypotheses: Sequence[PathLike], output: PathLike, *, sentences: int = BEA_SENTENCES) -> dict[str, Any]:
    """Write the archive that the BEA-19 competition on CodaLab takes; gives its text file's name and length.

    It holds one text file with a corrected sentence a line, in the test set's order. Several files are put one after
    the other.
    """
    if Path(output).suffix != ".zip":
        raise InputError(f"{output}: the archive's name ends in .zip.")
    lines = [line for path in hypotheses for line in read_text(path)]
    if len(lines) != sentences:
        raise InputError(
            f"{' + '.join(map(str, hypotheses))}: has {len(lines):,} sentences, but the set has {sentences:,}; "
            "for another set than BEA-19's test, say its number with --sentences."
        )
    blank = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
    if blank:
        raise InputError(f"sentence {blank:,} of the output is empty; where nothing is corrected, give the source.")
    name = f"{Path(output).stem}.txt"
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with writing(output) as file:
        out: IO[bytes] = file.buffer  # type: ignore[attr-defined]
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(entry, "".join(f"{line}\n" for line in lines))
    return {"archive": str(output), "file": name, "sentences": len(lines)}
