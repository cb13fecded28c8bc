"""Sinks that write plain Parquet: the least that a task can do with the rows of a read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle

from hakiri.sources.rejects import Reject


class ParquetSink:
    """One file, made with the first rows; the report is its path, or nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._path, rows.schema, compression="zstd")
        self._writer.write_batch(rows)

    def set_aside(self, rejects: Sequence[Reject]) -> None:
        raise AssertionError(f"{len(rejects)} rows do not fit")

    def finish(self) -> str:
        if self._writer is None:
            return ""
        self._writer.close()
        return str(self._path)

    def abandon(self) -> None:
        self._path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ParquetSinks:
    """A folder for each read."""

    folders: Sequence[Path]

    def __call__(self, number: int) -> ParquetSink:
        return ParquetSink(Path(self.folders[number]) / "part-00000.parquet")


# Tasks do not have the tests: what is defined here travels with the job.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
