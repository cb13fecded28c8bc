"""Reading straight into Parquet inside a task, for rows that nothing in the JVM has to touch.

The hop through the JVM costs about as much as the read itself. Where there is no transform, the task writes
the files and gives back only what is in them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.sources.bridge.datasource import read_from, read_text
from hakiri.sources.bridge.schemas import arrow_schema, conformed, spark_schema
from hakiri.sources.bridge.task import SourceTask, connector_in_task
from hakiri.sources.contract import Cursor, Read, Table

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

COMPRESSION = "zstd"
_RESULT = "read bigint, file string, rows bigint, bytes bigint, sha256 string, cursor string"
_RESULT_FIELDS = ("read", "file", "rows", "bytes", "sha256", "cursor")


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedFile:
    """One file that a task wrote, and what is in it."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """What one read gave."""

    files: tuple[LandedFile, ...]
    cursor: Cursor | None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    task: str
    reads: str
    folders: tuple[str, ...]
    schema: bytes


def land(
    spark: SparkSession, task: SourceTask, table: Table, reads: Sequence[Read], folders: Sequence[Path]
) -> list[Landed]:
    """Write the rows of each read as Parquet into its folder, in tasks; what was written, read by read.

    A folder is made if it is not there, and its files are durable when this returns. A read without rows
    writes no file.
    """
    schema = arrow_schema(spark_schema(table.schema, table.name))
    job = _Job(
        task=task.text(),
        reads=read_text(reads),
        folders=tuple(str(folder) for folder in folders),
        schema=schema.serialize().to_pybytes(),
    )

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _landed(job, number)

    result = spark.range(0, len(reads), 1, len(reads)).mapInArrow(work, _RESULT).toArrow().to_pylist()
    return [_collected([row for row in result if row["read"] == number]) for number in range(len(reads))]


def _landed(job: _Job, number: int) -> pa.RecordBatch:
    read = read_from(json.loads(job.reads)[number])
    target = pa.ipc.read_schema(pa.py_buffer(job.schema))
    folder = Path(job.folders[number])
    cursor: Cursor | None = None
    file: _File | None = None
    with connector_in_task(SourceTask.parse(job.task)) as connector:
        for batch in connector.open(read):
            if batch.rows.num_rows:
                file = file or _File(folder / "part-00000.parquet", target)
                file.write(conformed(batch.rows, target, read.table))
            cursor = batch.cursor if batch.cursor is not None else cursor
        written = file.finish() if file is not None else (None, 0, 0, None)
    row = (number, *written, None if cursor is None else json.dumps(cursor))
    return pa.RecordBatch.from_arrays(
        [
            pa.array([value], type=kind)
            for value, kind in zip(
                row,
                (pa.int64(), pa.string(), pa.int64(), pa.int64(), pa.string(), pa.string()),
                strict=True,
            )
        ],
        names=list(_RESULT_FIELDS),
    )


def _collected(rows: list[dict[str, Any]]) -> Landed:
    (row,) = rows
    files = (
        (LandedFile(path=row["file"], rows=row["rows"], bytes=row["bytes"], sha256=row["sha256"]),)
        if row["file"] is not None
        else ()
    )
    return Landed(files=files, cursor=None if row["cursor"] is None else json.loads(row["cursor"]))


class _File:
    """A Parquet file while it is written; it is hashed on its way to the disk."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._rows = 0
        self._stream = _Hashed(path)
        self._writer = pq.ParquetWriter(self._stream, schema, compression=COMPRESSION)

    def write(self, rows: pa.RecordBatch) -> None:
        self._writer.write_batch(rows)
        self._rows += rows.num_rows

    def finish(self) -> tuple[str, int, int, str]:
        self._writer.close()
        size, digest = self._stream.finish()
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return str(self._path), self._rows, size, digest


class _Hashed:
    """A file that knows its own hash; only what a Parquet writer needs of one."""

    closed = False

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """The Parquet writer closes what it writes to; the file is still to be made durable."""

    def finish(self) -> tuple[int, str]:
        self._file.flush()
        os.fsync(self._file.fileno())
        size = self._file.tell()
        self._file.close()
        return size, self._hash.hexdigest()
