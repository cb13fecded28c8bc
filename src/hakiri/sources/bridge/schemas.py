"""Arrow as Spark wants it: which types it can take, and batches brought into exactly that form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.sources.errors import SchemaIncompatible

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

POSITION_COLUMN = "_position"
BATCH_COLUMN = "_batch"


def spark_schema(schema: pa.Schema, table: str) -> StructType:
    """The schema in Spark's types; raises SchemaIncompatible with the column that has none."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for field in schema:
        try:
            fields.append(StructField(field.name, from_arrow_type(_plain(field.type)), nullable=True))
        except Exception as error:
            raise SchemaIncompatible(
                f"column `{field.name}` of table `{table}` is of type {field.type}, unknown to Spark",
                hint="have the connector give it as another type",
            ) from error
    return StructType(fields)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The exact form in which Spark takes batches of this schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def conformed(rows: pa.RecordBatch, target: pa.Schema, table: str) -> pa.RecordBatch:
    """The same rows in exactly this schema, without copying what is right already.

    Raises SchemaIncompatible for a column that is missing, is too much, or holds a value that does not fit.
    """
    if rows.schema.equals(target):
        return rows
    if rows.schema.names != target.names:
        raise SchemaIncompatible(
            f"a batch of table `{table}` has the columns {', '.join(rows.schema.names)}, "
            f"and {', '.join(target.names)} were announced",
            hint="have `discover()` announce what `open()` gives",
        )
    columns = []
    for column, field in zip(rows.columns, target, strict=True):
        try:
            columns.append(column if column.type.equals(field.type) else column.cast(field.type))
        except pa.ArrowException as error:
            raise SchemaIncompatible(
                f"column `{field.name}` of table `{table}` came as {column.type} "
                f"and cannot be brought to {field.type} without loss",
                hint="have `discover()` announce what `open()` gives",
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without what is only another layout of the same values."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return kind
