"""Reading straight into files inside a task, for rows that nothing in the JVM has to touch.

The hop through the JVM costs about as much as the read itself. Where there is no transform, the task hands
its rows to a sink of the caller, and gives back only what the sink says of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hakiri.sources.bridge.datasource import read_from, read_text
from hakiri.sources.bridge.schemas import arrow_schema, conformed, spark_schema
from hakiri.sources.bridge.sinks import OpenSink, without_surprise
from hakiri.sources.bridge.task import SourceTask, connector_in_task
from hakiri.sources.contract import Cursor, Read, Table

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_RESULT = "read bigint, rows bigint, report string, cursor string"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """What one read gave: its rows with its rejects, the cursor after them, and the words of its sink."""

    rows: int
    cursor: Cursor | None
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    task: str
    reads: str
    labels: tuple[str, ...]
    open_sink: OpenSink
    schema: bytes


def land(
    spark: SparkSession,
    task: SourceTask,
    table: Table,
    reads: Sequence[Read],
    open_sink: OpenSink,
    *,
    labels: Sequence[str] = (),
) -> list[Landed]:
    """Pass the rows of each read to a sink of its own, in tasks; what became of them, read by read.

    With a label for each read, the desk is told how far it is.
    """
    schema = arrow_schema(spark_schema(table.schema, table.name))
    job = _Job(
        task=task.text(),
        reads=read_text(reads),
        labels=tuple(labels) or ("",) * len(reads),
        open_sink=open_sink,
        schema=schema.serialize().to_pybytes(),
    )

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _landed(job, number)

    result = spark.range(0, len(reads), 1, len(reads)).mapInArrow(work, _RESULT).toArrow().to_pylist()
    return [_told(row) for row in sorted(result, key=lambda row: row["read"])]


def _landed(job: _Job, number: int) -> pa.RecordBatch:
    read = read_from(json.loads(job.reads)[number])
    target = pa.ipc.read_schema(pa.py_buffer(job.schema))
    cursor: Cursor | None = None
    rows = 0
    task = SourceTask.parse(job.task)
    with connector_in_task(task) as connector, closing(task.report(job.labels[number])) as report_rows:
        sink = job.open_sink(number)
        try:
            for given in connector.open(read):
                batch = without_surprise(given, read)
                if batch.rows.num_rows:
                    sink.write(conformed(batch.rows, target, read.table))
                if batch.rejects:
                    sink.set_aside(batch.rejects)
                if count := batch.rows.num_rows + len(batch.rejects):
                    rows += count
                    report_rows.rows(rows)
                cursor = batch.cursor if batch.cursor is not None else cursor
            report = sink.finish()
        except BaseException:
            sink.abandon()
            raise
    place = None if cursor is None else json.dumps(cursor)
    told = {"read": number, "rows": rows, "report": report, "cursor": place}
    return pa.RecordBatch.from_pylist([told], schema=_RESULT_SCHEMA)


_RESULT_SCHEMA = pa.schema(
    {"read": pa.int64(), "rows": pa.int64(), "report": pa.string(), "cursor": pa.string()}
)


def _told(row: dict[str, Any]) -> Landed:
    cursor = None if row["cursor"] is None else json.loads(row["cursor"])
    return Landed(rows=row["rows"], cursor=cursor, report=row["report"])
