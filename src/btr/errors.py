"""What ends a verb early, each with one sentence for the user."""


class InputError(Exception):
    """Bad input: its message is one sentence that names the file, the line and the way out."""


class Interrupted(Exception):  # noqa: N818 (it is no error)
    """Ctrl-C in work that can go on later: its message says how."""
