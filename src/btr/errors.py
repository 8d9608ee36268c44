"""What ends a verb early, each with one sentence for the user."""


class InputError(Exception):
    """Bad input: its message is one sentence that names the file, the line and the way out."""


class Interrupted(Exception):  # noqa: N818 (it is no error)
    """Ctrl-C in work that can go on later: its message says how."""


def needs_models(what: str, error: ImportError) -> InputError:
    """What to say when something that the extra `models` installs is not there."""
    return InputError(f"{what} needs what the extra 'models' installs: pip install 'btr-gec[models]' ({error}).")
