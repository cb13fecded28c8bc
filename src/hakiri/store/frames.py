"""Tables of the store as Spark's frames: the rows that DuckDB's views show, and nothing of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.engine.paths import spark_path
from hakiri.store.descent import Node, descent
from hakiri.store.errors import UnknownSchemaVersion
from hakiri.store.rows import OP, POSITION, QUARANTINE_FIELDS, SEQ, Op
from hakiri.store.spark_columns import column_of, file_type, quoted
from hakiri.store.views import TableState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ORDER_FIELDS = (pa.field(SEQ, pa.int64()), pa.field(POSITION, pa.int64()), pa.field(OP, pa.string()))


def table_frame(spark: SparkSession, state: TableState) -> DataFrame:
    """The table as its view shows it: in today's columns, of one key the newest row, none that was deleted.

    Lazy: it reads the files of this moment whenever it is asked. Raises UnknownSchemaVersion.
    """
    from pyspark.sql import functions as F

    versions = descent(state.schemas)
    if unknown := sorted((state.files.keys() | state.folded.keys()) - versions.keys()):
        raise UnknownSchemaVersion(state.table, unknown[0])
    new = versions[state.schema_version]
    recent = _rows(spark, versions, new, state.files)
    folded = _rows(spark, versions, new, state.folded)
    if folded is not None and state.excluded:
        folded = folded.where(~F.col(SEQ).isin(*state.excluded))
    if recent is not None and state.primary_key:
        recent = _newest(recent, state.primary_key)
        if folded is not None:
            folded = _without(folded, recent, state.primary_key)
    if recent is not None:
        recent = recent.where(F.col(OP) != Op.DELETE.value)
    found = [frame for frame in (folded, recent) if frame is not None]
    if not found:
        empty = spark.createDataFrame([], _struct([]))
        return empty.select(*(column_of(None, node) for node in new))
    return _united(found).select(*(quoted(node.name) for node in new))


def quarantine_frame(spark: SparkSession, state: TableState) -> DataFrame:
    """The rows that did not fit into the table, with their reasons."""
    rows = spark.read.schema(_struct(list(QUARANTINE_FIELDS)))
    return rows.parquet(*map(spark_path, state.quarantine))


def _rows(
    spark: SparkSession,
    versions: Mapping[int, tuple[Node, ...]],
    new: tuple[Node, ...],
    files: Mapping[int, tuple[str, ...]],
) -> DataFrame | None:
    """Every row of the files in today's columns, with what tells which is newer; None without files."""
    frames = []
    for version, paths in sorted(files.items()):
        if paths:
            known = {node.identity: node for node in versions[version]}
            # A column that never had a value has no type that Spark could read.
            own = [node.field for node in versions[version] if not pa.types.is_null(node.kind)]
            written = spark.read.schema(_struct([*own, *_ORDER_FIELDS])).parquet(*map(spark_path, paths))
            columns = [column_of(known.get(node.identity), node) for node in new]
            frames.append(written.select(*columns, SEQ, POSITION, OP))
    return _united(frames) if frames else None


def _newest(rows: DataFrame, primary_key: tuple[str, ...]) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    key = [quoted(name) for name in primary_key]
    newest_first = Window.partitionBy(*key).orderBy(F.desc(SEQ), F.desc(POSITION))
    # The row stands in a column of its own, since its columns may have any name.
    row = F.struct(*map(quoted, rows.columns)).alias("row")
    numbered = rows.select(row, F.row_number().over(newest_first).alias("nth"))
    return numbered.where(F.col("nth") == 1).select("row.*")


def _without(folded: DataFrame, recent: DataFrame, primary_key: tuple[str, ...]) -> DataFrame:
    """The rows of the snapshot whose keys did not come again."""
    from pyspark.sql import functions as F

    key = [quoted(name) for name in primary_key]
    same = (F.col(f"found.{name}").eqNullSafe(F.col(f"newer.{name}")) for name in key)
    newer = recent.select(*key).alias("newer")
    return folded.alias("found").join(newer, reduce(lambda one, other: one & other, same), "left_anti")


def _united(frames: list[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), frames)


def _struct(fields: list[pa.Field]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, file_type(field.type), nullable=True) for field in fields])
