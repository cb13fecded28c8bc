"""Columns of older files in the types of today, as Spark's expressions: what `duck_sql` is for DuckDB.

Spark has times of the day only where somebody has switched them on: here they are texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.store.descent import Node
from hakiri.store.row_json import is_text_in_json, json_text
from hakiri.store.spark_floats import float_text
from hakiri.store.texts import is_any

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_EPOCH = "1970-01-01 00:00:00"
_MICROSECONDS = Decimal(1_000_000)


def quoted(name: str) -> str:
    """A column's name as Spark takes it, whatever signs are in it."""
    return f"`{name.replace('`', '``')}`"


def file_type(kind: pa.DataType) -> DataType:
    """What Spark finds in a file: of durations and times of the day the number that stands for them."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(_with_leaves(kind, _number))


def column_of(old: Node | None, new: Node) -> Column:
    """The expression that gives a column of today from a file of an older version, or NULL if it has none."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_type

    is_duration, new = pa.types.is_duration(new.kind), _shown(new)
    if old is None or pa.types.is_null(old.kind):
        kind = from_arrow_type(new.kind) if is_duration else file_type(new.kind)
        return F.lit(None).cast(kind).alias(new.name)
    own = F.col(quoted(old.name))
    value = _interval(own) if is_duration else _converted(own, old, new)
    return value.alias(new.name)


