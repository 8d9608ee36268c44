"""What a run has written about itself: log.jsonl, a line an update or a validation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btr.corpus.files import PathLike, read_lines
from btr.corpus.parallel import parse_json
from btr.errors import InputError

SCORE = "f0.5"
LOG = "log.jsonl"  # of a run's folder


@dataclass(frozen=True)
class History:
    """A run's updates (step, loss, …) and validations (step, epoch, validation), in the order of steps."""

    updates: list[dict[str, Any]]
    validations: list[dict[str, Any]]

    @property
    def best(self) -> dict[str, Any] | None:
        """The validation with the highest F0.5, the first of equals."""
        return max(self.validations, key=lambda row: row["validation"][SCORE], default=None)


def read_history(run: PathLike) -> History:
    """Read a run's log. A run that was resumed may have steps twice, of which the later counts."""
    path = Path(run) / LOG
    if not path.is_file():
        raise InputError(f"{run}: has no {LOG}; name the folder that btr train wrote.")
    updates, validations = {}, {}
    lines = list(read_lines(path))
    for number, line in enumerate(lines, 1):
        if number == len(lines) and not line.endswith("}"):  # being written now, or cut when the run was killed
            break
        row = parse_json(line, path, number)
        if is_number(row.get("step")) and is_number(row.get("loss")):
            updates[row["step"]] = row
        validation = row.get("validation")
        if isinstance(validation, dict):
            if not all(map(is_number, (row.get("step"), row.get("epoch"), validation.get(SCORE)))):
                raise InputError(f"{path}, line {number}: a validation needs step, epoch and {SCORE}.")
            validations[row["step"]] = row
    if not updates and not validations:
        raise InputError(f"{path}: has no update yet; wait for the run's first.")
    return History([updates[step] for step in sorted(updates)], [validations[step] for step in sorted(validations)])


def is_number(value: object) -> bool:
    """Whether a value of a log can be drawn."""
    return isinstance(value, int | float)
