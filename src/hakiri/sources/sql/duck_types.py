"""The types of DuckDB in Arrow: numbers that Spark has no room for are cast by DuckDB first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.sources.sql.relations import Column, Grain, quoted

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

_MOST = 10**38 - 1
_UTC = pa.timestamp("us", "UTC")
_LOCAL = pa.timestamp("us")
# The type in Arrow, and in DuckDB the type to cast to before, which is the same one where nothing is to do.
_PLAIN: Mapping[str, tuple[pa.DataType, str]] = MappingProxyType(
    {
        "boolean": (pa.bool_(), "BOOLEAN"),
        "tinyint": (pa.int8(), "TINYINT"),
        "smallint": (pa.int16(), "SMALLINT"),
        "integer": (pa.int32(), "INTEGER"),
        "bigint": (pa.int64(), "BIGINT"),
        "utinyint": (pa.int16(), "SMALLINT"),
        "usmallint": (pa.int32(), "INTEGER"),
        "uinteger": (pa.int64(), "BIGINT"),
        "ubigint": (pa.decimal128(20, 0), "DECIMAL(20, 0)"),
        "hugeint": (pa.decimal128(38, 0), "DECIMAL(38, 0)"),
        "uhugeint": (pa.decimal128(38, 0), "DECIMAL(38, 0)"),
        "float": (pa.float32(), "FLOAT"),
        "double": (pa.float64(), "DOUBLE"),
        "varchar": (pa.string(), "VARCHAR"),
        "blob": (pa.binary(), "BLOB"),
        "date": (pa.date32(), "DATE"),
        "timestamp": (_LOCAL, "TIMESTAMP"),
        "timestamp_s": (_LOCAL, "TIMESTAMP"),
        "timestamp_ms": (_LOCAL, "TIMESTAMP"),
        "timestamp_ns": (_LOCAL, "TIMESTAMP"),
        "timestamp with time zone": (_UTC, "TIMESTAMPTZ"),
    }
)
_AS_TEXT = (pa.string(), "VARCHAR")
_AS_JSON = (pa.string(), "JSON")
_GRAINS: Mapping[str, Grain] = MappingProxyType(
    {
        **dict.fromkeys(
            ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"),
            Grain.NUMBER,
        ),
        "hugeint": Grain.NUMBER,
        "date": Grain.DAY,
        **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), Grain.LOCAL_MOMENT),
        "timestamp with time zone": Grain.MOMENT,
        "varchar": Grain.TEXT,
        "uuid": Grain.TEXT,
    }
)
_KEY_CASTS: Mapping[Grain, str] = MappingProxyType(
    {Grain.DAY: "::DATE", Grain.LOCAL_MOMENT: "::TIMESTAMP", Grain.MOMENT: "::TIMESTAMPTZ"}
)


def column_of(name: str, kind: DuckDBPyType, *, is_nullable: bool, is_indexed: bool, is_text: bool) -> Column:
    """A column as it is read; with `is_text`, as the text that DuckDB shows."""
    value = quoted(name)
    if is_text:
        return Column(name=name, type=pa.string(), select=f"{value}::VARCHAR", is_nullable=is_nullable)
    arrow, target = _mapped(kind)
    grain = _GRAINS.get(kind.id)
    misfit = _misfit(kind.id, value)
    select = f"to_json({value})::VARCHAR" if target == "JSON" else f"{value}::{target}"
    return Column(
        name=name,
        type=arrow,
        select=select if misfit is None else f"CASE WHEN NOT ({misfit}) THEN {select} END",
        is_nullable=is_nullable,
        is_indexed=is_indexed,
        misfit=misfit,
        misfit_words="it has nanoseconds" if kind.id == "timestamp_ns" else "it is too large",
        grain=grain,
        key=value,
        key_cast=_KEY_CASTS.get(grain, "::UUID" if kind.id == "uuid" else "") if grain else "",
    )


def _mapped(kind: DuckDBPyType) -> tuple[pa.DataType, str]:
    """The type in Arrow and the target of the cast, of nested types part by part."""
    if kind.id in _PLAIN:
        return _PLAIN[kind.id]
    if kind.id == "decimal":
        digits = dict(kind.children)
        return pa.decimal128(digits["precision"], digits["scale"]), str(kind)
    if kind.id in ("list", "array", "struct", "map"):
        # The size of an array stands among its children.
        parts = {name: _mapped(part) for name, part in kind.children if not isinstance(part, int | list)}
        if any(target == "JSON" for _, target in parts.values()):
            return _AS_JSON
        return _nested(kind.id, parts)
    return _AS_JSON if kind.id == "union" else _AS_TEXT


def _nested(kind: str, parts: Mapping[str, tuple[pa.DataType, str]]) -> tuple[pa.DataType, str]:
    if kind == "struct":
        fields = [pa.field(name, arrow) for name, (arrow, _) in parts.items()]
        targets = ", ".join(f"{quoted(name)} {target}" for name, (_, target) in parts.items())
        return pa.struct(fields), f"STRUCT({targets})"
    if kind == "map":
        (key, key_target), (value, value_target) = parts["key"], parts["value"]
        return pa.map_(key, value), f"MAP({key_target}, {value_target})"
    child, target = parts["child"]
    return pa.list_(child), f"{target}[]"


def _misfit(kind: str, value: str) -> str | None:
    """Values that the cast would round, or that it would fail at without saying where."""
    match kind:
        case "timestamp_ns":
            return f"isfinite({value}) AND epoch_ns({value}) % 1000 <> 0"
        case "hugeint":
            return f"{value} NOT BETWEEN -{_MOST} AND {_MOST}"
        case "uhugeint":
            return f"{value} > {_MOST}"
    return None
