"""What becomes of a schema on its way through Spark, told without it: a plan must not wait for its import."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.sources.errors import SchemaIncompatible

_MOST_DIGITS = 38
_SAME: tuple[Callable[[pa.DataType], bool], ...] = (
    kinds.is_boolean,
    kinds.is_int8,
    kinds.is_int16,
    kinds.is_int32,
    kinds.is_int64,
    kinds.is_float32,
    kinds.is_float64,
    kinds.is_date32,
    kinds.is_null,
)
_OTHER: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (kinds.is_string, pa.string()),
    (kinds.is_large_string, pa.string()),
    (kinds.is_binary, pa.binary()),
    (kinds.is_large_binary, pa.binary()),
    (kinds.is_fixed_size_binary, pa.binary()),
    (kinds.is_time64, pa.time64("ns")),
    (kinds.is_duration, pa.duration("us")),
)


def spark_form(schema: pa.Schema, table: str) -> pa.Schema:
    """The form in which Spark hands on rows of this schema: `arrow_schema(spark_schema(…))`, without Spark.

    Raises SchemaIncompatible with the column that has no type there.
    """
    fields = []
    for field in schema:
        try:
            fields.append(pa.field(field.name, _form(field.type)))
        except pa.ArrowNotImplementedError as error:
            raise SchemaIncompatible(
                f"column `{field.name}` of table `{table}` is of type {field.type}, unknown to Spark",
                hint="have the connector give it as another type",
            ) from error
    return pa.schema(fields)


def _form(kind: pa.DataType) -> pa.DataType:
    """The type behind Spark; raises ArrowNotImplementedError for one that it does not know."""
    if any(is_kind(kind) for is_kind in _SAME):
        return kind
    for is_kind, form in _OTHER:
        if is_kind(kind):
            return form
    if kinds.is_dictionary(kind):
        return _form(kind.value_type)
    if kinds.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if kinds.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return _nested_form(kind)


def _nested_form(kind: pa.DataType) -> pa.DataType:
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", _form(kind.value_type), nullable=kind.value_field.nullable))
    if kinds.is_map(kind):
        return pa.map_(
            pa.field("key", _form(kind.key_type), nullable=False),
            pa.field("value", _form(kind.item_type), nullable=kind.item_field.nullable),
        )
    if kinds.is_struct(kind):
        return pa.struct(
            [pa.field(part.name, _form(part.type), part.nullable, part.metadata) for part in kind]
        )
    raise pa.ArrowNotImplementedError(str(kind))
