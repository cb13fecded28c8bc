"""CSV without Spark: headers, schemas by inference, and rows as Arrow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.sources.errors import SchemaIncompatible, UnreadableFile
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.csv_heads import FIRST_BYTES, MOST_BYTES_OF_ROW, CsvLayout, read_head, records_in
from hakiri.sources.files.csv_values import ColumnSketch, Misfit, values_of
from hakiri.sources.files.learning import Columns, Learnt, refuse_unknown
from hakiri.sources.files.listing import FoundFile
from hakiri.sources.files.streams import PIECE, TextBytes, opened, position, share_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

MOST_BYTES_LOOKED_AT = 256 * 1024**2
READERS = 8
FILES_AT_ONCE = 512
MOST_ROWS = 65_536
RAGGED = "a line has more or fewer fields than the header"
_ROW_NUMBER = re.compile(r"Row #(\d+)")


class _TableSketch:
    """What is known of a table's columns so far."""

    def __init__(self, config: FilesConfig) -> None:
        self._columns: Columns[ColumnSketch] = Columns(ColumnSketch)
        self._null_values = config.null_values
        self._declared = config.declared
        self._is_declared = {name.casefold() for name in self._declared.names}.__contains__
        self.rows = 0

    def add_columns(self, layout: CsvLayout) -> None:
        for name in layout.columns:
            self._columns.at(name)

    def add(self, batch: pa.RecordBatch, layout: CsvLayout) -> None:
        self.rows += batch.num_rows
        for name, texts in zip(layout.columns, batch.columns, strict=True):
            if not self._is_declared(name.casefold()):
                self._columns.at(name).add(texts, self._null_values)

    def schema(self) -> pa.Schema:
        """The columns; raises SchemaIncompatible for a declared one that no file has."""
        types = {name: seen.type for name, seen in self._columns.items()}
        names = {name.casefold(): name for name in types}
        for declared in self._declared:
            if declared.name.casefold() not in names:
                meant = nearest(declared.name, types)
                raise SchemaIncompatible(
                    f"column `{declared.name}` is declared, and no file has it",
                    hint=f"did you mean `{meant}`?" if meant else "remove it from `columns`",
                )
            types[names[declared.name.casefold()]] = declared.type
        return pa.schema(list(types.items()))


