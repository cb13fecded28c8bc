"""The types of Postgres in Arrow: which go as they are, and which are cast by the server first.

The driver's own types for the rest are not used: it has numbers as opaque texts, `oid` with a sign, and lists
for arrays of any depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hakiri.sources.sql.relations import Column, Grain, quoted

# The forms in which the server shows values are part of what is promised.
VALUE_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "timezone": "UTC",
        "datestyle": "ISO",
        "intervalstyle": "iso_8601",
        "bytea_output": "hex",
        "extra_float_digits": "1",
    }
)
MOST_DIGITS = 38
_MICROSECONDS = "us"
# Types that Arrow has as they are.
PLAIN: Mapping[str, pa.DataType] = MappingProxyType(
    {
        "int2": pa.int16(),
        "int4": pa.int32(),
        "int8": pa.int64(),
        "float4": pa.float32(),
        "float8": pa.float64(),
        "bool": pa.bool_(),
        "bytea": pa.binary(),
        "text": pa.string(),
        "varchar": pa.string(),
        "bpchar": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp(_MICROSECONDS),
        "timestamptz": pa.timestamp(_MICROSECONDS, "UTC"),
    }
)
_GRAINS: Mapping[str, Grain] = MappingProxyType(
    {
        "int2": Grain.NUMBER,
        "int4": Grain.NUMBER,
        "int8": Grain.NUMBER,
        "oid": Grain.NUMBER,
        "date": Grain.DAY,
        "timestamp": Grain.LOCAL_MOMENT,
        "timestamptz": Grain.MOMENT,
        "text": Grain.TEXT,
        "varchar": Grain.TEXT,
        "bpchar": Grain.TEXT,
        "uuid": Grain.TEXT,
    }
)
# `money` has as many digits after the point as its locale says: at most four, anywhere.
_MONEY = pa.decimal128(23, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mapped:
    """A type in Arrow, and the casts that the server makes before; `{}` is what they are applied to."""

    type: pa.DataType
    form: str = "{}"
    array_form: str | None = "{}"


_SHOWN = _Mapped(type=pa.string(), form="{}::text", array_form="{}::text[]")


def column_of(row: Mapping[str, Any], *, is_text: bool) -> Column:
    """A column from its row of `postgres.sql`; with `is_text`, as the text that the server shows."""
    name = quoted(row["column"])
    if is_text:
        return _column(row, pa.string(), f"{name}::text")
    if row["element"] is not None:
        return _array_column(row, name)
    mapped = _mapped(row["type"], row["kind"], row["modifier"], is_builtin=row["is_builtin"])
    grain = _grain(row, mapped.type)
    return _column(row, mapped.type, mapped.form.format(name), grain=grain)


def _column(
    row: Mapping[str, Any],
    kind: pa.DataType,
    select: str,
    *,
    grain: Grain | None = None,
    misfit: str | None = None,
) -> Column:
    return Column(
        name=row["column"],
        type=kind,
        select=select,
        is_nullable=not row["is_required"],
        is_indexed=row["is_indexed"],
        misfit=misfit,
        misfit_words="it is an array of more than one dimension",
        grain=grain,
        key=quoted(row["column"]),
        key_cast=f"::{row['type_sql']}",
    )


def _array_column(row: Mapping[str, Any], name: str) -> Column:
    mapped = _mapped(
        row["element"], row["element_kind"], row["element_modifier"], is_builtin=row["is_element_builtin"]
    )
    if mapped.array_form is None:
        return _column(row, pa.string(), f"to_json({name})::text")
    if row["dimensions"] > 1:
        return _column(row, pa.string(), f"array_to_json({name})::text")
    # A domain's array, or an array's domain, is none that the driver knows.
    plain = f"{name}::{row['element_sql']}[]"
    return _column(
        row, pa.list_(mapped.type), mapped.array_form.format(plain), misfit=f"array_ndims({name}) > 1"
    )


def _mapped(name: str, kind: str, modifier: int, *, is_builtin: bool) -> _Mapped:
    if kind in ("c", "p"):
        return _Mapped(type=pa.string(), form="to_json({})::text", array_form=None)
    return _mapped_builtin(name, modifier) if is_builtin else _SHOWN


def _mapped_builtin(name: str, modifier: int) -> _Mapped:
    if name in PLAIN:
        return _Mapped(type=PLAIN[name])
    if name == "oid":
        return _Mapped(type=pa.int64(), form="{}::int8", array_form="{}::int8[]")
    if name == "money":
        return _Mapped(type=_MONEY, form="{}::numeric::text", array_form="{}::numeric[]::text[]")
    if name == "numeric" and (decimal := decimal_of(modifier)) is not None:
        # As text, because the driver takes the binary form apart at less than half the speed.
        return _Mapped(type=decimal, form="{}::text", array_form="{}::text[]")
    return _SHOWN


def decimal_of(modifier: int) -> pa.DataType | None:
    """`numeric(p, s)` in Arrow, or None where Spark and Parquet have no such number."""
    if modifier < 0:
        return None
    precision = ((modifier - 4) >> 16) & 0xFFFF
    scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024
    # `numeric(3, 5)` is 0.00123, and `numeric(5, -2)` is 1234500.
    digits = max(precision, scale) if scale >= 0 else precision - scale
    return pa.decimal128(digits, max(scale, 0)) if digits <= MOST_DIGITS else None


def _grain(row: Mapping[str, Any], kind: pa.DataType) -> Grain | None:
    if not row["is_builtin"]:
        return None
    if row["type"] == "numeric" and pa.types.is_decimal(kind) and kind.scale == 0:
        return Grain.NUMBER
    grain = _GRAINS.get(row["type"])
    # Texts that are equal for the database and differ in their bytes would be cut apart.
    return None if grain is Grain.TEXT and not row["is_deterministic"] else grain
