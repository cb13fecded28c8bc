"""The connector itself: tables, cursors and reads over files of one format."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from hakiri.core.cursors import CursorKind
from hakiri.sources.contract import (
    EXTRA_COLUMN,
    Batch,
    Context,
    Cursor,
    Extent,
    Hint,
    NativeConnector,
    Read,
    Table,
)
from hakiri.sources.errors import NoFiles, PermanentFailure
from hakiri.sources.files.columnar import ColumnarFiles
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.csv_files import CsvFiles
from hakiri.sources.files.globs import TABLE_SIGN, fixed_folder, for_table, table_names
from hakiri.sources.files.json_lines import JsonLines
from hakiri.sources.files.learning import FileFormat, Learnt
from hakiri.sources.files.listing import FoundFile, Selection, list_files, select_files

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from hakiri.core.errors import HakiriError

# What a read may be cut by: one file, or the names of several as a list in JSON.
FILE = "file"
FILES = "files"
# Into how many lots files are divided, if that does not make them small.
MOST_PIECES = 64
BYTES_OF_PIECE = 32 * 1024**2
# A cursor names every file that was read: one after each of many files would be as much as the files squared.
MOST_CURSORS = 100
DEFAULT_TABLE = "files"
_STEP = 1024


class FilesConnector(NativeConnector):
    """Files by glob. Spark reads them by itself; a sample needs no Spark."""

    Config = FilesConfig
    summary: ClassVar[str] = "CSV, JSON Lines, Parquet and ORC files by glob"

    def __init__(self, config: FilesConfig, context: Context) -> None:
        super().__init__(config, context)
        self._format = _format(config)
        # `frame` reads what `cursor_after` has planned: a file that comes between them is for the next run.
        self._planned: tuple[Read, Selection] | None = None
        self._framed: list[tuple[Sequence[FoundFile], pa.Schema]] = []

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        """One table for each name; without `{table}` in the path, all files are the one table of any name."""
        names = self._table_names() if only is None else list(only)
        if len(names) > 1 and not self.config.has_tables:
            raise PermanentFailure(
                f"the files are one table, and the pipeline names {len(names)}: {', '.join(names)}",
                hint=f"write `{TABLE_SIGN}` in `path` where the table's name stands",
            )
        return [self._table(name) for name in names]

    def _table(self, name: str) -> Table:
        learnt = self._learn(name, self._files(name))
        return Table(
            name=name,
            schema=learnt.schema,
            estimated_rows=learnt.estimated_rows,
            is_open=self._format.is_open,
        )

    def _learn(self, table: str, files: Sequence[FoundFile]) -> Learnt:
        learnt = self._format.learn(files)
        if not [name for name in learnt.schema.names if not self._format.is_open or name != EXTRA_COLUMN]:
            raise PermanentFailure(
                f"the files of table `{table}` have no columns: they are all empty",
                hint="wait for a file with rows, or remove the pipeline",
            )
        return learnt

    def backfill_hint(self, table: str) -> Hint:
        """The cursor is opaque: it names the files that were read."""
        return Hint(cursor_kind=CursorKind.OPAQUE_TOKEN)

    def extent(self, table: str, column: str) -> Extent:
        """Rows as the footers say, or as many as the part that was looked at lets expect."""
        return Extent(rows=self._learn(table, self._files(table)).estimated_rows)

    def open(self, read: Read) -> Iterator[Batch]:
        """The rows without Spark, file by file; the cursor comes with the last rows of a file."""
        selection, schema = self._select(read), self._schema_of(read)
        every = max(1, len(selection.files) // MOST_CURSORS)
        last = len(selection.files)
        held: Batch | None = None
        rows = 0
        for number, file in enumerate(selection.files, start=1):
            for batch in self._format.batches(file, schema, sets_aside=read.sets_aside):
                if held is not None:
                    yield held
                held = batch
                rows += batch.rows.num_rows + len(batch.rejects)
                if read.limit is not None and rows >= read.limit:
                    yield held
                    return
            if number == last or (number % every == 0 and held is not None):
                rest = held if held is not None else Batch(rows=pa.RecordBatch.from_pylist([], schema))
                yield replace(rest, cursor=selection.cursor(selection.files[:number]))
                held = None

    def frame(self, spark: SparkSession, read: Read) -> DataFrame:
        """The rows as Spark reads them, in the order of the schema's columns; rows have no order."""
        from hakiri.sources.files.frames import empty_frame

        planned = self._planned
        selection = planned[1] if planned is not None and planned[0] == read else self._select(read)
        self._planned = None
        schema = self._schema_of(read)
        self._framed.append((selection.files, schema))
        if not selection.files:
            return empty_frame(spark, schema, read.table)
        return self._format.frame(spark, selection.files, schema, is_strict=read.sets_aside)

    def cursor_after(self, read: Read) -> Cursor | None:
        """Every file of the read as it is now. One that changes later is read again the next time."""
        selection = self._select(read)
        self._planned = (read, selection)
        return selection.cursor(selection.files)

    def pieces(self, read: Read, *, is_one: bool = False) -> Sequence[Read]:
        """The files that were planned in lots of about the same size, each read for itself."""
        planned = self._planned
        selection = planned[1] if planned is not None and planned[0] == read else self._select(read)
        enough = max(sum(file.size for file in selection.files) // MOST_PIECES, BYTES_OF_PIECE)
        lots: list[list[str]] = []
        room = 0
        for file in selection.files:
            if not lots or (room <= 0 and not is_one):
                lots.append([])
                room = enough
            lots[-1].append(file.name)
            room -= file.size
        return [replace(read, cursor=None, partition={FILES: json.dumps(names)}) for names in lots]

    def has_news(self, read: Read) -> bool:
        """Whether there is a file that was not read, or has changed since."""
        return bool(self._select(read).files)

    def explain(self, error: PySparkException) -> HakiriError | None:
        """The file that Spark could not read, found among those of the frames, with the line if it shows."""
        from hakiri.sources.files.failures import unreadable_file

        return unreadable_file(error, self._framed, self._format)

    def check(self) -> str:
        """How many files there are, their size, and the newest."""
        files = self._files(None)
        newest = max(files, key=lambda file: (file.mtime_ns, file.name))
        at = datetime.fromtimestamp(newest.mtime_ns / 1e9, UTC)
        count = "1 file" if len(files) == 1 else f"{len(files):,} files"
        size = _size(sum(file.size for file in files))
        return f"{count}, {size}, the newest is {newest.name} of {at:%Y-%m-%d %H:%M} UTC"

    def _select(self, read: Read) -> Selection:
        if read.window is not None:
            raise PermanentFailure("files cannot be cut by a window", hint="read them as a whole")
        unknown = [key for key in read.partition if key not in (FILE, FILES)]
        if unknown:
            raise PermanentFailure(f"files are not cut by `{unknown[0]}`", hint=f"cut them by `{FILE}`")
        files = self._files(read.table)
        if read.partition:
            names = [read.partition[FILE]] if FILE in read.partition else json.loads(read.partition[FILES])
            found = {file.name: file for file in files}
            if gone := [name for name in names if name not in found]:
                raise NoFiles(gone[0])
            files = [found[name] for name in names]
        return select_files(files, read.cursor, changed=self.config.changed, now=self.context.clock.now())

    def _schema_of(self, read: Read) -> pa.Schema:
        if read.schema is not None:
            return read.schema
        return self._learn(read.table, self._files(read.table)).schema

    def _files(self, table: str | None) -> list[FoundFile]:
        """The files of one table, or of all."""
        globs = [
            glob.replace(TABLE_SIGN, "*") if table is None else for_table(glob, table)
            for glob in self.config.path
        ]
        return list_files(self.context.root, globs)

    def _table_names(self) -> list[str]:
        files = self._files(None)
        if not self.config.has_tables:
            return [fixed_folder(self.config.path[0]) or DEFAULT_TABLE]
        found: set[str] = set()
        for glob in self.config.path:
            found |= table_names(os.path.normpath(glob), [file.name for file in files])
        return sorted(found)


def _format(config: FilesConfig) -> FileFormat:
    match config.format:
        case "csv":
            return CsvFiles(config)
        case "jsonl":
            return JsonLines(config)
        case "parquet" | "orc":
            return ColumnarFiles(config)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} TiB"
