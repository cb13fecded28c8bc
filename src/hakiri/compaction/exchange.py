"""Rows on their way from many files into ranges: Arrow files of one compaction, which nobody else reads.

Spark's own shuffle would turn Arrow's columns into rows of the JVM and back. Here they stay columns from the
first file to the last: a task writes one file, in which the rows of each range stand together, and the task
of a range maps the files into memory and looks at its own rows alone. At the end of a file is a table that
says where the rows of each range begin and end, once for each time that rows were sent, and how large it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from hakiri.compaction.ordering import Numbers, Ranges

ROWS_AT_ONCE = 100_000
# A task with many ranges collects more before it sends it on, so that what each has of it is worth a look at
# the disk; but no more than so many bytes.
_ROWS_A_RANGE = 512
_BYTES_AT_ONCE = 64 << 20
_NUMBER = np.dtype("<i8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The rows of one range in the file of one task."""

    path: str
    range: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """The file that one task wrote, and how many rows it has of each range that it has any of."""

    path: str
    rows: dict[int, int]


@dataclass(kw_only=True)
class Scatter:
    """Sends rows to ranges, into one file. A task that is tried again has a file of its own."""

    folder: Path
    stem: str
    schema: pa.Schema
    ranges: Ranges
    bytes_at_once: int = _BYTES_AT_ONCE
    _waiting: list[pa.RecordBatch] = field(default_factory=list)
    _waiting_rows: int = 0
    _waiting_bytes: int = 0
    _open: _File | None = None
    _ends: list[list[int]] = field(default_factory=list)
    _rows: dict[int, int] = field(default_factory=dict)

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        self._waiting_bytes += rows.nbytes
        enough = max(ROWS_AT_ONCE, self.ranges.count * _ROWS_A_RANGE)
        if self._waiting_rows >= enough or self._waiting_bytes >= self.bytes_at_once:
            self._send()

    def finish(self) -> Pieces:
        if self._waiting_rows:
            self._send()
        if self._open is not None:
            self._open.close(self._ends)
        return Pieces(path=str(self._path), rows=self._rows)

    def _send(self) -> None:
        rows = pa.Table.from_batches(self._waiting, self.schema).combine_chunks()
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        numbers = self.ranges.of(rows)
        places = np.argsort(numbers, kind="stable")
        ordered = rows.take(pa.array(places))
        starts = np.searchsorted(numbers[places], np.arange(self.ranges.count + 1)).tolist()
        self._open = self._open or _File(self._path, self.schema)
        ends = [self._open.size]
        for number, (start, end) in enumerate(pairwise(starts)):
            if start < end:
                self._open.write(ordered.slice(start, end - start))
                self._rows[number] = self._rows.get(number, 0) + end - start
            ends.append(self._open.size)
        self._ends.append(ends)

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.stem}.arrow"


class _File:
    """A stream of Arrow with a table of places behind it."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._rows = pa.ipc.new_stream(self._sink, schema)

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        self._rows.write_table(rows)

    def close(self, places: Sequence[Sequence[int]]) -> None:
        self._rows.close()
        self._sink.write(np.array(places, _NUMBER).tobytes())
        self._sink.write(np.array([len(places), len(places[0])], _NUMBER).tobytes())
        self._sink.close()


def gathered(pieces: Iterable[Piece], schema: pa.Schema) -> pa.Table:
    """The rows of a range, from all the files that have any; on the disk until they are looked at."""
    return pa.Table.from_batches([rows for piece in pieces for rows in _mapped(piece, schema)], schema)


def _mapped(piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(piece.path) as file:
        data = file.read_buffer()
    times, width = _numbers(data, data.size, 2)
    ends = _numbers(data, data.size - 2 * _NUMBER.itemsize, times * width).reshape(times, width)
    for start, end in ends[:, piece.range : piece.range + 2].tolist():
        reader = pa.BufferReader(data.slice(start, end - start))
        while reader.tell() < end - start:
            message = pa.ipc.read_message(reader)
            if message.type != "schema":  # which the first rows of all come with
                yield pa.ipc.read_record_batch(message, schema)


def _numbers(data: pa.Buffer, end: int, count: int) -> Numbers:
    """So many numbers that end there."""
    return np.frombuffer(data, _NUMBER, count, end - count * _NUMBER.itemsize)


def made_folder(folder: Path) -> Path:
    """A folder for tasks to write into. They do not make it themselves: one that goes on after its compaction
    was given up would make anew what was taken away."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def by_range(pieces: Sequence[Pieces]) -> dict[int, tuple[tuple[Piece, ...], int]]:
    """The pieces of each range that has any, and how many rows they have."""
    numbers = sorted({number for each in pieces for number in each.rows})
    return {
        number: (
            tuple(Piece(path=each.path, range=number) for each in pieces if number in each.rows),
            sum(each.rows.get(number, 0) for each in pieces),
        )
        for number in numbers
    }
