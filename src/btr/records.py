"""Typed records as JSON has them, and back."""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Self


def to_json(value: object) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return fields_to_json(value) if is_dataclass(value) else value


def fields_to_json(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON has them, without those that are None."""
    pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: to_json(item) for name, item in pairs if item is not None}


class Record:
    """A dataclass that is written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON has it, without fields that are None."""
        return fields_to_json(self)

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """Return the record that `to_dict` wrote."""
        read: Self = validator(cls).validate_python(record)
        return read


@cache
def validator(cls: Hashable) -> Any:
    """Return pydantic's reader of a dataclass."""
    from pydantic import TypeAdapter

    return TypeAdapter(cls)
