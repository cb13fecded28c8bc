"""One Parquet file of an attempt while it is written: hashed on its way to the disk, durable at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.store.files import Files, Outlet, make_folders
from hakiri.store.manifests import WrittenFile
from hakiri.store.rows import CONTENT_HASH, POSITION
from hakiri.store.texts import is_any

COMPRESSION = "zstd"
ROWS_A_GROUP = 122_880  # as many as DuckDB gives to one thread at a time
BYTES_A_GROUP = 64 << 20
# Of snapshots, where single rows are looked up: what is decoded for one (ADR 0014).
PAGE_BYTES = 128 << 10
DICTIONARY_BYTES = 128 << 10
_NEXT_NUMBER = 100_000  # above every number that Spark gives to a partition
_BUFFER_BYTES = 1 << 20
_STEPS = "DELTA_BINARY_PACKED"


class PartFile:
    """A file that is made when its first row group is full, so that no rows make no file.

    Where a row group ends is decided by the rows alone, and each is written in one piece: the same rows give
    the same bytes, however they came.
    """

    def __init__(
        self,
        folder: Path,
        *,
        stem: str,
        part: int,
        schema: pa.Schema,
        files: Files,
        rows_a_group: int,
        sorted_by: tuple[str, ...] = (),
        tuning: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._sorted_by = sorted_by
        self._tuning = tuning
        self._folder = folder
        self._stem = stem
        self._part = part
        self._schema = schema
        self._files = files
        self._rows_a_group = rows_a_group
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._rows = 0
        self._open: _OpenFile | None = None

    def write(self, rows: pa.RecordBatch, sizes: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Take rows, with the bytes that each is worth."""
        start = 0
        while start < rows.num_rows:
            worth = np.cumsum(sizes[start : start + self._rows_a_group - self._pending_rows])
            fitting = int(np.searchsorted(worth, BYTES_A_GROUP - self._pending_bytes))
            taken = min(fitting + 1, len(worth))
            self._pending.append(rows.slice(start, taken))
            self._pending_rows += taken
            self._pending_bytes += int(worth[taken - 1])
            start += taken
            if self._pending_rows >= self._rows_a_group or self._pending_bytes >= BYTES_A_GROUP:
                self._write_group()

    def finish(self) -> WrittenFile | None:
        """Make the file durable. Its name in the folder is not, until the folder is synced."""
        if self._pending_rows:
            self._write_group()
        if self._open is None:
            return None
        self._open.writer.close()
        size, digest = self._open.stream.finish()
        return WrittenFile(name=self._open.name, rows=self._rows, bytes=size, sha256=digest)

    def abandon(self) -> None:
        """Remove what was written."""
        if self._open is None:
            return
        self._open.stream.abandon()
        with suppress(Exception):  # it may have failed before; what it writes now goes nowhere
            self._open.writer.close()
        self._files.remove(self._folder / self._open.name)

    def _write_group(self) -> None:
        group = pa.Table.from_batches(self._pending, self._schema).combine_chunks()
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        self._open = self._open or self._opened()
        self._open.writer.write_table(group, row_group_size=group.num_rows)
        self._rows += group.num_rows

    def _opened(self) -> _OpenFile:
        make_folders(self._files, self._folder, is_synced=False)  # they are when the attempt is sealed
        name, outlet = self._created()
        stream = _Stream(outlet)
        plain = {CONTENT_HASH: "PLAIN", POSITION: _STEPS}  # no value comes twice
        plain |= {name: _STEPS for name in self._sorted_by if _is_steps(self._schema.field(name).type)}
        writer = pq.ParquetWriter(
            stream,
            self._schema,
            compression=COMPRESSION,
            use_dictionary=[path for path in _leaf_paths(self._schema) if path not in plain],
            column_encoding={name: kind for name, kind in plain.items() if name in self._schema.names},
            **self._tuning,
        )
        return _OpenFile(name=name, stream=stream, writer=writer)

    def _created(self) -> tuple[str, Outlet]:
        """A task that is tried again finds the file of the one before, which may still be at work."""
        number = self._part
        while True:
            name = f"{self._stem}-{number:05d}.parquet"
            try:
                return name, self._files.create(self._folder / name)
            except FileExistsError:
                number += _NEXT_NUMBER


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenFile:
    name: str
    stream: _Stream
    writer: pq.ParquetWriter


class _Stream:
    """What the Parquet writer writes to: it hashes what passes, and hands it on in large pieces."""

    closed = False

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._is_abandoned = False
        self._hash = hashlib.sha256()
        self._buffer = bytearray()
        self._size = 0

    def write(self, data: bytes) -> int:
        size = len(data)
        if not self._is_abandoned:
            self._buffer += data
            self._size += size
            if len(self._buffer) >= _BUFFER_BYTES:
                self._hand_on()
        return size

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """The Parquet writer asks for it after every group; a buffer that is full is early enough."""

    def close(self) -> None:
        """The Parquet writer closes what it writes to; the file is still to be made durable."""

    def finish(self) -> tuple[int, str]:
        self._hand_on()
        self._outlet.sync()
        self._outlet.close()
        return self._size, self._hash.hexdigest()

    def abandon(self) -> None:
        """From now on what is written is dropped."""
        self._is_abandoned = True
        self._outlet.close()
        self._buffer.clear()

    def _hand_on(self) -> None:
        data = bytes(self._buffer)
        self._buffer.clear()
        self._hash.update(data)
        self._outlet.write(data)


def _is_steps(kind: pa.DataType) -> bool:
    """Whether sorted values of a type are best told by the steps from one to the next."""
    return is_any(kind, pa.types.is_integer, pa.types.is_timestamp, pa.types.is_date)


def _leaf_paths(schema: pa.Schema) -> Iterator[str]:
    """The columns as Parquet counts them: every leaf, by its path."""
    for field in schema:
        yield from _paths_in(field.type, field.name)


def _paths_in(kind: pa.DataType, path: str) -> Iterator[str]:
    if pa.types.is_struct(kind):
        for field in kind.fields:
            yield from _paths_in(field.type, f"{path}.{field.name}")
    elif pa.types.is_map(kind):
        yield from _paths_in(kind.key_type, f"{path}.key_value.key")
        yield from _paths_in(kind.item_type, f"{path}.key_value.value")
    elif pa.types.is_list(kind):
        yield from _paths_in(kind.value_type, f"{path}.list.element")
    else:
        yield path