class CsvFiles:
    """CSV files of one config."""

    is_open = False

    def __init__(self, config: FilesConfig) -> None:
        self.config = config

    def layouts(self, files: Sequence[FoundFile]) -> list[CsvLayout | None]:
        """The layout of each file; None for an empty one."""
        return [layout for layout, _ in self._heads(files)]

    def layout(self, file: FoundFile) -> CsvLayout | None:
        """Raises UnreadableFile for a header that is none."""
        return self._head(file)[0]

    def learn(self, files: Sequence[FoundFile]) -> Learnt:
        """The columns of all files in the order in which they first appear, with their types."""
        sketch = _TableSketch(self.config)
        total, bytes_read = sum(file.size for file in files), 0
        for start in range(0, len(files), FILES_AT_ONCE):
            some = files[start : start + FILES_AT_ONCE]
            small: dict[CsvLayout, list[tuple[FoundFile, bytes]]] = {}
            for file, (layout, body) in zip(some, self._heads(some), strict=True):
                share = share_of(file.size, total, MOST_BYTES_LOOKED_AT)
                if layout is None:
                    continue
                sketch.add_columns(layout)
                if body is not None and share is None:
                    small.setdefault(layout, []).append((file, body))
                    bytes_read += file.size
                else:
                    bytes_read += self._look_at(file, layout, sketch, share)
            for layout, bodies in small.items():
                self._look_at_small(bodies, layout, sketch)
        estimate = sketch.rows if bytes_read >= total else sketch.rows * total // max(bytes_read, 1)
        return Learnt(schema=sketch.schema(), estimated_rows=estimate)

    def _look_at(self, file: FoundFile, layout: CsvLayout, sketch: _TableSketch, share: int | None) -> int:
        """Look at a file up to the share of it; how many of its bytes that were, as they are on disk."""
        seen = 0
        with self._batches(file, layout) as (batches, text, raw):
            for batch in batches:
                sketch.add(batch, layout)
                seen += _length(batch)
                if share is not None and position(raw) >= share:
                    # Arrow has read ahead of what it gave.
                    return min(file.size, seen * position(raw) // max(text.bytes_given, 1))
        return file.size

    def _look_at_small(
        self, bodies: Sequence[tuple[FoundFile, bytes]], layout: CsvLayout, sketch: _TableSketch
    ) -> None:
        """Look at files as if they were one: opening thousands of them one by one takes a minute."""
        whole = b"\n".join(body for _, body in bodies)
        try:
            with self._reader(io.BytesIO(whole), layout, has_header=False, most_bytes=len(whole)) as reader:
                batches = list(reader)
        except pa.ArrowInvalid:
            for file, _ in bodies:
                self._look_at(file, layout, sketch, None)
            return
        for batch in batches:
            sketch.add(batch, layout)

    def _heads(self, files: Sequence[FoundFile]) -> Iterator[tuple[CsvLayout | None, bytes | None]]:
        with ThreadPoolExecutor(READERS) as readers:
            yield from readers.map(self._head, files)

    def _head(self, file: FoundFile) -> tuple[CsvLayout | None, bytes | None]:
        with self._text(file) as (text, _):
            return read_head(cast("BinaryIO", io.BufferedReader(text, FIRST_BYTES)), file, self.config)

    def batches(self, file: FoundFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows in this schema. Raises UnreadableFile with the line of the first misfit."""
        layout = self.layout(file)
        if layout is None:
            return
        refuse_unknown(file, layout.columns, schema)
        numbers = {name.casefold(): number for number, name in enumerate(layout.columns)}
        before = 0
        with self._batches(file, layout) as (batches, *_):
            for batch in batches:
                columns = []
                for field in schema:
                    number = numbers.get(field.name.casefold())
                    if number is None:
                        columns.append(pa.nulls(batch.num_rows, field.type))
                        continue
                    texts = batch.column(number)
                    try:
                        columns.append(values_of(texts, field.type, field.name, self.config.null_values))
                    except Misfit as misfit:
                        self._refuse_row(file, before + misfit.row, misfit.problem)
                before += batch.num_rows
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def frame(self, spark: SparkSession, files: Sequence[FoundFile], schema: pa.Schema) -> DataFrame:
        """The rows as Spark reads them; `explain` tells what it says of a field that does not fit."""
        from hakiri.sources.files.csv_spark import csv_frame

        layouts: dict[CsvLayout, list[FoundFile]] = {}
        for file, layout in zip(files, self.layouts(files), strict=True):
            if layout is not None:
                refuse_unknown(file, layout.columns, schema)
                layouts.setdefault(layout, []).append(file)
        return csv_frame(spark, layouts, schema, self.config)

    @contextmanager
    def _batches(
        self, file: FoundFile, layout: CsvLayout
    ) -> Iterator[tuple[Iterator[pa.RecordBatch], TextBytes, BinaryIO]]:
        """The fields as texts, by position; only what is not quoted and empty is null."""
        with self._text(file) as (text, raw):
            most = MOST_BYTES_OF_ROW if file.compression else min(MOST_BYTES_OF_ROW, 4 * file.size)
            try:
                with self._reader(
                    io.BufferedReader(text, PIECE),
                    layout,
                    has_header=self.config.header is True,
                    most_bytes=most,
                ) as reader:
                    yield self._cut(reader, file, text), text, raw
            except pa.ArrowInvalid as error:
                if "Empty CSV file" in str(error):  # a header without a line end
                    yield iter(()), text, raw
                else:
                    self._refuse(file, str(error))

    def _reader(self, text: Any, layout: CsvLayout, *, has_header: bool, most_bytes: int) -> Any:
        return pa_csv.open_csv(
            text,
            read_options=pa_csv.ReadOptions(
                use_threads=False,
                block_size=max(most_bytes, 1) + 1,
                column_names=None if has_header else list(layout.columns),
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.config.delimiter,
                quote_char=self.config.quote or False,
                newlines_in_values=self.config.multiline,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys((*layout.raw_names, *layout.columns), pa.string()),
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=False,
            ),
        )

    def _cut(
        self, batches: Iterator[pa.RecordBatch], file: FoundFile, text: TextBytes
    ) -> Iterator[pa.RecordBatch]:
        """The batches in pieces; at the end raises UnreadableFile for a quote that is never closed."""
        rows, last = 0, None
        for batch in batches:
            for start in range(0, batch.num_rows, MOST_ROWS):
                yield batch.slice(start, MOST_ROWS)
            rows += batch.num_rows
            last = batch.column(batch.num_columns - 1)[-1].as_py() if batch.num_rows else last
        # Arrow, like Spark, takes the whole rest of the file for the last field then.
        if last and re.search(r"[\r\n]", last) and text.last_byte != self.config.quote.encode():
            self._refuse_row(file, rows - 1, "a quote is never closed")

    @contextmanager
    def _text(self, file: FoundFile) -> Iterator[tuple[TextBytes, BinaryIO]]:
        errors = "strict" if self.config.invalid_bytes == "fail" else "replace"
        with opened(file) as (stream, raw):
            try:
                yield TextBytes(stream, encoding=self.config.encoding, errors=errors), raw
            except UnicodeDecodeError as error:
                raise self._not_text(file) from error

    def _refuse(self, file: FoundFile, told: str) -> NoReturn:
        """Say what Arrow says of a file, but for the line itself, which it repeats."""
        row = _ROW_NUMBER.search(told)
        if "UTF8" in told:
            raise self._not_text(file) from None
        if "straddles" in told:
            raise UnreadableFile(
                file.name,
                f"a row is longer than {MOST_BYTES_OF_ROW // 1024**2} MiB, or a quote is never closed",
                Place(file.name),
            ) from None
        first = 2 if self.config.header is True else 1
        self._refuse_row(file, int(row[1]) - first if row else None, RAGGED)

    def _refuse_row(self, file: FoundFile, row: int | None, problem: str) -> NoReturn:
        line = None if row is None else self._line_of(file, row)
        raise UnreadableFile(file.name, problem, Place(file.name, line)) from None

    def _not_text(self, file: FoundFile) -> UnreadableFile:
        problem = f"it holds bytes that are not {self.config.encoding}; say in `encoding` how it is written"
        return UnreadableFile(file.name, problem, Place(file.name))

    def _line_of(self, file: FoundFile, row: int) -> int | None:
        """The line at which a row begins, counted as editors do; rows of the header do not count."""
        with self._text(file) as (text, _):
            lines = io.TextIOWrapper(io.BufferedReader(text), encoding="utf-8", errors="replace", newline="")
            records = records_in(lines, self.config)
            before = 0
            wanted = row + (1 if self.config.header is True else 0)
            try:
                for record in records:
                    if record:  # empty lines are no rows
                        if not wanted:
                            return before + 1
                        wanted -= 1
                    before = records.line_num
            except csv.Error:
                return None  # a field that is too long for this reader
        return None


def _length(batch: pa.RecordBatch) -> int:
    """About how many bytes the rows take in a file: their fields, and a sign after each."""
    fields = sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in batch.columns)
    return int(fields + batch.num_rows * batch.num_columns)
