"""Tables of the store as Spark reads them: what a reader of their views would see."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias, cast

from hakiri.core.ids import TableName
from hakiri.engine.paths import spark_path
from hakiri.sources.bridge.schemas import spark_schema
from hakiri.store.rows import HIDDEN_FIELDS, OP, POSITION, SEQ, Op

if TYPE_CHECKING:
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from hakiri.store.reading import VisibleFiles

# Finds what a reader of a table reads now; None for a table that the store does not have.
FindFiles: TypeAlias = Callable[[TableName], "VisibleFiles | None"]


def stored_rows(spark: SparkSession, table: TableName, files: VisibleFiles) -> DataFrame:
    """Every row in a file that a reader reads, in today's columns, with the hidden ones behind them."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    current = files.schemas[max(files.schemas)]
    target = spark_schema(pa.schema([*current, *HIDDEN_FIELDS]), table)
    hidden = [field.name for field in HIDDEN_FIELDS]
    frames = []
    for version, paths in sorted(files.files.items()):
        if paths:
            written = spark.read.parquet(*(spark_path(str(path)) for path in paths))
            names = files.names_in(version)
            columns = [F.col(quoted(old)).alias(new) for new, old in names.items()]
            frames.append(written.select(*columns, *hidden).to(target))
    if not frames:
        return cast("DataFrame", spark.createDataFrame([], target))
    rows = reduce(lambda one, other: one.unionByName(other), frames)
    if files.excluded:
        rows = rows.where(~F.col(SEQ).isin(*files.excluded))
    return cast("DataFrame", rows)


def stored_table(spark: SparkSession, table: TableName, files: VisibleFiles) -> DataFrame:
    """The table as its view shows it: of rows with one key the newest, and none that was deleted."""
    from pyspark.sql import functions as F

    rows = stored_rows(spark, table, files)
    own = [quoted(field.name) for field in files.schemas[max(files.schemas)]]
    if not files.primary_key:
        return cast("DataFrame", rows.select(*own))
    key = [quoted(name) for name in files.primary_key]
    newest = rows.groupBy(*key).agg(F.max_by(F.struct(*own, OP), F.struct(SEQ, POSITION)).alias("_newest"))
    kept = newest.where(F.col(f"_newest.{OP}") != Op.DELETE.value)
    return cast("DataFrame", kept.select(*(f"_newest.{name}" for name in own)))


def quoted(name: str) -> str:
    """A column's name as Spark takes it, whatever signs are in it."""
    return f"`{name.replace('`', '``')}`"
