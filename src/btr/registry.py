"""Registries: what can be chosen by name, from this package and from others that are installed.

A distribution adds an entry without any change here, by an entry point in its `pyproject.toml`:

    [project.entry-points."btr.metrics"]
    wordrate = "my_package.wordrate:WordRate"
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from btr.errors import InputError
from btr.wording import did_you_mean

T = TypeVar("T")


def unknown_name(what: str, name: str, known: Sequence[str]) -> InputError:
    """Return the error for a name that is not known; `what` is what it should name."""
    return InputError(f"{what} must be one of {', '.join(known)}, not {name!r}{did_you_mean(name, known)}.")


class Registry(Generic[T]):
    """Entries by name; each is imported when it is first looked up.

    `group` is the group of entry points that extend the registry, such as `btr.metrics`. `builtin` gives the entries
    of this package, each as "module:attribute". An entry point cannot replace a built-in entry of the same name.
    """

    def __init__(self, group: str, builtin: Mapping[str, str]) -> None:
        self.group = group
        self.noun = group.removeprefix("btr.").removesuffix("s")  # what an entry is, for messages
        self._entries: dict[str, T | EntryPoint] = {
            name: EntryPoint(name, target, group) for name, target in builtin.items()
        }
        self._points: dict[str, EntryPoint] = {}  # those of other distributions
        self._has_entry_points = False

    def register(self, name: str, entry: T) -> None:
        """Add an entry for this process, or replace one."""
        self._entries[name] = entry

    def names(self) -> list[str]:
        """Return the names of all entries: this package's, then those of others."""
        if not self._has_entry_points:
            self._has_entry_points = True
            for point in entry_points(group=self.group):
                if point.name not in self._entries:
                    self._entries[point.name] = self._points[point.name] = point
        return list(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self.names()

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise unknown_name(self.noun, name, self.names())
        entry = self._entries[name]
        if isinstance(entry, EntryPoint):
            entry = self._entries[name] = self._load(entry)
        return entry

    def provider(self, name: str) -> str:
        """Return the distribution that an entry comes from, with its version; for this package's entries its name."""
        self.names()
        point = self._points.get(name)
        return f"{point.dist.name} {point.dist.version}" if point is not None and point.dist else "btr"

    def _load(self, point: EntryPoint) -> T:
        try:
            return cast(T, point.load())
        except (ImportError, AttributeError) as error:
            if point.dist is None:  # an entry of this package
                raise
            raise InputError(
                f"the {self.noun} {point.name!r} of {point.dist.name} cannot be imported ({error}); "
                f"mend or remove that package."
            ) from error
