"""Rows as JSON for people: what quarantine keeps, and what becomes of nested values in a column of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hakiri.store.texts import nested_texts


def json_texts(column: pa.Array) -> list[str | None]:
    """The JSON of every value of a column; of NULL it is NULL.

    Numbers stay numbers, moments and days are ISO 8601, decimals are texts with all their digits, bytes are
    hexadecimal, and what is no number in JSON (NaN, Infinity) is a text.
    """
    try:
        values = column.to_pylist()
    except (ValueError, OverflowError):  # a moment that Python has no date for
        return nested_texts(column)
    return [None if value is None else _json(value) for value in values]


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {key if isinstance(key, str) else _json(key): _plain(inner) for key, inner in value}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return _LEAVES[type(value)](value) if type(value) in _LEAVES else value


_LEAVES: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {
        float: lambda value: str(value) if value - value != 0 else value,
        bytes: bytes.hex,
        Decimal: lambda value: f"{value:f}",
        timedelta: lambda value: value / timedelta(seconds=1),
        datetime: datetime.isoformat,
        date: date.isoformat,
        time: time.isoformat,
    }
)
