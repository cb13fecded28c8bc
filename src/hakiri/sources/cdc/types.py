"""Postgres types as Arrow types: exact where Arrow has the type, else the text that Postgres shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from hakiri.sources.sql.postgres_types import decimal_of

_NUMERIC = 1700
_NO_MODIFIER = -1
_BOX_ARRAY = 1020  # the one array whose elements are not parted by commas
# Built-in types keep their numbers in every database and version.
_EXACT: Mapping[int, pa.DataType] = MappingProxyType(
    {
        16: pa.bool_(),
        17: pa.binary(),
        20: pa.int64(),
        21: pa.int16(),
        23: pa.int32(),
        26: pa.int64(),  # oid, which has no sign
        700: pa.float32(),
        701: pa.float64(),
        1082: pa.date32(),
        1114: pa.timestamp("us"),
        1184: pa.timestamp("us", tz="UTC"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PgType:
    """One row of the server's `pg_type`, as far as it says how a value is read.

    `base` is what a domain stands on, `element` what a true array holds; 0 is none.
    """

    oid: int
    base: int = 0
    element: int = 0
    modifier: int = _NO_MODIFIER


def arrow_type(oid: int, modifier: int, types: Mapping[int, PgType]) -> pa.DataType:
    """The Arrow type of a column; `types` knows the domains and arrays that it may be of."""
    if oid in _EXACT:
        return _EXACT[oid]
    if oid == _NUMERIC:
        return decimal_of(modifier) or pa.string()
    known = types.get(oid)
    if known is None or oid == _BOX_ARRAY:
        return pa.string()
    if known.base:
        return arrow_type(known.base, known.modifier if modifier == _NO_MODIFIER else modifier, types)
    if known.element:
        return pa.list_(arrow_type(known.element, modifier, types))
    return pa.string()


def may_become(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether every value of the old type, read as one of the new type, is what Postgres made of it."""
    if old.equals(new):
        return True
    if pa.types.is_integer(old) and pa.types.is_integer(new):
        return bool(old.bit_width < new.bit_width)
    if pa.types.is_decimal(old) and pa.types.is_decimal(new):
        return bool(old.scale == new.scale and old.precision < new.precision)
    return False
