"""The values of a column as texts, in the form that content hashes are made of; see `docs/format.md`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_EXACT = 2**53
_NAN = np.uint64(0x7FF8_0000_0000_0000)
_NANOSECONDS_A_MICROSECOND = 1000
# The two hexadecimal digits of every byte, as one number of 16 bits.
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)


def value_texts(column: pa.Array) -> tuple[pa.Array, bool]:
    """The texts of a flat column, and whether their length has to be told: of texts and bytes it has."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return value_texts(column.dictionary_decode())
    if is_text(kind) or is_bytes(kind):
        return column, True
    for is_kind, texts in _TEXTS:
        if is_kind(kind):
            return texts(column), False
    return column.cast(pa.string()), False


def nested_texts(column: pa.Array) -> list[str | None]:
    """The canonical JSON of every value of a nested column."""
    return [
        None
        if plain is None
        else json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        for plain in plain_values(column, _CANONICAL)
    ]


def is_text(kind: pa.DataType) -> bool:
    return is_any(kind, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def is_bytes(kind: pa.DataType) -> bool:
    return is_any(
        kind,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    )


def is_any(kind: pa.DataType, *questions: Callable[[pa.DataType], bool]) -> bool:
    return any(question(kind) for question in questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the parts of nested values become what JSON is made of."""

    leaves: Callable[[pa.Array], list[Any]]
    struct: Callable[[list[tuple[str, Any]]], Any]
    map: Callable[[list[tuple[Any, Any]]], Any]


def plain_values(column: pa.Array, form: Form) -> list[Any]:
    """The values of a column, of whatever type, in a form for JSON."""
    kind = column.type
    if pa.types.is_struct(kind):
        names = [field.name for field in kind.fields]
        rows = zip(*(plain_values(column.field(number), form) for number in range(len(names))), strict=True)
        return [
            form.struct(list(zip(names, row, strict=True))) if ok else None
            for row, ok in zip(rows, column.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_map(kind):
        keys, values = (plain_values(_held(column, part), form) for part in (column.keys, column.items))
        pairs = _cut(list(zip(keys, values, strict=True)), column)
        return [None if each is None else form.map(each) for each in pairs]
    if pa.types.is_nested(kind):
        lists = column if pa.types.is_list(kind) else column.cast(pa.list_(kind.value_field))
        return _cut(plain_values(_held(lists, lists.values), form), lists)
    return form.leaves(column)


def _canonical_leaves(column: pa.Array) -> list[Any]:
    if is_bytes(column.type):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    texts: list[Any] = value_texts(column)[0].to_pylist()
    return texts


_CANONICAL = Form(
    leaves=_canonical_leaves,
    struct=lambda fields: {name: value for name, value in fields if value is not None},
    map=lambda pairs: sorted(map(list, pairs), key=lambda pair: _key_order(pair[0])),
)


def _held(column: pa.Array, values: pa.Array) -> pa.Array:
    """Those of the values that the lists of a column hold: it may be a slice of one with more.

    Arrow's own `flatten` gives columns of nulls in nested values the wrong length, and then aborts.
    """
    first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
    return values.slice(first, last - first)


def _cut(values: list[Any], column: pa.Array) -> list[list[Any] | None]:
    """The values of all lists of a column, list by list."""
    offsets = (column.offsets.to_numpy() - column.offsets[0].as_py()).tolist()
    return [
        values[start:end] if ok else None
        for (start, end), ok in zip(pairwise(offsets), column.is_valid().to_pylist(), strict=True)
    ]


def _key_order(key: Any) -> str:
    return json.dumps(key, sort_keys=True, ensure_ascii=False)


def _float_texts(column: pa.Array) -> pa.Array:
    """Whole numbers as such, others as the 16 hexadecimal digits of their IEEE 754 form."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    is_whole = (np.floor(values) == values) & (np.abs(values) < _EXACT)
    if is_whole.all():
        texts = pa.array(values.astype(np.int64)).cast(pa.string())
    elif not is_whole.any():
        texts = _hex_texts(values)
    else:
        whole = pa.array(np.where(is_whole, values, 0).astype(np.int64)).cast(pa.string())
        texts = pc.if_else(pa.array(is_whole), whole, _hex_texts(values))
    return pc.if_else(column.is_valid(), texts, None) if column.null_count else texts


def _hex_texts(values: np.ndarray[Any, np.dtype[np.float64]]) -> pa.Array:
    bits = np.where(np.isnan(values), _NAN, values.view(np.uint64)).astype(">u8")
    digits = _HEX[bits.view(np.uint8)]
    offsets = np.arange(0, 16 * (len(values) + 1), 16, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(digits)]
    )


def _decimal_texts(column: pa.Array) -> pa.Array:
    """Plain decimals without zeros at their end."""
    texts = column.cast(pa.string())
    if pc.any(pc.match_substring(texts, "E")).as_py():  # Arrow writes very small ones as 1E-8
        plain = [None if value is None else f"{value:f}" for value in column.to_pylist()]
        texts = pa.array(plain, pa.string())
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".") if column.type.scale > 0 else texts


def _moment_texts(column: pa.Array) -> pa.Array:
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).cast(pa.string())


def _duration_texts(column: pa.Array) -> pa.Array:
    return column.cast(pa.duration("us")).cast(pa.int64()).cast(pa.string())


def _time_texts(column: pa.Array) -> pa.Array:
    return pc.divide(column.cast(pa.time64("ns")).cast(pa.int64()), _NANOSECONDS_A_MICROSECOND).cast(
        pa.string()
    )


def _day_texts(column: pa.Array) -> pa.Array:
    return column.cast(pa.date32()).cast(pa.int32()).cast(pa.string())


_TEXTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_floating, _float_texts),
    (pa.types.is_decimal, _decimal_texts),
    (pa.types.is_timestamp, _moment_texts),
    (pa.types.is_date, _day_texts),
    (pa.types.is_duration, _duration_texts),
    (pa.types.is_time, _time_texts),
)
