"""CSV without Spark: headers, schemas by inference, and rows as Arrow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.sources.contract import Batch
from hakiri.sources.errors import BadRecord, SchemaIncompatible, UnreadableFile
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.csv_heads import FIRST_BYTES, MOST_BYTES_OF_ROW, CsvLayout, read_head, records_in
from hakiri.sources.files.csv_sifting import Ragged, Sieve, decoded
from hakiri.sources.files.csv_values import ColumnSketch
from hakiri.sources.files.learning import Columns, Learnt, refuse_unknown
from hakiri.sources.files.listing import FoundFile
from hakiri.sources.files.streams import NO_CHARACTER, PIECE, TextBytes, opened, position, share_of
from hakiri.sources.rejects import Reject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

MOST_BYTES_LOOKED_AT = 256 * 1024**2
READERS = 8
FILES_AT_ONCE = 512
MOST_ROWS = 65_536


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A file while it is read: its records, the bytes that they are of, and those that were left out."""

    batches: Iterator[pa.RecordBatch]
    text: TextBytes
    raw: BinaryIO
    ragged: Ragged


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
        """The columns of all files in the order in which they first appear, with their types.

        A record that cannot be read tells nothing of its columns. Whoever reads it tells of it.
        """
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
        with self._records(file, layout) as reading:
            for records in reading.batches:
                sketch.add(decoded(records, has_marks=reading.text.has_marks).whole, layout)
                seen += _length(records)
                if share is not None and position(reading.raw) >= share:
                    # Arrow has read ahead of what it gave.
                    return min(file.size, seen * position(reading.raw) // max(reading.text.bytes_given, 1))
        return file.size

    def _look_at_small(
        self, bodies: Sequence[tuple[FoundFile, bytes]], layout: CsvLayout, sketch: _TableSketch
    ) -> None:
        """Look at files as if they were one: opening thousands of them one by one takes a minute."""
        whole = b"\n".join(body for _, body in bodies)
        try:
            with self._reader(
                io.BytesIO(whole),
                layout,
                Ragged(is_header_counted=False, quote=""),
                has_header=False,
                most_bytes=len(whole),
            ) as reader:
                has_marks = NO_CHARACTER.encode() in whole
                batches = [decoded(records, has_marks=has_marks).whole for records in reader]
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

    def batches(self, file: FoundFile, schema: pa.Schema, *, sets_aside: bool = False) -> Iterator[Batch]:
        """The rows in this schema. Raises BadRecord with the line of the first misfit, or sets it aside."""
        layout = self.layout(file)
        if layout is None:
            return
        refuse_unknown(file, layout.columns, schema)
        sieve = Sieve(
            file=file.name,
            layout=layout,
            schema=schema,
            null_values=self.config.null_values,
            encoding=self.config.encoding,
        )
        before = 0
        with self._records(file, layout) as reading:
            for records in reading.batches:
                rows, misfits = sieve.sifted(records, has_marks=reading.text.has_marks)
                numbered = {
                    reading.ragged.number_in_file(before + row): each for row, each in misfits.items()
                }
                before += records.num_rows
                yield self._batch(
                    file, rows, numbered | reading.ragged.taken(file.name), sets_aside=sets_aside
                )
            if late := reading.ragged.taken(file.name):
                nothing = pa.RecordBatch.from_pylist([], schema)
                yield self._batch(file, nothing, late, sets_aside=sets_aside)

    def _batch(
        self, file: FoundFile, rows: pa.RecordBatch, rejects: Mapping[int, Reject], *, sets_aside: bool
    ) -> Batch:
        if rejects and not sets_aside:
            number = min(rejects)
            first = rejects[number]
            is_undecoded = first.problem == f"is not {self.config.encoding}"
            raise BadRecord(
                file.name,
                first.problem,
                Place(file.name, self._line_of(file, number)),
                column=first.column,
                value=first.value,
                remedy="mend the row"
                + (", say in `encoding` how the file is written" if is_undecoded else ""),
            )
        return Batch(rows=rows, rejects=tuple(rejects[number] for number in sorted(rejects)))

    def frame(
        self, spark: SparkSession, files: Sequence[FoundFile], schema: pa.Schema, *, is_strict: bool
    ) -> DataFrame:
        """The rows as Spark reads them, always strictly; `explain` tells what it says of a misfit."""
        from hakiri.sources.files.csv_spark import csv_frame

        layouts: dict[CsvLayout, list[FoundFile]] = {}
        for file, layout in zip(files, self.layouts(files), strict=True):
            if layout is not None:
                refuse_unknown(file, layout.columns, schema)
                layouts.setdefault(layout, []).append(file)
        return csv_frame(spark, layouts, schema, self.config)

    @contextmanager
    def _records(self, file: FoundFile, layout: CsvLayout) -> Iterator[_Reading]:
        """The fields as texts, by position; only what is not quoted and empty is null."""
        has_header = self.config.header is True
        ragged = Ragged(is_header_counted=has_header, quote=self.config.quote)
        with self._text(file) as (text, raw):
            most = MOST_BYTES_OF_ROW if file.compression else min(MOST_BYTES_OF_ROW, 4 * file.size)
            try:
                with self._reader(
                    io.BufferedReader(text, PIECE), layout, ragged, has_header=has_header, most_bytes=most
                ) as reader:
                    yield _Reading(
                        batches=self._cut(reader, file, text, ragged), text=text, raw=raw, ragged=ragged
                    )
            except pa.ArrowInvalid as error:
                if "Empty CSV file" not in str(error):
                    self._refuse(file, str(error), ragged)
                # A header without a line end.
                yield _Reading(batches=iter(()), text=text, raw=raw, ragged=ragged)

    def _reader(
        self, text: Any, layout: CsvLayout, ragged: Ragged, *, has_header: bool, most_bytes: int
    ) -> Any:
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
                invalid_row_handler=ragged.leave_out,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys((*layout.raw_names, *layout.columns), pa.string()),
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=False,
                check_utf8=False,  # it is
            ),
        )

    def _cut(
        self, batches: Iterator[pa.RecordBatch], file: FoundFile, text: TextBytes, ragged: Ragged
    ) -> Iterator[pa.RecordBatch]:
        """The batches in pieces; at the end raises UnreadableFile for a quote that is never closed."""
        rows, last = 0, None
        for batch in batches:
            for start in range(0, batch.num_rows, MOST_ROWS):
                yield batch.slice(start, MOST_ROWS)
            rows += batch.num_rows
            last = batch.column(batch.num_columns - 1)[-1].as_py() if batch.num_rows else last
        # Arrow, like Spark, takes the whole rest of the file for the last field then.
        is_last = not ragged.is_behind(ragged.number_in_file(rows - 1))
        has_line_end = bool(last and re.search(r"[\r\n]", last))
        if is_last and has_line_end and text.last_byte != self.config.quote.encode():
            self._refuse_open_quote(file, ragged.number_in_file(rows - 1))

    @contextmanager
    def _text(self, file: FoundFile) -> Iterator[tuple[TextBytes, BinaryIO]]:
        is_replaced = self.config.invalid_bytes == "replace"
        with opened(file) as (stream, raw):
            yield TextBytes(stream, encoding=self.config.encoding, is_replaced=is_replaced), raw

    def _refuse_open_quote(self, file: FoundFile, number: int) -> NoReturn:
        place = Place(file.name, self._line_of(file, number))
        raise UnreadableFile(file.name, "a quote is never closed", place) from None

    def _refuse(self, file: FoundFile, told: str, ragged: Ragged) -> NoReturn:
        """Say what Arrow says of a file, but for the line itself, which it repeats."""
        if ragged.open_at is not None:
            self._refuse_open_quote(file, ragged.open_at)
        problem = "Arrow does not read it"
        if "straddles" in told:
            problem = f"a row is longer than {MOST_BYTES_OF_ROW // 1024**2} MiB, or a quote is never closed"
        raise UnreadableFile(file.name, problem, Place(file.name)) from None

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
