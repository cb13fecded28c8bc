"""Rows as JSON for people: what quarantine keeps, and what becomes of nested values in a column of text."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa

from hakiri.store.texts import Form, is_any, is_bytes, plain_values


def json_texts(column: pa.Array) -> list[str | None]:
    """The JSON of every value of a column; of NULL it is NULL.

    Whole numbers and floats stay numbers, durations are microseconds. Moments, days, times and decimals are
    texts with all their digits, bytes are hexadecimal, and what is no number in JSON (NaN, Infinity) is a
    text as well.
    """
    return [None if value is None else _json(value) for value in plain_values(column, _READABLE)]


def plain_texts(column: pa.Array) -> pa.Array:
    """The texts of moments, days, times and decimals."""
    if pa.types.is_decimal(column.type):  # of which Arrow writes small ones as 1E-8
        plain = [None if value is None else f"{value:f}" for value in column.to_pylist()]
        return pa.array(plain, pa.string())
    return column.cast(pa.string())


def is_text_in_json(kind: pa.DataType) -> bool:
    """Whether values of a flat type are no numbers, flags or texts as JSON has them."""
    return is_any(kind, pa.types.is_decimal, pa.types.is_timestamp, pa.types.is_date, pa.types.is_time)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _leaves(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _leaves(column.dictionary_decode())
    if is_text_in_json(kind):
        column = plain_texts(column)
    elif pa.types.is_duration(kind):
        column = column.cast(pa.duration("us")).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if is_bytes(kind):
        return [None if value is None else value.hex() for value in values]
    if pa.types.is_floating(kind):
        return [value if value is None or math.isfinite(value) else str(value) for value in values]
    return values


_READABLE = Form(
    leaves=_leaves,
    struct=dict,
    map=lambda pairs: {key if isinstance(key, str) else _json(key): value for key, value in pairs},
)
