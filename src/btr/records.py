"""Typed records as JSON has them, and back."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")

_READERS: dict[type, Any] = {}  # pydantic's, by class


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number. Whole numbers that no float can hold are none."""
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and abs(cast(float, value)) <= sys.float_info.max  # false for NaN, too


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
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    return value


class Record:
    """A dataclass that is written as JSON without the fields that are None, which must have that as their default."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON has it, without fields that are None."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {name: to_json(value) for name, value in pairs if value is not None}

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """Return the record that `to_dict` wrote."""
        return from_json(cls, record)


def from_json(cls: type[T], record: object) -> T:
    """Return the dataclass that `to_json` wrote; pydantic checks the types."""
    if cls not in _READERS:
        from pydantic import TypeAdapter

        _READERS[cls] = TypeAdapter(cls)
    read: T = _READERS[cls].validate_python(record)
    return read
