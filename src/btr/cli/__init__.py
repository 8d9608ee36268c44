"""The command line: each verb is a function of the same name.

Results go to standard output (a table, or one JSON object with --json), everything else to standard error. Bad input
ends with one sentence and exit code 2.
"""

import io
import os
import signal
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from btr import __version__
from btr.cli import (  # noqa: F401  (commands, in the order of --help)
    candidates,
    combining,
    correction,
    evaluation,
    fitting,
    models,
    serving,
    studies,
    training_data,
)
from btr.cli.options import app
from btr.corpus.files import FULL
from btr.errors import InputError, Interrupted

INTERRUPTED = 128 + signal.SIGINT


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Grammatical error correction: rerank candidates, and score them exactly."""
    if version:
        print(f"btr {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run a verb, and turn what went wrong into one sentence and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that nothing is left half-written
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n")
    try:
        if app(standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
        sys.stdout.flush()  # here, where a closed pipe is expected
    except InputError as error:
        fail(str(error), 2)
    except TyperException as error:
        fail(f"{error.format_message().rstrip('.')}; see '{command_of(error)} --help'.", 2)
    except Interrupted as interruption:
        fail(str(interruption), INTERRUPTED)
    except KeyboardInterrupt:
        fail("interrupted.", INTERRUPTED)
    except BrokenPipeError:  # the reader of standard output has ended, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to write goes nowhere
        sys.exit(1)  # as typer does, if it notices first
    except OSError as error:
        name = error.filename or ("standard output" if error.errno in FULL else None)
        fail(f"{name}: {error.strerror or error}." if name else f"{error.strerror or error}.", 2)


def command_of(error: TyperException) -> str:
    """Return the command that was typed wrongly: `btr compare`, or `btr` if there is no such command."""
    context = getattr(error, "ctx", None)
    return f"btr {context.info_name}" if context and context.parent else "btr"


def open_closed_streams() -> None:
    """Let the standard streams that the caller has closed, as with `>&-`, be empty or lead nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def fail(message: str, code: int) -> None:
    """Say what is wrong, on standard error."""
    print(f"btr: {message}", file=sys.stderr)
    sys.exit(code)
