"""The exceptions that end a verb early, each with one sentence for the user."""


class InputError(Exception):
    """The input is bad. The message is one sentence that names the file, the line and the way out."""


class FileError(InputError):
    """The system does not read or write a file: it is gone, the disk is full, a permission is missing.

    What is done stays, since the same command goes on once that is mended.
    """


class Interrupted(Exception):  # noqa: N818 (it is no error)
    """Ctrl-C interrupted work that can be continued. The message says how."""


def needs_models(what: str, error: ImportError) -> InputError:
    """Return the error for a missing library of the extra `models`."""
    return InputError(f"{what} needs what the extra 'models' installs: pip install 'btr-gec[models]' ({error}).")
