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
from hakiri.store.row_json import is_text_in_json
from hakiri.store.texts import is_any

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_EPOCH = "1970-01-01 00:00:00"
_MICROSECONDS = Decimal(1_000_000)
# Where Python and DuckDB begin to write floats with an exponent; Java begins earlier.
_PLAIN_DIGITS = 16
_FEWEST_EXPONENT = -4


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
        return _float_text(value.cast("string"))
    if pa.types.is_nested(kind):
        return F.to_json(_json_form(value, old), {"ignoreNullFields": "false"})
    return value.cast("string")


def _json_form(value: Column, node: Node) -> Column:
    """The value with texts in the place of what JSON has no values for."""
    from pyspark.sql import functions as F

    if pa.types.is_struct(node.kind):
        parts = [_json_form(value.getField(child.name), child).alias(child.name) for child in node.children]
        return F.when(value.isNotNull(), F.struct(*parts))
    if pa.types.is_list(node.kind):
        return F.transform(value, lambda item: _json_form(item, node.children[0]))
    if pa.types.is_map(node.kind):
        return F.transform_values(
            F.transform_keys(value, lambda key, _: _json_form(key, node.children[0])),
            lambda _, item: _json_form(item, node.children[1]),
        )
    return _text(value, node) if is_text_in_json(node.kind) else value


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


def _float_text(java: Column) -> Column:
    """A float as Python and DuckDB write it, from the digits that Java writes: `1.5E7` is `15000000.0`."""
    from pyspark.sql import functions as F

    sign = F.when(java.startswith("-"), F.lit("-")).otherwise(F.lit(""))
    whole, fraction = (F.regexp_extract(java, r"^-?(\d)\.(\d+)E", group) for group in (1, 2))
    rest = F.regexp_replace(fraction, "^0$", "")
    digits = F.concat(whole, rest)
    exponent = F.regexp_extract(java, r"E(-?\d+)$", 1).try_cast("int")
    point = exponent + F.lit(1)
    large = F.when(
        F.length(digits) > point,
        F.concat(F.substring(digits, F.lit(1), point), F.lit("."), F.substr(digits, point + F.lit(1))),
    ).otherwise(F.concat(F.rpad(digits, point, F.lit("0")), F.lit(".0")))
    small = F.concat(F.lit("0."), F.repeat(F.lit("0"), -point), digits)
    mantissa = F.when(rest == "", whole).otherwise(F.concat(whole, F.lit("."), rest))
    written = F.concat(
        mantissa,
        F.when(exponent < 0, F.lit("e-")).otherwise(F.lit("e+")),
        F.lpad(
            F.abs(exponent).cast("string"),
            F.greatest(F.lit(2), F.length(F.abs(exponent).cast("string"))),
            F.lit("0"),
        ),
    )
    return (
        F.when(java == "NaN", F.lit("nan"))
        .when(java == "Infinity", F.lit("inf"))
        .when(java == "-Infinity", F.lit("-inf"))
        .when(exponent.isNull(), java)
        .when(exponent.between(0, _PLAIN_DIGITS - 1), F.concat(sign, large))
        .when(exponent.between(_FEWEST_EXPONENT, -1), F.concat(sign, small))
        .otherwise(F.concat(sign, written))
    )
