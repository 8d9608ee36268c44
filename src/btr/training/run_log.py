"""What a run reports while it works: a log of JSON lines, a bar on a terminal, and TensorBoard."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from btr.corpus.files import write_lines
from btr.training.records import LOG, Update, Validation

SCALARS = "loss", "gradient_norm", "learning_rate", "tokens_per_second"


class RunLog:
    """Writes updates and validations down. Only the first process writes the log and shows a bar."""

    def __init__(self, run: Path, accelerator: Accelerator, step: int, validated: int, steps: int) -> None:
        self.is_writer = accelerator.is_main_process
        self.accelerator, self.steps = accelerator, steps
        self.step, self.validated = step, validated
        self.path = run / LOG
        self._stack = ExitStack()
        self._bar: Progress | None = None

    def __enter__(self) -> "RunLog":
        if self.is_writer:
            drop_later(self.path, self.step, self.validated)
            self._file = self._stack.enter_context(open(self.path, "a", encoding="utf-8"))
            if sys.stderr.isatty():
                columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
                self._bar = self._stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
                self._line = self._bar.add_task("starting", total=self.steps, completed=self.step)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, record: Update | Validation) -> None:
        """Write down an update or a validation."""
        if isinstance(record, Update):
            self.accelerator.log({name: getattr(record, name) for name in SCALARS}, step=record.step)
        else:
            self.accelerator.log({"validation": record.measures.value}, step=record.step)
        if not self.is_writer:
            return
        self._file.write(json.dumps(record.to_dict()) + "\n")
        self._file.flush()
        if self._bar is not None and isinstance(record, Update):
            text = f"epoch {record.epoch:.2f} loss {record.loss:.3f} {record.tokens_per_second:,.0f} tokens/s"
            self._bar.update(self._line, completed=record.step, description=text)


def drop_later(path: Path, step: int, validated: int) -> None:
    """Remove from a log what a run that is resumed at an earlier step will do again."""
    if path.exists():
        lines = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # cut in the middle
                continue
            if record["step"] <= (validated if "validation" in record else step):
                lines.append(line)
        write_lines(path, lines)
