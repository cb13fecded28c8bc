"""What a pipeline's transform is given: the rows of a table, and the reference tables."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hakiri.core.clock import SystemClock
from hakiri.core.errors import HakiriError, Place
from hakiri.core.ids import TableName
from hakiri.pipelines.errors import NoSuchStoreTable
from hakiri.pipelines.stored import FindFiles, stored_table
from hakiri.sources.bridge.failures import failure_in
from hakiri.sources.budget import NoBudget
from hakiri.sources.contract import Context, NativeConnector, Read, Table
from hakiri.sources.making import make_connector

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from hakiri.manifest import PipelineSpec, Project, ReferenceSpec
    from hakiri.sources.reading import OpenSource


def input_frame(spark: SparkSession, source: OpenSource, table: Table, read: Read) -> DataFrame:
    """The rows of one read as the transform gets them: the table's own columns and no others."""
    if isinstance(source.connector, NativeConnector):
        return cast("DataFrame", source.connector.frame(spark, read))
    from hakiri.sources.bridge.frames import source_rows
    from hakiri.sources.bridge.schemas import POSITION_COLUMN

    rows = source_rows(spark, source.task, table, [read])
    return cast("DataFrame", rows.frame.drop(POSITION_COLUMN))


def empty_input(spark: SparkSession, table: Table) -> DataFrame:
    """A frame with the table's columns and no rows, for asking what a plan would make of them."""
    from hakiri.sources.bridge.schemas import spark_schema

    return cast("DataFrame", spark.createDataFrame([], spark_schema(table.schema, table.name)))


def reference_frames(
    spark: SparkSession, project: Project, spec: PipelineSpec, find_files: FindFiles
) -> dict[str, DataFrame]:
    """Every reference table of the pipeline, by its name. Spark reads each at most once a run.

    Raises NoSuchStoreTable for a table that the store does not have.
    """
    place = project.place_of(spec.id)
    return {
        name: _stored_frame(spark, name, TableName(reference.table), find_files, place)
        if reference.table is not None
        else _reference_frame(spark, name, reference, project.root, place)
        for name, reference in spec.references.items()
    }


def _stored_frame(
    spark: SparkSession, name: str, table: TableName, find_files: FindFiles, place: Place
) -> DataFrame:
    files = find_files(table)
    if files is None:
        raise NoSuchStoreTable(name, table, place)
    return stored_table(spark, table, files)


def _reference_frame(
    spark: SparkSession, name: str, reference: ReferenceSpec, root: Path, place: Place
) -> DataFrame:
    config = {key: value for key in ("path", "format") if (value := getattr(reference, key)) is not None}
    context = Context(
        root=root, secrets={}, budget=NoBudget(), clock=SystemClock(), wait=threading.Event().wait
    )
    connector = make_connector("files", config, secrets=(), code_root=None, place=place, context=context)
    files = cast("NativeConnector", connector)
    (table,) = files.discover([name])
    return cast("DataFrame", files.frame(spark, Read(table=name, schema=table.schema)))


def source_failure(error: PySparkException, source: OpenSource) -> HakiriError | None:
    """Spark's error as one of the source's own, if that is what it is."""
    told = failure_in(str(error))
    if told is None and isinstance(source.connector, NativeConnector):
        return source.connector.explain(error)
    return told
