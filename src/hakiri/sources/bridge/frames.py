"""A source's rows as a DataFrame, with what was read told while they are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hakiri.sources.bridge.datasource import FORMAT, HakiriDataSource, read_text, sink_text
from hakiri.sources.bridge.schemas import BATCH_COLUMN, POSITION_COLUMN, spark_schema
from hakiri.sources.bridge.sinks import OpenSink
from hakiri.sources.bridge.task import SourceTask
from hakiri.sources.contract import Cursor, Read, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.observation import Observation
    from pyspark.sql.connect.session import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one read gave: how many rows, and the cursor after them (None: it says nothing new).

    `aside` is what the sink of its rejects says; None if it had none.
    """

    rows: int
    cursor: Cursor | None
    aside: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRows:
    """The rows of some reads, lazily. The last column, `_position`, is the order in which they were read."""

    frame: DataFrame
    reads: int
    observation: Observation

    def outcomes(self) -> list[Outcome]:
        """What each read gave, once the frame was written. Waits for that."""
        notes = [json.loads(note) for note in self.observation.get["notes"]]
        return [_outcome([note for note in notes if note["read"] == number]) for number in range(self.reads)]

    def rows_seen(self) -> int:
        """How many rows came through Spark, counted apart from what the reads say they gave."""
        return int(self.observation.get["rows"])


def source_rows(
    spark: SparkSession,
    task: SourceTask,
    table: Table,
    reads: Sequence[Read],
    *,
    labels: Sequence[str] = (),
    open_aside: OpenSink | None = None,
) -> SourceRows:
    """The rows of these reads of one table, each read a task of its own; the source is read once.

    With a label for each read, the desk is told how far it is. `open_aside` opens a sink for the rejects of a
    read that sets rows aside: they do not come with the others.

    Raises SchemaIncompatible for a table that Spark cannot hold.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.connect.observation import Observation

    schema = spark_schema(pa.schema([*table.schema, *_OWN]), table.name)
    spark.dataSource.register(HakiriDataSource)
    options = {
        "task": task.text(),
        "reads": read_text(reads),
        "labels": json.dumps(list(labels)),
        "aside": sink_text(open_aside),
    }
    rows = spark.read.format(FORMAT).schema(schema).options(**options).load()
    observation = Observation(f"read-{table.name}")
    observed = rows.observe(
        observation,
        F.collect_list(BATCH_COLUMN).alias("notes"),
        F.count(POSITION_COLUMN).alias("rows"),
    )
    frame = observed.where(F.col(POSITION_COLUMN).isNotNull()).drop(BATCH_COLUMN)
    return SourceRows(frame=frame, reads=len(reads), observation=observation)


_OWN = (pa.field(POSITION_COLUMN, pa.int64()), pa.field(BATCH_COLUMN, pa.string()))


def _outcome(notes: list[dict[str, Any]]) -> Outcome:
    cursors = [
        note["cursor"] for note in sorted(notes, key=lambda note: note["at"]) if note["cursor"] is not None
    ]
    asides = [note["aside"] for note in notes if note["aside"] is not None]
    return Outcome(
        rows=sum(note["rows"] for note in notes),
        cursor=cursors[-1] if cursors else None,
        aside=asides[-1] if asides else None,
    )
