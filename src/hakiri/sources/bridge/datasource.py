"""The one bridge from a connector to Spark: a Python Data Source whose tasks are reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from hakiri.sources.bridge.schemas import BATCH_COLUMN, POSITION_COLUMN, arrow_schema, conformed
from hakiri.sources.bridge.sinks import Aside, OpenSink, without_surprise
from hakiri.sources.bridge.task import SourceTask, connector_in_task
from hakiri.sources.contract import Batch, Cursor, Read, Window
from hakiri.sources.desk import DeskReport

FORMAT = "hakiri"
# Rows of one read are numbered from its own start, so that all rows of a job have one order.
READ_STRIDE = 1 << 40


class HakiriDataSource(DataSource):
    """Every connector, for Spark. The options hold a SourceTask and reads; no secret is among them."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        labels = json.loads(self.options.get("labels", "[]"))
        return _Reader(
            self.options["task"], self.options["reads"], labels, self.options.get("aside", ""), schema
        )


class _Reader(DataSourceReader):
    def __init__(self, task: str, reads: str, labels: list[str], aside: str, schema: StructType) -> None:
        self._task = task
        self._reads = reads
        self._labels = labels
        self._aside = aside
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(len(json.loads(self._reads)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        read = read_from(json.loads(self._reads)[partition.value])
        task = SourceTask.parse(self._task)
        label = self._labels[partition.value] if self._labels else ""
        with connector_in_task(task) as connector, closing(task.report(label)) as report:
            aside = Aside(sink_from(self._aside), partition.value)
            batches = _reported(connector.open(read), read, report)
            try:
                yield from numbered(batches, partition.value, arrow_schema(self._schema), read.table, aside)
            except BaseException:
                aside.abandon()
                raise


def _reported(batches: Iterator[Batch], read: Read, report: DeskReport) -> Iterator[Batch]:
    rows = 0
    for batch in batches:
        yield without_surprise(batch, read)
        rows += batch.rows.num_rows + len(batch.rejects)
        report.rows(rows)


def numbered(
    batches: Iterator[Batch], number: int, target: pa.Schema, table: str, aside: Aside
) -> Iterator[pa.RecordBatch]:
    """The batches with the position of every row, and in the last row of each a note for the driver.

    The cursor of a batch without rows is noted with the rows before it, so one batch is always held back. A
    read without any rows gives one that holds nothing but the note, and has no position. Rejects go past
    Spark, which has no place for them; what became of them is in the last note.
    """
    position = number * READ_STRIDE
    own = pa.schema([field for field in target if field.name not in (POSITION_COLUMN, BATCH_COLUMN)])
    held: pa.RecordBatch | None = None
    cursor: Cursor | None = None
    for batch in batches:
        aside.take(batch.rejects)
        if batch.rows.num_rows:
            if held is not None:
                yield _with_note(held, position, _note(number, cursor), target)
                position += held.num_rows
            held = conformed(batch.rows, own, table)
        cursor = batch.cursor if batch.cursor is not None else cursor
    report = aside.finish()
    if held is not None:
        yield _with_note(held, position, _note(number, cursor, report), target)
    elif cursor is not None or report is not None:
        note = json.dumps({**_note(number, cursor, report), "at": position, "rows": 0})
        nothing = [pa.nulls(1, field.type) for field in target]
        yield pa.RecordBatch.from_arrays([*nothing[:-1], pa.array([note], pa.string())], schema=target)


def _note(number: int, cursor: Cursor | None, aside: str | None = None) -> dict[str, Any]:
    return {"read": number, "cursor": cursor, "aside": aside}


def _with_note(
    rows: pa.RecordBatch, position: int, note: Mapping[str, Any], target: pa.Schema
) -> pa.RecordBatch:
    count = rows.num_rows
    text = json.dumps({**note, "at": position, "rows": count})
    notes = pa.concat_arrays([pa.nulls(count - 1, pa.string()), pa.array([text], pa.string())])
    positions = pa.arange(position, position + count)
    return pa.RecordBatch.from_arrays([*rows.columns, positions, notes], schema=target)


def read_text(reads: Sequence[Read]) -> str:
    """Reads as text for an option."""
    return json.dumps([_plain(read) for read in reads])


def read_from(data: Mapping[str, Any]) -> Read:
    """One read, from what `read_text` wrote."""
    schema = data["schema"]
    return Read(
        **dict(data)
        | {
            "window": None if data["window"] is None else Window(**data["window"]),
            "schema": None if schema is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema))),
        }
    )


def _plain(read: Read) -> dict[str, Any]:
    return {
        "table": read.table,
        "cursor": None if read.cursor is None else dict(read.cursor),
        "incremental": read.incremental,
        "window": None if read.window is None else asdict(read.window),
        "partition": dict(read.partition),
        "snapshot": read.snapshot,
        "schema": None
        if read.schema is None
        else base64.b64encode(read.schema.serialize().to_pybytes()).decode(),
        "limit": read.limit,
        "sets_aside": read.sets_aside,
    }


def sink_text(open_sink: OpenSink | None) -> str:
    """How a sink is opened, as text for an option."""
    from pyspark import cloudpickle

    if open_sink is None:
        return ""
    return base64.b64encode(cloudpickle.dumps(open_sink)).decode()  # type: ignore[no-untyped-call]


def sink_from(text: str) -> OpenSink | None:
    """What `sink_text` wrote."""
    from pyspark import cloudpickle

    return cast("OpenSink", cloudpickle.loads(base64.b64decode(text))) if text else None
