"""Objects with models in other processes: how they were loaded is sent, and each process loads them again."""

from collections.abc import Callable
from typing import Any, Self

from btr.errors import InputError


class ByReference:
    """Something with models, which pickle sends as the call that loaded it.

    The copy must have the same signature, so that a process with another model of the same name, or without one, stops
    instead of giving other results.
    """

    signature: Any  # what the results depend on
    loaded_by: Callable[[], Any] | None = None  # the call that loads it again; None if it was not loaded by name

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.loaded_by is None:
            return super().__reduce_ex__(protocol)
        return load_again, (self.loaded_by, self.signature)

    def __copy__(self) -> Self:
        """Return a copy in this process, which shares the models. Its settings may be changed, so it has no name."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__, loaded_by=None)
        return copied


def load_again(load: Callable[[], Any], signature: str) -> Any:
    """Load what another process sent; refuse it if its results would differ from those of the other process."""
    loaded = load()
    if loaded.signature != signature:
        here, there = (signature.split("|") for signature in (loaded.signature, signature))
        raise InputError(
            f"another process sent {describe_difference(there, here)}, but this one has "
            f"{describe_difference(here, there)}; give all machines the same models and versions."
        )
    return loaded


def describe_difference(parts: list[str], others: list[str]) -> str:
    """Return the parts of a signature that another one does not have."""
    return "|".join(part for part in parts if part not in others) or "nothing else"