def _with_leaves(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with every flat type in it changed."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_leaves(field.type, change)) for field in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(_with_leaves(kind.value_type, change))
    if pa.types.is_map(kind):
        return pa.map_(_with_leaves(kind.key_type, change), _with_leaves(kind.item_type, change))
    return change(kind)


def _number(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if is_any(kind, pa.types.is_duration, pa.types.is_time) else kind


def _text_of_time(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_time(kind) else kind


def _shown(node: Node) -> Node:
    """The node with texts in the place of times of the day."""
    field = node.field.with_type(_with_leaves(node.kind, _text_of_time))
    return replace(node, field=field, children=tuple(_shown(child) for child in node.children))


def _converted(value: Column, old: Node, new: Node) -> Column:
    """The value in today's type. Spark casts structs by place, so those that changed are taken apart."""
    from pyspark.sql import functions as F

    if _is_same(old, new):
        return value
    if pa.types.is_null(old.kind):
        return F.lit(None).cast(file_type(new.kind))
    if pa.types.is_nested(new.kind):
        return F.when(value.isNull(), F.lit(None)).otherwise(_rebuilt(value, old, new))
    return _whole(value, old, new)


def _is_same(old: Node, new: Node) -> bool:
    if old.kind != new.kind:
        return False
    if [child.identity for child in old.children] != [child.identity for child in new.children]:
        return False
    return all(_is_same(*pair) for pair in zip(old.children, new.children, strict=True))


def _rebuilt(value: Column, old: Node, new: Node) -> Column:
    from pyspark.sql import functions as F

    if pa.types.is_struct(new.kind):
        known = {child.identity: child for child in old.children}
        parts = []
        for child in new.children:
            origin = known.get(child.identity)
            part = (
                F.lit(None).cast(file_type(child.kind))
                if origin is None
                else _converted(value.getField(origin.name), origin, child)
            )
            parts.append(part.alias(child.name))
        return F.struct(*parts)
    pairs = list(zip(old.children, new.children, strict=True))
    if pa.types.is_list(new.kind):
        return F.transform(value, lambda item: _converted(item, *pairs[0]))
    return F.map_from_entries(
        F.transform(
            F.map_entries(value),
            lambda entry: F.struct(
                _converted(entry["key"], *pairs[0]).alias("key"),
                _converted(entry["value"], *pairs[1]).alias("value"),
            ),
        )
    )


def _whole(value: Column, old: Node, new: Node) -> Column:
    """A flat value in today's type."""
    from pyspark.sql import functions as F

    if pa.types.is_string(new.kind):
        return _text(value, old)
    if pa.types.is_binary(new.kind):
        return _text(value, old).cast("binary")
    is_zoned = pa.types.is_timestamp(new.kind) and new.kind.tz is not None
    if is_zoned and pa.types.is_date(old.kind):
        value = value.cast("timestamp_ntz")
    if is_zoned and (pa.types.is_date(old.kind) or (pa.types.is_timestamp(old.kind) and old.kind.tz is None)):
        # A plain cast would take the zone of the session.
        return F.concat(value.cast("string"), F.lit("Z")).cast("timestamp")
    return value.cast(file_type(new.kind))


def _text(value: Column, old: Node) -> Column:
    """The same text that the writer makes of a value that came after the column became one of text."""
    from pyspark.sql import functions as F

    kind = old.kind
    if pa.types.is_timestamp(kind):
        if kind.tz is None:
            return _moment_text(value)
        return F.concat(_moment_text(_since_epoch(F.unix_micros(value))), F.lit("Z"))
    if pa.types.is_time(kind):
        microseconds = F.floor(value / F.lit(1000)) if kind.unit == "ns" else value
        return F.substring_index(_moment_text(_since_epoch(microseconds)), " ", -1)
    if pa.types.is_floating(kind):
        return float_text(value, is_single=pa.types.is_float32(kind))
    if pa.types.is_nested(kind):
        return _json(value, old)
    return value.cast("string")


def _json(value: Column, node: Node) -> Column:
    """The text of a value's JSON. Spark's own has the digits of Java's floats."""
    from pyspark.sql import functions as F

    kind = node.kind
    if pa.types.is_struct(kind):
        fields = [
            F.concat(F.lit(f"{json_text(child.name)}:"), _json_or_null(value.getField(child.name), child))
            for child in node.children
        ]
        inside = F.concat_ws(",", *fields)
        return F.when(value.isNotNull(), F.concat(F.lit("{"), inside, F.lit("}")))
    if pa.types.is_list(kind):
        items = F.transform(value, lambda item: _json_or_null(item, node.children[0]))
        return F.concat(F.lit("["), F.array_join(items, ","), F.lit("]"))
    if pa.types.is_map(kind):
        key, inner = node.children
        pairs = F.transform(
            F.map_entries(value),
            lambda pair: F.concat(
                _json_string(_plain(pair["key"], key)), F.lit(":"), _json_or_null(pair["value"], inner)
            ),
        )
        return F.concat(F.lit("{"), F.array_join(pairs, ","), F.lit("}"))
    plain = _plain(value, node)
    if pa.types.is_floating(kind):
        return F.when(plain.isin("nan", "inf", "-inf"), _json_string(plain)).otherwise(plain)
    is_text = is_text_in_json(kind) or is_any(kind, pa.types.is_string, pa.types.is_binary)
    return _json_string(plain) if is_text else plain


def _json_or_null(value: Column, node: Node) -> Column:
    from pyspark.sql import functions as F

    if pa.types.is_null(node.kind):
        return F.lit("null")
    return F.coalesce(_json(value, node), F.lit("null"))


def _json_string(text: Column) -> Column:
    from pyspark.sql import functions as F

    alone = F.to_json(F.array(text))
    return F.when(text.isNotNull(), F.substring(alone, F.lit(2), F.length(alone) - F.lit(2)))


def _plain(value: Column, node: Node) -> Column:
    """What is between the quotes where JSON has a text for the value, but for what must be escaped."""
    from pyspark.sql import functions as F

    return F.lower(F.hex(value)) if pa.types.is_binary(node.kind) else _text(value, node)


def _interval(microseconds: Column) -> Column:
    from pyspark.sql import functions as F

    seconds = (microseconds.cast("decimal(20, 0)") / F.lit(_MICROSECONDS)).cast("decimal(18, 6)")
    return F.make_dt_interval(secs=seconds)


def _since_epoch(microseconds: Column) -> Column:
    """A moment without a zone; one with a zone would be told in that of the session."""
    from pyspark.sql import functions as F

    return F.lit(_EPOCH).cast("timestamp_ntz") + _interval(microseconds)


def _moment_text(moment: Column) -> Column:
    """With all six digits. `date_format` would go through the zone of the session, which leaves out hours."""
    from pyspark.sql import functions as F

    text = moment.cast("string")
    fraction = F.regexp_extract(text, r"\.(\d+)$", 1)
    return F.concat(F.substring_index(text, ".", 1), F.lit("."), F.rpad(fraction, 6, "0"))
