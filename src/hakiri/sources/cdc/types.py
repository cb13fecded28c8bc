"""Postgres types as Arrow types: exact where Arrow has the type, else the text that Postgres shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from hakiri.sources.sql.postgres_types import PLAIN, decimal_of

_NUMERIC = 1700
_NO_MODIFIER = -1
_BOX_ARRAY = 1020  # the one array whose elements are not parted by commas
# Built-in types keep their numbers in every database and version.
_OIDS: Mapping[str, int] = MappingProxyType(
    {
        "bool": 16,
        "bytea": 17,
        "int8": 20,
        "int2": 21,
        "int4": 23,
        "float4": 700,
        "float8": 701,
        "date": 1082,
        "timestamp": 1114,
        "timestamptz": 1184,
    }
)
_OID = 26  # has no sign
_EXACT: Mapping[int, pa.DataType] = MappingProxyType(
    {oid: PLAIN[name] for name, oid in _OIDS.items()} | {_OID: pa.int64()}
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
