"""Words of DuckDB's SQL: quoted names and texts, types, and one type made of another without loss."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pyarrow as pa

from hakiri.store.descent import Node
from hakiri.store.names import literal, quoted
from hakiri.store.row_json import FLOAT_DIGITS, is_text_in_json, json_text
from hakiri.store.texts import is_any

_GLOB_SIGNS = re.compile(r"[\[*?]")

_TYPES: Mapping[pa.DataType, str] = MappingProxyType(
    {
        pa.null(): '"NULL"',
        pa.bool_(): "BOOLEAN",
        pa.int8(): "TINYINT",
        pa.int16(): "SMALLINT",
        pa.int32(): "INTEGER",
        pa.int64(): "BIGINT",
        pa.float32(): "FLOAT",
        pa.float64(): "DOUBLE",
        pa.string(): "VARCHAR",
        pa.binary(): "BLOB",
        pa.date32(): "DATE",
        pa.time64("us"): "TIME",
        pa.time64("ns"): "TIME",
        # Parquet has no durations: a file holds the microseconds. Inside nested values they stay that.
        pa.duration("us"): "BIGINT",
    }
)


def parquet_files(paths: Iterable[str]) -> str:
    """Exactly these files, and no column that a folder's name might look like.

    DuckDB takes every name for a glob, which `[x]/a.parquet` as one for `x/a.parquet` is.
    """
    listed = ",\n      ".join(literal(_GLOB_SIGNS.sub(r"[\g<0>]", path)) for path in paths)
    return f"read_parquet([\n      {listed}\n    ], hive_partitioning = false)"


def column_type(kind: pa.DataType) -> str:
    """The type of a view's column."""
    return "INTERVAL" if pa.types.is_duration(kind) else _type(kind)


def column_of(old: Node | None, new: Node) -> str:
    """The expression that gives a column of today from a file of an older version, or NULL if it has none."""
    if old is None:
        return f"CAST(NULL AS {column_type(new.kind)})"
    own = quoted(old.name)
    if pa.types.is_duration(new.kind) and not pa.types.is_null(old.kind):
        return f"to_microseconds({own})"
    return _converted(own, old, new, depth=0)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMP WITH TIME ZONE"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({_type(kind.key_type)}, {_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{quoted(field.name)} {_type(field.type)}' for field in kind.fields)})"
    return _TYPES[kind]


def _converted(value: str, old: Node, new: Node, *, depth: int) -> str:
    """The value in today's type. Nested values are taken apart only where a cast would not do."""
    if _is_castable(old, new):
        return _whole(value, old, new, depth=depth)
    if pa.types.is_struct(new.kind):
        return _struct(value, old, new, depth=depth)
    item = f"item_{depth}"
    pairs = list(zip(old.children, new.children, strict=True))
    if pa.types.is_list(new.kind):
        return f"list_transform({value}, lambda {item}: {_converted(item, *pairs[0], depth=depth + 1)})"
    key, inner = (
        _converted(f"{item}.{side}", *pair, depth=depth + 1)
        for side, pair in zip(("key", "value"), pairs, strict=True)
    )
    entry = f"lambda {item}: struct_pack(k := {key}, v := {inner})"
    return f"map_from_entries(list_transform(map_entries({value}), {entry}))"


def _struct(value: str, old: Node, new: Node, *, depth: int) -> str:
    known = {child.identity: child for child in old.children}
    parts = []
    for child in new.children:
        origin = known.get(child.identity)
        part = (
            f"CAST(NULL AS {_type(child.kind)})"
            if origin is None
            else _converted(f"struct_extract({value}, {literal(origin.name)})", origin, child, depth=depth)
        )
        parts.append(f"{quoted(child.name)} := {part}")
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({', '.join(parts)}) END"


def _is_castable(old: Node, new: Node) -> bool:
    """Whether all of a value comes right by one expression on the whole of it."""
    if not new.children or pa.types.is_null(old.kind):
        return True
    known = {child.identity: child for child in old.children}
    pairs = [(known[child.identity], child) for child in new.children if child.identity in known]
    if pa.types.is_struct(new.kind):
        # DuckDB casts structs by name, and wants one name at least in common.
        names = {child.name: child.identity for child in old.children}
        if not pairs or any(
            names.get(child.name, child.identity) != child.identity for child in new.children
        ):
            return False
        if any(before.name != after.name for before, after in pairs):
            return False
    return all(_is_castable(*pair) and _is_plain(*pair) for pair in pairs)


def _is_plain(old: Node, new: Node) -> bool:
    return _whole("", old, new, depth=0) == f"CAST( AS {_type(new.kind)})"


