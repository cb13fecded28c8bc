"""Rows as JSON for people: what quarantine keeps, and what becomes of nested values in a column of text."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa

from hakiri.store.texts import Form, is_any, is_bytes, plain_values

# How many digits tell the floats of 32 bits apart: six never say too much, nine always say enough.
FLOAT_DIGITS = range(6, 10)
_ESCAPE = re.compile(r"\\(?:u(?P<digits>[0-9a-f]{4})|.)")


def json_texts(column: pa.Array) -> list[str | None]:
    """The JSON of every value of a column; of NULL it is NULL.

    Whole numbers and floats stay numbers, with the digits they have as texts; durations are microseconds.
    Moments, days, times and decimals are texts with all their digits, bytes are hexadecimal, and what is no
    number in JSON (NaN, Infinity) is a text as well. Views make the same of older files: see `duck_sql` and
    `spark_columns`.
    """
    return [None if value is None else json_text(value) for value in plain_values(column, _READABLE)]


def plain_texts(column: pa.Array) -> pa.Array:
    """The texts of values that are not nested, as DuckDB writes most of them."""
    if pa.types.is_floating(column.type):
        texts = [None if value is None else str(value) for value in _floats(column)]
        return pa.array(texts, pa.string())
    if pa.types.is_decimal(column.type):  # of which Arrow writes small ones as 1E-8
        plain = [None if value is None else f"{value:f}" for value in column.to_pylist()]
        return pa.array(plain, pa.string())
    return column.cast(pa.string())


def is_text_in_json(kind: pa.DataType) -> bool:
    """Whether values of a flat type are no numbers, flags or texts as JSON has them."""
    return is_any(kind, pa.types.is_decimal, pa.types.is_timestamp, pa.types.is_date, pa.types.is_time)


def json_text(value: Any) -> str:
    """A value of Python as JSON, with escapes as DuckDB and Spark write them."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPE.sub(_in_capitals, text) if "\\u" in text else text


def _in_capitals(escape: re.Match[str]) -> str:
    return f"\\u{digits.upper()}" if (digits := escape["digits"]) else escape[0]


def _floats(column: pa.Array) -> list[float | None]:
    """Numbers that Python writes with the digits that the texts of these have."""
    values: list[float | None] = column.cast(pa.float64()).to_pylist()
    if pa.types.is_float64(column.type):
        return values
    return [None if value is None else _short(value) for value in values]


def _short(single: float) -> float:
    """Of a float of 32 bits the number with the fewest digits, six at least, that reads back as the same.

    Not what DuckDB writes of a float: where two numbers are as near it takes more digits than there are need.
    """
    if not math.isfinite(single):
        return single
    texts = (f"{single:.{count}g}" for count in FLOAT_DIGITS)
    return next(short for text in texts if np.float32(short := float(text)) == single)


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
        floats = _floats(column)
        return [value if value is None or math.isfinite(value) else str(value) for value in floats]
    return values


_READABLE = Form(
    leaves=_leaves,
    struct=dict,
    map=lambda pairs: {key if isinstance(key, str) else json_text(key): value for key, value in pairs},
)
