"""The one exception that a user can cause."""


class InputError(Exception):
    """Bad input: its message is one sentence that names the file, the line and the way out."""
