"""CSV without Spark: headers, schemas by inference, and rows as Arrow."""

from __future__ import annotations

import csv
import io
import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.csv as pa_csv

from hakiri.core.errors import Place
from hakiri.sources.errors import UnreadableFile
from hakiri.sources.files.config import FilesConfig
from hakiri.sources.files.csv_values import ColumnSketch, Misfit, values_of
from hakiri.sources.files.learning import Columns, Learnt, refuse_unknown
from hakiri.sources.files.listing import FoundFile
from hakiri.sources.files.streams import BOM, PIECE, TextBytes, opened, position, share_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

LineEnd: TypeAlias = Literal["\n", "\r\n", "\r"]

MOST_BYTES_LOOKED_AT = 256 * 1024**2
# A row does not fit into more: Arrow reads blocks, and a quote that is never closed would swallow a file.
MOST_BYTES_OF_ROW = 8 * 1024**2
FIRST_BYTES = 64 * 1024
READERS = 8
MOST_ROWS = 65_536
RAGGED = "a line has more or fewer fields than the header"
_ROW_NUMBER = re.compile(r"Row #(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLayout:
    """How a file is written: the names as they stand in it, the columns they are, and how its lines end."""

    raw_names: tuple[str, ...]
    columns: tuple[str, ...]
    line_end: LineEnd


class CsvFiles:
    """CSV files of one config."""

    is_open = False

    def __init__(self, config: FilesConfig) -> None:
        self.config = config

    def layouts(self, files: Sequence[FoundFile]) -> list[CsvLayout | None]:
        """The layout of each file; None for an empty one."""
        with ThreadPoolExecutor(READERS) as readers:
            return list(readers.map(self.layout, files))

    def layout(self, file: FoundFile) -> CsvLayout | None:
        """Raises UnreadableFile for a header that is none."""
        with self._text(file) as (text, _):
            start = _first_record(io.BufferedReader(text, FIRST_BYTES), file, self.config.quote)
        if start is None:
            return None
        record, line_end = start
        fields = next(csv.reader([record], delimiter=self.config.delimiter, **_quoting(self.config)))
        header = self.config.header
        if header is True:
            columns = [name.strip() or f"c{number}" for number, name in enumerate(fields, start=1)]
        else:
            columns = list(header) if header else [f"c{number}" for number in range(1, len(fields) + 1)]
            fields = columns
        twice = [name for name, count in Counter(map(str.casefold, columns)).items() if count > 1]
        if twice:
            raise UnreadableFile(
                file.name, f"its header has `{twice[0]}` more than once", Place(file.name, 1)
            )
        return CsvLayout(raw_names=tuple(fields), columns=tuple(columns), line_end=line_end)

    def learn(self, files: Sequence[FoundFile]) -> Learnt:
        """The columns of all files in the order in which they first appear, with the types of their fields."""
        columns: Columns[ColumnSketch] = Columns(ColumnSketch)
        declared = {field.name.casefold(): field.type for field in self.config.declared}
        total, rows, bytes_read = sum(file.size for file in files), 0, 0
        for file, layout in zip(files, self.layouts(files), strict=True):
            if layout is None:
                continue
            sketches = [columns.at(name) for name in layout.columns]
            share = share_of(file.size, total, MOST_BYTES_LOOKED_AT)
            with self._batches(file, layout) as (batches, raw):
                for batch in batches:
                    rows += batch.num_rows
                    for name, sketch, texts in zip(layout.columns, sketches, batch.columns, strict=True):
                        if name.casefold() not in declared:
                            sketch.add(texts, self.config.null_values)
                    if share is not None and position(raw) >= share:
                        break
                bytes_read += min(position(raw), file.size)
        schema = pa.schema(
            [(name, declared.get(name.casefold(), sketch.type)) for name, sketch in columns.items()]
        )
        estimate = rows * total // bytes_read if bytes_read else 0
        return Learnt(schema=schema, estimated_rows=estimate if bytes_read < total else rows)

    def batches(self, file: FoundFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows in this schema. Raises UnreadableFile with the line of the first field that does not fit."""
        layout = self.layout(file)
        if layout is None:
            return
        refuse_unknown(file, layout.columns, schema)
        numbers = {name.casefold(): number for number, name in enumerate(layout.columns)}
        before = 0
        with self._batches(file, layout) as (batches, _):
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
    ) -> Iterator[tuple[Iterator[pa.RecordBatch], BinaryIO]]:
        """The fields as texts, by position; only what is not quoted and empty is null."""
        with self._text(file) as (text, raw):
            try:
                reader = pa_csv.open_csv(
                    io.BufferedReader(text, PIECE),
                    read_options=pa_csv.ReadOptions(
                        use_threads=False,
                        block_size=MOST_BYTES_OF_ROW,
                        column_names=None if self.config.header is True else list(layout.columns),
                    ),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.config.delimiter,
                        quote_char=self.config.quote or False,
                        newlines_in_values=self.config.multiline,
                    ),
                    convert_options=pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(layout.raw_names, pa.string()),
                        strings_can_be_null=True,
                        null_values=[""],
                        quoted_strings_can_be_null=False,
                    ),
                )
                with reader:
                    yield self._cut(reader, file, text), raw
            except pa.ArrowInvalid as error:
                self._refuse(file, str(error))

    def _cut(
        self, batches: Iterator[pa.RecordBatch], file: FoundFile, text: TextBytes
    ) -> Iterator[pa.RecordBatch]:
        """The batches in pieces; after the last one raises UnreadableFile for a quote that is never closed."""
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
            records = csv.reader(lines, delimiter=self.config.delimiter, **_quoting(self.config))
            before = 0
            wanted = row + (1 if self.config.header is True else 0)
            for record in records:
                if record:  # empty lines are no rows
                    if not wanted:
                        return before + 1
                    wanted -= 1
                before = records.line_num
        return None


def _quoting(config: FilesConfig) -> dict[str, object]:
    return {"quotechar": config.quote} if config.quote else {"quoting": csv.QUOTE_NONE}


def _first_record(text: BinaryIO, file: FoundFile, quote: str) -> tuple[str, LineEnd] | None:
    """The first row that is not empty, as it stands there, and how its line ends."""
    head = b""
    while len(head) <= MOST_BYTES_OF_ROW:
        piece = text.read(max(FIRST_BYTES, len(head)))
        head += piece
        # A decoder that is not told of the end takes a character that is cut in two.
        known = getincrementaldecoder("utf-8")().decode(head.removeprefix(BOM)).lstrip("\r\n")
        end = _end_of_record(known, quote)
        # A carriage return at the very end may be half of a line end.
        if end is not None and (end + 1 < len(known) or not piece):
            return known[:end], _line_end(known, end)
        if not piece:
            return (known, "\n") if known else None
    raise UnreadableFile(
        file.name, f"its first row is longer than {MOST_BYTES_OF_ROW} bytes", Place(file.name, 1)
    )


def _end_of_record(text: str, quote: str) -> int | None:
    is_quoted = False
    for sign in re.finditer(rf"[\r\n{re.escape(quote)}]", text):
        if sign[0] == quote:
            is_quoted = not is_quoted
        elif not is_quoted:
            return sign.start()
    return None


def _line_end(text: str, end: int) -> LineEnd:
    if text[end] == "\n":
        return "\n"
    return "\r\n" if text[end + 1 : end + 2] == "\n" else "\r"
