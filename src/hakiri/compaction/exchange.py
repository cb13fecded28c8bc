"""Rows on their way from many files into ranges: Arrow files of one compaction, which nobody else reads.

Spark's own shuffle would turn Arrow's columns into rows of the JVM and back. Here they stay columns from the
first file to the last: a task writes one file a range, and the task of a range maps those of its range into
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from hakiri.compaction.ordering import Ranges

ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """The files that one task wrote, one for each range that it had rows for, and their rows."""

    paths: dict[int, str]
    rows: dict[int, int]


@dataclass(kw_only=True)
class Scatter:
    """Sends rows to files, one for each range. A task that is tried again has files of its own."""

    folder: Path
    stem: str
    schema: pa.Schema
    ranges: Ranges
    _waiting: list[pa.RecordBatch] = field(default_factory=list)
    _waiting_rows: int = 0
    _writers: dict[int, pa.RecordBatchStreamWriter] = field(default_factory=dict)
    _rows: dict[int, int] = field(default_factory=dict)

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        if self._waiting_rows >= ROWS_AT_ONCE:
            self._send()

    def finish(self) -> Pieces:
        if self._waiting_rows:
            self._send()
        for writer in self._writers.values():
            writer.close()
        return Pieces(
            paths={number: str(self._path(number)) for number in self._writers}, rows=dict(self._rows)
        )

    def _send(self) -> None:
        rows = pa.Table.from_batches(self._waiting, self.schema).combine_chunks()
        self._waiting, self._waiting_rows = [], 0
        numbers = self.ranges.of(rows)
        places = np.argsort(numbers, kind="stable")
        ordered = rows.take(pa.array(places))
        ends = np.searchsorted(numbers[places], np.arange(self.ranges.count + 1))
        for number in range(self.ranges.count):
            start, count = int(ends[number]), int(ends[number + 1] - ends[number])
            if count:
                self._writer(number).write_table(ordered.slice(start, count))
                self._rows[number] = self._rows.get(number, 0) + count

    def _writer(self, number: int) -> pa.RecordBatchStreamWriter:
        if number not in self._writers:
            sink = pa.OSFile(str(self._path(number)), "wb")
            self._writers[number] = pa.ipc.new_stream(sink, self.schema)
        return self._writers[number]

    def _path(self, number: int) -> Path:
        return self.folder / f"{self.stem}-{number}.arrow"


def gathered(paths: Iterable[str], schema: pa.Schema) -> pa.Table:
    """The rows of a range, from all the files that have any; on the disk until they are looked at."""
    tables = [pa.ipc.open_stream(pa.memory_map(path)).read_all() for path in paths]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def made_folder(folder: Path) -> Path:
    """A folder for tasks to write into. They do not make it themselves: one that goes on after its compaction
    was given up would make anew what was taken away."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def by_range(pieces: Sequence[Pieces]) -> dict[int, tuple[tuple[str, ...], int]]:
    """The files of each range that has any, and how many rows they have."""
    numbers = sorted({number for each in pieces for number in each.paths})
    return {
        number: (
            tuple(each.paths[number] for each in pieces if number in each.paths),
            sum(each.rows.get(number, 0) for each in pieces),
        )
        for number in numbers
    }
