"""Columns without children: by Arrow in one call where it does what the rules say, else value by value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.sources.json_rows.misfits import Locate, Misfit, misfit
from hakiri.sources.json_rows.types import is_moment
from hakiri.sources.json_rows.values import (
    DECIMAL_TEXT,
    FIRST_MICROSECOND,
    LAST_MICROSECOND,
    MISFIT,
    rule_for,
)

_NULL = type(None)
# The classes of values that Arrow puts into such a column unchanged, or refuses. It would also put 1.0 and
# true into columns of whole numbers.
_TAKEN: Mapping[pa.DataType, frozenset[type]] = MappingProxyType(
    {
        pa.int64(): frozenset({int, _NULL}),
        pa.int32(): frozenset({int, _NULL}),
        pa.float64(): frozenset({float, int, _NULL}),
        pa.bool_(): frozenset({bool, _NULL}),
        pa.string(): frozenset({str, _NULL}),
    }
)
_TEXTS = frozenset({str, _NULL})
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))


def leaf_column(values: list[Any], kind: pa.DataType, locate: Locate, misfits: list[Misfit]) -> pa.Array:
    """The column of these values, NULL for those that do not fit, which are added to `misfits`."""
    found = _at_once(values, kind)
    return _one_by_one(values, kind, locate, misfits) if found is None else found


def _at_once(values: list[Any], kind: pa.DataType) -> pa.Array | None:
    """The column, if Arrow makes of all of these values what the rules say; None in every doubt."""
    classes = set(map(type, values))
    try:
        if kind in _TAKEN:
            return pa.array(values, kind) if classes <= _TAKEN[kind] else None
        return _from_texts(pa.array(values, pa.string()), kind) if classes <= _TEXTS else None
    except (pa.ArrowInvalid, OverflowError):
        return None


def _from_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    if pa.types.is_decimal128(kind):
        are_plain = pc.all(pc.match_substring_regex(texts, f"^(?:{DECIMAL_TEXT})$"), min_count=0)
        return texts.cast(kind) if are_plain.as_py() else None
    # Arrow counts years from 0, Python and Spark from 1.
    if is_moment(kind):
        found = texts.cast(kind)
        return found if _lie_between(found.cast(pa.int64()), FIRST_MICROSECOND, LAST_MICROSECOND) else None
    if pa.types.is_date32(kind):
        found = texts.cast(kind)
        return found if _lie_between(found.cast(pa.int32()), _FIRST_DAY, _LAST_DAY) else None
    return None


def _lie_between(numbers: pa.Array, first: int, last: int) -> bool:
    ends = pc.min_max(numbers).as_py()
    return ends["min"] is None or (first <= ends["min"] and ends["max"] <= last)


def _one_by_one(values: list[Any], kind: pa.DataType, locate: Locate, misfits: list[Misfit]) -> pa.Array:
    rule = rule_for(kind)
    settled = [None if value is None else rule(value) for value in values]
    for position, value in enumerate(settled):
        if value is MISFIT:
            settled[position] = None
            misfits.append(misfit(locate(position), values[position], kind))
    return pa.array(settled, kind)
