"""Watching a run: a log of JSON lines, a bar on a terminal, and TensorBoard."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from btr.corpus.files import write_lines

SCALARS = "loss", "gradient_norm", "learning_rate", "tokens_per_second"


class Watch:
    """Tells of a run as it goes. Only the first process speaks."""

    def __init__(self, run: Path, progress: Any, steps: int, accelerator: Accelerator) -> None:
        self.speaks = accelerator.is_main_process
        self.accelerator, self.steps = accelerator, steps
        self.step, self.validated = progress.step, progress.validated
        self.path = run / "log.jsonl"
        self._stack = ExitStack()

    def __enter__(self) -> "Watch":
        if self.speaks:
            drop_later(self.path, self.step, self.validated)
            self._file = self._stack.enter_context(open(self.path, "a", encoding="utf-8"))
            if sys.stderr.isatty():
                columns = TextColumn("{task.fields[told]}"), BarColumn(), TimeRemainingColumn()
                self._bar = self._stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
                self._line = self._bar.add_task("", total=self.steps, completed=self.step, told="starting")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def tell(self, record: dict[str, Any]) -> None:
        """Write down an update or a validation."""
        self.accelerator.log({name: record[name] for name in SCALARS if name in record}, step=record["step"])
        if "validation" in record:
            self.accelerator.log({"validation": record["validation"]["value"]}, step=record["step"])
        if not self.speaks:
            return
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        if hasattr(self, "_bar") and "loss" in record:
            told = f"epoch {record['epoch']:.2f} loss {record['loss']:.3f} {record['tokens_per_second']:,.0f} tokens/s"
            self._bar.update(self._line, completed=record["step"], told=told)


def drop_later(path: Path, step: int, validated: int) -> None:
    """Take out of a log what a run will do again that was resumed at an earlier step."""
    if path.exists():
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # cut in the middle
                continue
            last = validated if "validation" in record else step
            if record["step"] <= last:
                kept.append(line)
        write_lines(path, kept)
