"""The forms in which a table keeps its values: the types that Spark has, each written in one way."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa
from pyarrow import types as kinds

MOST_DIGITS = 38
TEXT, BINARY, DOUBLE = pa.string(), pa.binary(), pa.float64()
WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
"""Whole numbers, the smallest first."""
ELEMENT = "element"

_PLAIN = frozenset({*WHOLE, pa.null(), pa.bool_(), pa.float32(), DOUBLE, TEXT, BINARY, pa.date32()})
_WITH_ROOM: Mapping[pa.DataType, pa.DataType] = MappingProxyType(
    {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.large_string(): TEXT,
        pa.string_view(): TEXT,
        pa.large_binary(): BINARY,
        pa.binary_view(): BINARY,
        pa.date64(): pa.date32(),
    }
)


class NoStoredType(ValueError):
    """Spark has no type that holds the values of this one."""


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The form in which a table keeps values of the type. Raises NoStoredType.

    What is only another layout of the same values is one type, moments are in microseconds and, if they have
    a zone, in UTC, unsigned numbers take the next signed type, and everything but the key of a map may be
    NULL. A struct without fields is `null`, which stays what it is: see `known_part`.
    """
    if kind in _PLAIN:
        return kind
    if isinstance(kind, pa.BaseExtensionType):
        return stored_type(kind.storage_type)
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    found = _nested(kind) if kinds.is_nested(kind) else _WITH_ROOM.get(kind) or _scalar(kind)
    if found is None:
        raise NoStoredType(type_text(kind))
    return found


def known_part(kind: pa.DataType) -> pa.DataType | None:
    """The stored type without the parts of which nothing but nulls was seen; None if nothing else was."""
    if kinds.is_struct(kind):
        parts = [(field.name, known_part(field.type)) for field in kind]
        known = [pa.field(name, part) for name, part in parts if part is not None]
        return pa.struct(known) if known else None
    if kinds.is_list(kind):
        element = known_part(kind.value_type)
        return None if element is None else list_of(element)
    if kinds.is_map(kind):
        key, value = known_part(kind.key_type), known_part(kind.item_type)
        return None if key is None or value is None else pa.map_(key, value)
    return None if kinds.is_null(kind) else kind


def list_of(element: pa.DataType) -> pa.DataType:
    """A list as Spark has it."""
    return pa.list_(pa.field(ELEMENT, element))


def decimal_of(digits: int, scale: int) -> pa.DataType | None:
    """A decimal with so many digits before and after the point; None if that is more than Spark has."""
    digits, scale = max(digits, 0), max(scale, 0)
    return pa.decimal128(digits + scale, scale) if 0 < digits + scale <= MOST_DIGITS else None


def type_text(kind: pa.DataType) -> str:
    """The type in Arrow's words, nested ones without the names of what has none."""
    if kinds.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {type_text(field.type)}' for field in kind)}>"
    if kinds.is_list(kind):
        return f"list<{type_text(kind.value_type)}>"
    if kinds.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if kinds.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return "date" if kinds.is_date(kind) else str(kind)


def _scalar(kind: pa.DataType) -> pa.DataType | None:
    found: pa.DataType | None = None
    if kinds.is_fixed_size_binary(kind):
        found = BINARY
    elif kinds.is_timestamp(kind):
        found = pa.timestamp("us", tz=None if kind.tz is None else "UTC")
    elif kinds.is_time(kind):
        found = pa.time64("us")
    elif kinds.is_duration(kind):
        found = pa.duration("us")
    elif kinds.is_decimal(kind):
        found = decimal_of(kind.precision - kind.scale, kind.scale)
    return found


def _nested(kind: pa.DataType) -> pa.DataType | None:
    if kinds.is_struct(kind):
        fields = [pa.field(field.name, stored_type(field.type)) for field in kind]
        return pa.struct(fields) if fields else pa.null()
    if kinds.is_map(kind):
        return pa.map_(stored_type(kind.key_type), stored_type(kind.item_type))
    return None if kinds.is_union(kind) else list_of(stored_type(kind.value_type))