def _whole(value: str, old: Node, new: Node, *, depth: int) -> str:
    """The value as a whole in today's type."""
    if pa.types.is_string(new.kind):
        return _text(value, old, depth=depth)
    if pa.types.is_binary(new.kind) and not is_any(old.kind, pa.types.is_binary, pa.types.is_null):
        return f"encode({_text(value, old, depth=depth)})"
    is_zoned = pa.types.is_timestamp(new.kind) and new.kind.tz is not None
    if is_zoned and (pa.types.is_date(old.kind) or (pa.types.is_timestamp(old.kind) and old.kind.tz is None)):
        # A plain cast would take the zone of whoever reads.
        return f"(CAST({value} AS TIMESTAMP) AT TIME ZONE 'UTC')"
    return f"CAST({value} AS {_type(new.kind)})"


def _text(value: str, old: Node, *, depth: int) -> str:
    """The same text that the writer makes of a value that came after the column became one of text."""
    kind = old.kind
    if pa.types.is_timestamp(kind):
        moment, zone = (value, "") if kind.tz is None else (f"{value} AT TIME ZONE 'UTC'", " || 'Z'")
        return f"(strftime({moment}, '%Y-%m-%d %H:%M:%S.%f'){zone})"
    if pa.types.is_time(kind):
        return f"strftime(DATE '1970-01-01' + CAST({value} AS TIME), '%H:%M:%S.%f')"
    if pa.types.is_nested(kind):
        return _json(value, old, depth=depth)
    if pa.types.is_floating(kind):
        number = _short(value, depth=depth) if pa.types.is_float32(kind) else value
        # DuckDB tells a NaN with a sign from one without; the writer does not. `isnan` would not do: DuckDB
        # foretells what it says from a file's statistics, and those know nothing of NaN.
        return f"replace(CAST({number} AS VARCHAR), '-nan', 'nan')"
    return f"CAST({value} AS VARCHAR)"


def _short(value: str, *, depth: int) -> str:
    """Of a float of 32 bits the number with the fewest digits that reads back as the same."""
    form, short = f"form_{depth}", f"short_{depth}"
    forms = ", ".join(f"'{{:.{count}g}}'" for count in FLOAT_DIGITS)
    read = f"CAST(format({form}, CAST({value} AS DOUBLE)) AS DOUBLE)"
    every = f"list_transform([{forms}], lambda {form}: {read})"
    return f"list_filter({every}, lambda {short}: CAST({short} AS FLOAT) = {value})[1]"


def _json(value: str, node: Node, *, depth: int) -> str:
    """The text of a value's JSON. In DuckDB's own, floats have other digits than the writer gives them."""
    item, kind = f"item_{depth}", node.kind
    if pa.types.is_struct(kind):
        fields = [
            f"{literal(f'{json_text(child.name)}:')} || "
            + _json_or_null(f"struct_extract({value}, {literal(child.name)})", child, depth=depth)
            for child in node.children
        ]
        inside = " || ',' || ".join(fields)
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE '{{' || {inside} || '}}' END"
    if pa.types.is_list(kind):
        (child,) = node.children
        parts = f"list_transform({value}, lambda {item}: {_json_or_null(item, child, depth=depth + 1)})"
        return f"('[' || array_to_string({parts}, ',') || ']')"
    if pa.types.is_map(kind):
        key, inner = node.children
        pair = f"to_json({_plain(f'{item}.key', key, depth=depth + 1)}) || ':' || " + _json_or_null(
            f"{item}.value", inner, depth=depth + 1
        )
        parts = f"list_transform(map_entries({value}), lambda {item}: {pair})"
        return f"('{{' || array_to_string({parts}, ',') || '}}')"
    plain = _plain(value, node, depth=depth)
    if pa.types.is_floating(kind):
        return f"regexp_replace({plain}, '^(nan|-?inf)$', '\"\\1\"')"
    is_text = is_text_in_json(kind) or is_any(kind, pa.types.is_string, pa.types.is_binary)
    return f"CAST(to_json({plain}) AS VARCHAR)" if is_text else plain


def _json_or_null(value: str, node: Node, *, depth: int) -> str:
    return f"coalesce({_json(value, node, depth=depth)}, 'null')"


def _plain(value: str, node: Node, *, depth: int) -> str:
    """What is between the quotes where JSON has a text for the value, but for what must be escaped."""
    is_bytes = pa.types.is_binary(node.kind)
    return f"lower(hex({value}))" if is_bytes else _text(value, node, depth=depth)
